//! Many commits, as fast as git makes them, while it packs, repacks and collects.

use hierad::daemon::WatchOptions;
use hierad::event::{CommitEvent, EventKind};

use crate::support::Sandbox;
use crate::support::watching::{Watching, notified, polling};

/// Checks that exactly the commits from after `first` to the tip of `branch` came, each once and in order.
fn check(sandbox: &Sandbox, branch: &str, first: &str, events: &[CommitEvent]) {
    let range = format!("{first}..{branch}");
    let expected = sandbox.git(["rev-list", "--reverse", "--first-parent", "--parents", &range]);
    let expected: Vec<_> = expected
        .lines()
        .map(|line| {
            let (commit, parents) = line.split_once(' ').unwrap();
            format!("{}..{commit}", parents.split(' ').next().unwrap())
        })
        .collect();
    let ours = events.iter().filter(|event| event.branch.as_str() == branch);
    let found: Vec<_> = ours.map(|event| format!("{}..{}", event.before.unwrap(), event.after)).collect();
    assert_eq!(found, expected, "{branch}");
}

fn burst(format: &str, options: WatchOptions) {
    let sandbox = Sandbox::with(&["--ref-format", format]);
    let first = sandbox.commit("first");
    sandbox.git(["switch", "--quiet", "--create", "team/one/deep"]);
    let watching = Watching::start(sandbox.open(), options);
    sandbox.sh("i=1
        while [ $i -le 200 ]; do
            git commit --quiet --allow-empty --message $i
            case $i in
                *5) git pack-refs --all;;
                40 | 160) git gc --quiet --prune=now;;
                80) git repack -a -d -q;;
                100) git reflog expire --expire=now --all; git gc --quiet --aggressive --prune=now;;
            esac
            i=$((i + 1))
        done");
    watching.wait_for(200);
    let events = watching.stop();
    assert!(events.iter().all(|event| event.kind == EventKind::New));
    assert_eq!(events.len(), 200);
    check(&sandbox, "team/one/deep", &first.to_string(), &events);
}

#[test]
fn a_burst_with_notification() {
    burst("files", notified());
}

#[test]
fn a_burst_by_polling() {
    burst("files", polling());
}

#[test]
fn a_burst_in_reftables_with_notification() {
    burst("reftable", notified());
}

#[test]
fn a_burst_in_reftables_by_polling() {
    burst("reftable", polling());
}

#[test]
fn branches_move_during_packing() {
    let sandbox = Sandbox::new();
    let first = sandbox.commit("first");
    sandbox.git(["config", "core.filesRefLockTimeout", "20000"]);
    sandbox.git(["config", "core.packedRefsTimeout", "20000"]);
    sandbox.sh("for b in a b/one b/two c; do git branch $b; done; git pack-refs --all");
    let watching = Watching::start(sandbox.open(), polling());
    sandbox.sh("(while [ ! -e ../done ]; do git pack-refs --all; done) &
        tree=$(git rev-parse HEAD^{tree})
        for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
            for b in a b/one b/two c; do
                git update-ref refs/heads/$b $(git commit-tree -p $b -m $b-$i $tree)
            done
        done
        touch ../done; wait");
    watching.wait_for(80);
    let events = watching.stop();
    assert_eq!(events.len(), 80, "{events:#?}");
    assert!(events.iter().all(|event| event.kind == EventKind::New));
    for branch in ["a", "b/one", "b/two", "c"] {
        check(&sandbox, branch, &first.to_string(), &events);
    }
}
