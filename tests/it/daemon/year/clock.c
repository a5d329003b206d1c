// Programs that load this see a clock that is ahead of the system's by the seconds in the file CLOCK. The programs that
// they start do not.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static volatile const long long *ahead;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) abort();
    ahead = mapped;
    unsetenv("LD_PRELOAD");
}

static long long seconds(void) { return ahead ? *ahead : 0; }

int clock_gettime(clockid_t id, struct timespec *told) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(id, told);
    if (status == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) told->tv_sec += seconds();
    return status;
}

int gettimeofday(struct timeval *restrict told, void *restrict zone) {
    static int (*real)(struct timeval *restrict, void *restrict);
    if (!real) real = (int (*)(struct timeval *restrict, void *restrict))dlsym(RTLD_NEXT, "gettimeofday");
    int status = real(told, zone);
    if (status == 0 && told) told->tv_sec += seconds();
    return status;
}

time_t time(time_t *told) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (told) *told = now.tv_sec;
    return now.tv_sec;
}
