//! Commands: what they are given, and what comes of those that do not do as they should.

use std::path::Path;
use std::time::{Duration, Instant};

use hierad::delivery::{Command, Target};

use super::{ENOUGH, LITTLE, deliver, parcel, refused};
#[cfg(target_os = "linux")]
use crate::support::preload::Library;

fn run(script: &str, folder: &Path, limit: Duration, report: &[u8]) -> Result<(), String> {
    let arguments = vec!["-c".to_owned(), script.to_owned()];
    let command = Command::new("sh".to_owned(), arguments, folder.to_owned(), limit);
    deliver(Target::Command(command), &parcel(report))
}

fn sh(script: &str) -> Result<(), String> {
    run(script, Path::new(""), ENOUGH, b"{}\n")
}

#[test]
fn commands_get_report_and_environment() {
    let folder = tempfile::tempdir().unwrap();
    // Those of the tests themselves are there, too.
    let own = std::env::vars().map(|(name, _)| name).filter(|name| name.starts_with("HIERAD_"));
    let others = own.fold(" -e ^HIERAD_STARTED_BY=".to_owned(), |others, name| others + &format!(" -e ^{name}="));
    let script = format!("cat > report; env | grep ^HIERAD_ | grep -v{others} | sort > names; pwd > place");
    run(&script, folder.path(), ENOUGH, b"{\"a\":1}\n").unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("report"), "{\"a\":1}\n");
    let (before, after) = ("a".repeat(40), "b".repeat(40));
    let expected = format!(
        "HIERAD_AFTER={after}\nHIERAD_BEFORE={before}\nHIERAD_BRANCH=production\n\
        HIERAD_ID=00112233445566778899aabbccddeeff\nHIERAD_KIND=new\nHIERAD_NUMBER=7\nHIERAD_REPOSITORY=control\n"
    );
    assert_eq!(read("names"), expected);
    assert_eq!(Path::new(read("place").trim_end()), folder.path().canonicalize().unwrap());
}

#[test]
fn large_reports_are_piped_whole() {
    let folder = tempfile::tempdir().unwrap();
    let report = vec![b'x'; 50 << 20];
    run("wc -c > count", folder.path(), ENOUGH, &report).unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join("count")).unwrap().trim(), (50 << 20).to_string());
    run("head -c 1 > first", folder.path(), ENOUGH, &report).unwrap();
    run("exec <&-; sleep 0.1", folder.path(), ENOUGH, &report).unwrap();
    run("true", folder.path(), ENOUGH, &report).unwrap();
}

#[test]
fn failures_quote_the_commands_output() {
    assert_eq!(sh("exit 3"), Err("the command sh failed (exit status: 3)".to_owned()));
    assert_eq!(
        sh("printf 'no\\nway\\033[31m\\n' >&2; exit 1"),
        Err("the command sh failed (exit status: 1): no way\\u001b[31m".to_owned())
    );
    refused(sh("kill -9 $$"), &["signal: 9"]);
    let error = refused(sh("yes no | head -c 5000000 >&2; exit 1"), &["no no no", "…"]);
    assert!(error.len() < 1200, "{}", error.len());
}

#[test]
fn complaints_of_commands_are_cut_and_escaped() {
    // A line end, the one-byte form of ESC [, and a character that reverses what follows.
    let error = refused(sh("printf 'a\\nb\\302\\23331m\\342\\200\\256c' >&2; exit 1"), &["a b\\u009b31m\\u202ec"]);
    assert!(error.is_ascii(), "{error:?}");
    let error = refused(sh("yes '\u{202e}' | head -c 5000000 >&2; exit 1"), &["\\u202e"]);
    assert!(error.len() < 4000 && !error.contains('\u{202e}'), "{}", error.len());
}

#[test]
fn missing_commands_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "words").unwrap();
    let start = |program: &Path, folder: &Path| {
        let command = Command::new(program.to_str().unwrap().to_owned(), Vec::new(), folder.to_owned(), ENOUGH);
        deliver(Target::Command(command), &parcel(b"{}\n"))
    };
    refused(start(Path::new("/no/such"), Path::new("")), &["the command /no/such cannot be started: No such file"]);
    refused(start(&plain, Path::new("")), &["cannot be started: Permission denied"]);
    refused(start(Path::new("sh"), Path::new("/no/folder")), &["cannot be started"]);
}

#[test]
fn late_commands_are_killed_with_children() {
    let folder = tempfile::tempdir().unwrap();
    let script = "(while :; do echo >> ticks; sleep 0.05; done) & sleep 600";
    let error = refused(run(script, folder.path(), LITTLE, b"{}\n"), &["took longer than 0.3 s"]);
    assert!(error.starts_with("the command sh "), "{error}");
    let ticks = || std::fs::metadata(folder.path().join("ticks")).unwrap().len();
    std::thread::sleep(Duration::from_millis(300));
    let before = ticks();
    assert!(before > 0);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(ticks(), before);
}

/// Ways to start a program that leaves the group of a command; each is followed by its words.
#[cfg(target_os = "linux")]
const LEAVING: [&str; 6] = [
    "setsid sh -c",
    "setsid -f sh -c",
    "nohup setsid sh -c",
    "trap '' TERM INT HUP; setsid setsid -f sh -c",
    "setsid -f setsid -f sh -c",
    "(sh -c 'setsid sh -c \"$1\" & exit' sh \"$ticks\"); : ",
];

/// Runs such a script with each of them, at the same time. Returns the folders in which they have left `ticks`.
#[cfg(target_os = "linux")]
fn leaving(script: &str, limit: Duration, expected: &[&str]) -> Vec<tempfile::TempDir> {
    let run_one = |way: &str| {
        let folder = tempfile::tempdir().unwrap();
        let ticks = "ticks='while echo >>ticks; do sleep 0.05; done'";
        let script = format!(
            "exec </dev/null >/dev/null 2>&1; {ticks}; {way} \"$ticks\" & until [ -s ticks ]; do sleep 0.01; done; {script}"
        );
        match run(&script, folder.path(), limit, b"{}\n") {
            Err(error) => assert!(expected.iter().any(|words| error.contains(words)), "{way}: {error}"),
            Ok(()) => assert!(expected.is_empty(), "{way}"),
        }
        folder
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = LEAVING.iter().map(|way| scope.spawn(move || run_one(way))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[cfg(target_os = "linux")]
#[test]
fn what_has_left_the_group_of_a_late_command_is_killed_too() {
    let ticks =
        |folder: &tempfile::TempDir| std::fs::metadata(folder.path().join("ticks")).map_or(0, |file| file.len());
    let mut folders = leaving("sleep 600", Duration::from_secs(3), &["took longer than 3 s"]);
    folders.extend(leaving("exit 3", ENOUGH, &["exit status: 3"]));
    let all = || folders.iter().map(ticks).collect::<Vec<_>>();
    assert!(all().iter().all(|ticks| *ticks > 0));
    let end = Instant::now() + ENOUGH;
    loop {
        let before = all();
        std::thread::sleep(Duration::from_millis(500));
        if all() == before {
            break;
        }
        assert!(Instant::now() < end, "they go on: {before:?}, {:?}", all());
    }
    // Without a failure they go on, until their folder is gone.
    for folder in leaving("exit 0", ENOUGH, &[]) {
        let (before, end) = (ticks(&folder), Instant::now() + ENOUGH);
        while ticks(&folder) == before {
            assert!(Instant::now() < end, "it has ended");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A program whose first thread ends and whose second goes on.
#[cfg(target_os = "linux")]
const HEADLESS: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *tick(void *file) {
    int ticks;
    while ((ticks = open(file, O_WRONLY | O_APPEND)) >= 0) { write(ticks, ".", 1); close(ticks); usleep(50000); }
    _exit(0);
}
__attribute__((constructor)) static void begin(void) {
    char *file = getenv("HEADLESS");
    pthread_t thread;
    if (!file) return;
    unsetenv("LD_PRELOAD");
    setsid();
    close(creat(file, 0600));
    pthread_create(&thread, 0, tick, file);
    syscall(SYS_exit, 0);
}
"#;

#[cfg(target_os = "linux")]
#[test]
fn what_is_hard_to_see_ends_with_a_late_command() {
    let library = Library::of(HEADLESS);
    let preload = library.as_ref().map(|library| format!("LD_PRELOAD={}", library.path().display()));
    // Each process of a chain ends as soon as it has started the next one.
    let chain = |first: &str| format!("echo 'echo >>ticks; sh ./chain & exit 0' > chain; {first} sh ./chain");
    for (way, start) in [
        ("a chain", Some(chain("setsid -f"))),
        ("a chain below a shell", Some(chain("setsid -f sh -c 'sh ./chain; :';:"))),
        ("a chain in the group", Some(chain(""))),
        ("two chains", Some(format!("{}; setsid -f sh ./chain", chain("setsid -f")))),
        ("a chain of programs", Some(chain("setsid -f setsid -w nohup"))),
        ("no first thread", preload.map(|preload| format!("{preload} HEADLESS=$PWD/ticks env & :"))),
    ] {
        let Some(start) = start else { continue };
        let folder = tempfile::tempdir().unwrap();
        let script = format!(
            "exec </dev/null >/dev/null 2>&1; {start}; until [ -s ticks ]; do sleep 0.01; done; echo > begun; sleep 600"
        );
        refused(run(&script, folder.path(), Duration::from_secs(3), b"{}\n"), &["took longer than 3 s"]);
        assert!(folder.path().join("begun").exists(), "{way}");
        let ticks = || std::fs::metadata(folder.path().join("ticks")).map_or(0, |file| file.len());
        let before = ticks();
        std::thread::sleep(Duration::from_millis(700));
        assert_eq!(ticks(), before, "{way}: it goes on");
    }
}

#[test]
fn background_children_delay_nothing() {
    // The child keeps standard input and standard error, reads nothing, and outlives the limit.
    run("sleep 90 & exit 0", Path::new(""), ENOUGH, &vec![b'x'; 1 << 20]).unwrap();
    refused(sh("echo first >&2; sleep 90 & exit 1"), &["exit status: 1", "first"]);
}

#[test]
fn background_children_live_on() {
    let folder = tempfile::tempdir().unwrap();
    run("(sleep 0.5; echo > later) > /dev/null 2>&1 < /dev/null &", folder.path(), ENOUGH, b"{}\n").unwrap();
    let end = Instant::now() + ENOUGH;
    while !folder.path().join("later").exists() {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(50));
    }
}
