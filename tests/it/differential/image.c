// Programs that load this see the time of a file's last change as in an image of a file system: it is the time of its
// content, which rsync, Nix and those who make images set.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/stat.h>

int statx(int folder, const char *path, int flags, unsigned mask, struct statx *told) {
    static int (*real)(int, const char *, int, unsigned, struct statx *);
    if (!real) real = (int (*)(int, const char *, int, unsigned, struct statx *))dlsym(RTLD_NEXT, "statx");
    int status = real(folder, path, flags, mask, told);
    if (status == 0) told->stx_ctime = told->stx_btime = told->stx_mtime;
    return status;
}
