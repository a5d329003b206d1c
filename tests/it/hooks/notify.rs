//! `hierad notify`: the daemon looks, and nothing ever fails.

use std::time::{Duration, SystemTime};

use hierad::daemon::WatchOptions;

use super::hierad_at;
use crate::support::watching::{Watching, notified};
use crate::support::{Sandbox, git_in};

#[test]
fn notified_daemons_look() {
    let sandbox = Sandbox::new();
    let first = sandbox.commit("first");
    let second = sandbox.commit("second");
    // A branch that lies elsewhere, where the daemon hears nothing.
    let elsewhere = sandbox.beside("branch");
    std::fs::write(&elsewhere, format!("{first}\n")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, sandbox.root().join(".git/refs/heads/far")).unwrap();
    assert_eq!(sandbox.git(["rev-parse", "far"]), first.to_string());
    let never = Duration::from_secs(100_000);
    let watching = Watching::start(sandbox.open(), WatchOptions { poll: never, ..notified() });
    sandbox.git(["commit", "--quiet", "--allow-empty", "--message", "third"]);
    watching.wait_for(1); // file notification has begun
    std::fs::write(&elsewhere, format!("{second}\n")).unwrap();
    assert_eq!(sandbox.hierad("notify").ok(), "");
    let events = watching.wait_for(2);
    assert_eq!((events[1].branch.as_str(), events[1].after), ("far", second));
    // The file is there by now.
    std::fs::write(&elsewhere, format!("{first}\n")).unwrap();
    sandbox.hierad("notify").ok();
    assert_eq!(watching.wait_for(3)[2].after, first);
}

#[test]
fn notify_never_fails() {
    let sandbox = Sandbox::new();
    let check = |words: &str| {
        let silent = sandbox.hierad("notify");
        assert_eq!((silent.ok(), &*silent.err), ("", ""));
        sandbox.hierad("notify -v").says(&[words]).ok();
    };
    check("a daemon that watches it was notified");
    // Another user's file is replaced; a folder cannot be.
    sandbox.sh("chmod 444 .git/hierad.notify");
    check("a daemon that watches it was notified");
    sandbox.sh("rm .git/hierad.notify; mkdir .git/hierad.notify");
    check("no daemon was notified");
    // A repository that is broken: settings, references, objects.
    sandbox
        .sh("rmdir .git/hierad.notify; echo '[' > .git/config; echo nonsense > .git/packed-refs; rm -r .git/objects/*");
    check("a daemon that watches it was notified");
    sandbox.sh("rm .git/HEAD");
    check("is not in a git repository");
    let nowhere = tempfile::tempdir().unwrap();
    for arguments in ["notify", "notify --repo nosuch"] {
        let printed = hierad_at(nowhere.path(), arguments);
        assert_eq!((printed.ok(), &*printed.err), ("", ""));
    }
}

#[test]
fn each_call_tells_anew() {
    let bare = Sandbox::with(&["--bare"]);
    let modified = || std::fs::metadata(bare.root().join("hierad.notify")).unwrap().modified().unwrap();
    bare.hierad("notify").ok();
    let old = SystemTime::now() - Duration::from_secs(1000);
    let file = std::fs::File::options().write(true).open(bare.root().join("hierad.notify")).unwrap();
    file.set_modified(old).unwrap();
    bare.hierad_in("objects", "notify").ok();
    assert!(modified() > old + Duration::from_secs(500));
    assert_eq!(git_in(bare.root(), ["for-each-ref"]), "");
}
