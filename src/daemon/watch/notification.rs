//! File notification: wakes the watch when a file in the git directory has changed, which may mean that a branch has
//! moved.
//!
//! It only makes the watch faster. If it is missing, breaks down or misses something, polling makes up for it.

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

use super::wake::Wake;

/// The pause before notification is set up again after it has broken down.
const REARM_PAUSE: Duration = Duration::from_secs(5);

/// The file in the common git directory whose change requests a look. Everybody who can make a commit can write
/// there, and the folder is watched anyway.
const REQUEST_FILE: &str = "hierad.notify";

/// Asks every daemon that watches the repository with the common git directory `folder` to look.
pub fn request_look(folder: &Path) -> io::Result<()> {
    let file = folder.join(REQUEST_FILE);
    let touch = || {
        let opened = OpenOptions::new().create(true).truncate(false).write(true).open(&file)?;
        opened.set_modified(SystemTime::now())
    };
    // The time of another user's file cannot be set, but in a shared folder the file can be replaced.
    touch().or_else(|error| remove_file(&file).and_then(|()| touch()).map_err(|_| error))
}

/// Wakes the watch when branches of the repository with the common git directory `folder` may have changed.
pub(super) async fn notify(folder: PathBuf, poll: Duration, wakes: mpsc::Sender<Wake>) {
    let mut is_logged = false;
    while !wakes.is_closed() {
        let (lost, mut is_lost) = mpsc::channel(1);
        let (root, sender) = (folder.clone(), wakes.clone());
        match spawn_blocking(move || arm(&root, sender, lost)).await {
            Ok(Ok(watcher)) => {
                is_logged = false;
                let _ = wakes.try_send(Wake::Files); // changes during the set-up were not heard
                is_lost.recv().await;
                drop(watcher);
                tracing::debug!("file notification failed, setting it up again");
            }
            Ok(Err(error)) if !is_logged => {
                is_logged = true;
                tracing::warn!(%error, "no file notification; looking for commits every {poll:?} only");
            }
            _ => {}
        }
        sleep(REARM_PAUSE).await;
    }
}

/// Asks the system for notification, which ends when the result is dropped. A message to `lost` says that it has
/// broken down.
fn arm(folder: &Path, wakes: mpsc::Sender<Wake>, lost: mpsc::Sender<()>) -> Result<RecommendedWatcher, notify::Error> {
    let root = folder.to_owned();
    let mut watcher = notify::recommended_watcher(move |heard: notify::Result<notify::Event>| match heard {
        Ok(event) => {
            if event.need_rescan() || event.paths.iter().any(|path| is_relevant(&root, path) && is_change(event.kind)) {
                let _ = wakes.try_send(Wake::Files); // if the channel is full, a look is due anyway
            }
            if is_loss(&root, &event) {
                let _ = lost.try_send(());
            }
        }
        Err(error) => {
            tracing::debug!(%error, "file notification");
            let _ = wakes.try_send(Wake::Files);
            let _ = lost.try_send(());
        }
    })?;
    watcher.watch(folder, RecursiveMode::NonRecursive)?;
    for (name, mode) in [("refs", RecursiveMode::Recursive), ("reftable", RecursiveMode::NonRecursive)] {
        let folder = folder.join(name);
        if folder.is_dir() {
            watcher.watch(&folder, mode)?;
        }
    }
    Ok(watcher)
}

/// Returns true if an event means a change: the watch's own reading also causes events.
fn is_change(kind: EventKind) -> bool {
    !matches!(kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}

/// Returns true if a file contains branches, or requests a look. Lock files are ignored, but not the files that they
/// guard.
fn is_relevant(root: &Path, path: &Path) -> bool {
    let Ok(inside) = path.strip_prefix(root) else { return true };
    let is_lock = path.extension() == Some(OsStr::new("lock"));
    let mut names = inside.iter().map(OsStr::to_string_lossy);
    !is_lock
        && names
            .next()
            .is_none_or(|first| matches!(&*first, "refs" | "packed-refs" | "reftable" | "shallow" | REQUEST_FILE))
}

/// Returns true if one of the watched folders is gone, which ends notification.
fn is_loss(root: &Path, event: &notify::Event) -> bool {
    let roots = [root.to_owned(), root.join("refs"), root.join("reftable")];
    event.kind.is_remove() && event.paths.iter().any(|path| roots.contains(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_hold_branches_matter() {
        let check = |path: &str| is_relevant(Path::new("/r/.git"), &Path::new("/r/.git").join(path));
        for path in
            ["", "refs", "refs/heads/main", "refs/heads/a/b", "packed-refs", "reftable/tables.list", REQUEST_FILE]
        {
            assert!(check(path), "{path}");
        }
        for path in ["index", "HEAD.lock", "refs/heads/main.lock", "packed-refs.lock", "COMMIT_EDITMSG", "logs"] {
            assert!(!check(path), "{path}");
        }
    }
}
