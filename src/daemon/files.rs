//! File notification: says that something in the git directory has changed that may have moved a branch.
//!
//! It is a help, not a foundation: where it is missing, breaks down, or misses something, the clock makes up for it.

use std::ffi::OsStr;
use std::fs::{OpenOptions, remove_file};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::event::Event;

/// How long to wait before notification is asked for again after it has broken down.
const REARM: Duration = Duration::from_secs(5);

/// The file in the common git directory whose change is a reason to look. It stands beside git's own files, since whoever can
/// make a commit can write there, and since that folder is watched anyway.
const TOLD: &str = "hierad.notify";

/// Has every daemon look that watches the repository whose common git directory is `place`.
pub fn tell(place: &Path) -> io::Result<()> {
    let file = place.join(TOLD);
    let touch = || {
        let opened = OpenOptions::new().create(true).truncate(false).write(true).open(&file)?;
        opened.set_modified(SystemTime::now())
    };
    // The time of another user's file cannot be set, but in a folder that is shared the file can be replaced.
    touch().or_else(|error| remove_file(&file).and_then(|()| touch()).map_err(|_| error))
}

/// Reports changes of the branches of the repository whose common git directory is `place`.
pub(super) async fn notify(place: PathBuf, poll: Duration, events: mpsc::Sender<Event>) {
    let mut told = false;
    while !events.is_closed() {
        let (lost, mut is_lost) = mpsc::channel(1);
        let (folder, sender) = (place.clone(), events.clone());
        match spawn_blocking(move || arm(&folder, sender, lost)).await {
            Ok(Ok(watcher)) => {
                told = false;
                let _ = events.try_send(Event::Files); // what happened while it was being set up was not heard
                is_lost.recv().await;
                drop(watcher);
                tracing::debug!("file notification has broken down, setting it up again");
            }
            Ok(Err(error)) if !told => {
                told = true;
                tracing::warn!(%error, "no file notification; looking for commits every {poll:?} only");
            }
            _ => {}
        }
        sleep(REARM).await;
    }
}

/// Asks the system for notification, which ends when the result is dropped.
fn arm(place: &Path, events: mpsc::Sender<Event>, lost: mpsc::Sender<()>) -> Result<RecommendedWatcher, notify::Error> {
    let root = place.to_owned();
    let mut watcher = notify::recommended_watcher(move |heard: notify::Result<notify::Event>| match heard {
        Ok(event) => {
            if event.need_rescan() || event.paths.iter().any(|path| matters(&root, path) && changes(event.kind)) {
                let _ = events.try_send(Event::Files); // if the channel is full, a look is due anyway
            }
            if is_loss(&root, &event) {
                let _ = lost.try_send(());
            }
        }
        Err(error) => {
            tracing::debug!(%error, "file notification");
            let _ = events.try_send(Event::Files);
            let _ = lost.try_send(());
        }
    })?;
    watcher.watch(place, RecursiveMode::NonRecursive)?;
    for (folder, mode) in [("refs", RecursiveMode::Recursive), ("reftable", RecursiveMode::NonRecursive)] {
        let folder = place.join(folder);
        if folder.is_dir() {
            watcher.watch(&folder, mode)?;
        }
    }
    Ok(watcher)
}

/// Whether an event changes something: our own reading is heard, too.
fn changes(kind: EventKind) -> bool {
    !matches!(kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}

/// Whether a file can tell of a branch, or somebody tells by it: locks come and go, what counts is the file that they guard.
fn matters(root: &Path, path: &Path) -> bool {
    let Ok(inside) = path.strip_prefix(root) else { return true };
    let is_lock = path.extension() == Some(OsStr::new("lock"));
    let mut names = inside.iter().map(OsStr::to_string_lossy);
    !is_lock
        && names.next().is_none_or(|first| matches!(&*first, "refs" | "packed-refs" | "reftable" | "shallow" | TOLD))
}

/// Whether one of the watched folders itself is gone, and the notification with it.
fn is_loss(root: &Path, event: &notify::Event) -> bool {
    let roots = [root.to_owned(), root.join("refs"), root.join("reftable")];
    event.kind.is_remove() && event.paths.iter().any(|path| roots.contains(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_hold_branches_matter() {
        let check = |path: &str| matters(Path::new("/r/.git"), &Path::new("/r/.git").join(path));
        for path in ["", "refs", "refs/heads/main", "refs/heads/a/b", "packed-refs", "reftable/tables.list", TOLD] {
            assert!(check(path), "{path}");
        }
        for path in ["index", "HEAD.lock", "refs/heads/main.lock", "packed-refs.lock", "COMMIT_EDITMSG", "logs"] {
            assert!(!check(path), "{path}");
        }
    }
}
