//! A mark on all that a command starts: a variable, which each process has from the one that has started it.
//!
//! A process that makes a session of its own, as daemons do, leaves its group and its parent, and is found by its mark.
//! One that has cleared its environment, or hides it as keepers of keys do, has none. One that ends as soon as it has
//! started the next, which goes into a session of its own as well, may never be seen.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// The variable. Its marks are those of all commands that a process was started by.
const VARIABLE: &str = "HIERAD_STARTED_BY";

/// The number of marks so far.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// A mark that no other command has.
#[derive(Debug)]
pub(super) struct Mark(String);

impl Mark {
    /// Puts a new mark on a command.
    pub(super) fn on(command: &mut Command) -> Mark {
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mark = format!("{}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed), time.as_nanos());
        let former = std::env::var(VARIABLE).map(|former| former + " ").unwrap_or_default();
        command.env(VARIABLE, format!("{former}{mark}"));
        Mark(mark)
    }

    /// Kills all processes with the mark.
    pub(super) fn kill(&self) {
        #[cfg(target_os = "linux")]
        linux::kill(&self.0);
        #[cfg(not(target_os = "linux"))]
        let _ = &self.0;
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::os::fd::OwnedFd;

    use rustix::process::{
        Pid, PidfdFlags, Signal, getpgid, getpgrp, kill_process_group, pidfd_open, pidfd_send_signal,
    };

    use super::VARIABLE;

    /// The most looks for processes: each may have started others since the last look.
    const MOST_LOOKS: usize = 100;

    pub(super) fn kill(mark: &str) {
        for _ in 0..MOST_LOOKS {
            let Ok(entries) = fs::read_dir("/proc") else { return };
            let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
            let (mut ids, mut is_done) = (ids.collect::<Vec<i32>>(), true);
            // Those that were just started may be gone soon.
            ids.sort_unstable();
            for id in ids.into_iter().rev() {
                match with_mark(id, mark) {
                    Look::Other => {}
                    // It may have started another one just before.
                    Look::Gone => is_done = false,
                    Look::Marked(process) => {
                        is_done = false;
                        kill_group(id);
                        // It may have ended by itself.
                        _ = pidfd_send_signal(process, Signal::KILL);
                    }
                }
            }
            if is_done {
                return;
            }
        }
    }

    /// Kills the group that a marked process leads or is in, which has those that it is just starting: the system does
    /// so at one moment. The group of this process is not meant.
    fn kill_group(id: i32) {
        let Some(Ok(group)) = Pid::from_raw(id).map(|id| getpgid(Some(id))) else { return };
        if group != getpgrp() {
            _ = kill_process_group(group, Signal::KILL);
        }
    }

    /// The result of a look at a process.
    enum Look {
        /// It has the mark.
        Marked(OwnedFd),
        /// It has not, or nobody can tell.
        Other,
        /// It has ended meanwhile.
        Gone,
    }

    fn with_mark(id: i32, mark: &str) -> Look {
        // Before the look: another process with the same number is not meant.
        let Some(Ok(process)) = Pid::from_raw(id).map(|id| pidfd_open(id, PidfdFlags::empty())) else {
            return Look::Gone;
        };
        // If its first thread has ended, the others tell.
        let threads = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
        let environments = threads.map(|thread| fs::read(thread.path().join("environ")));
        match environments.filter_map(Result::ok).find(|environment| !environment.is_empty()) {
            Some(environment) if has_mark(&environment, mark) => Look::Marked(process),
            Some(_) => Look::Other,
            None if fs::exists(format!("/proc/{id}")).unwrap_or(false) => Look::Other,
            None => Look::Gone,
        }
    }

    fn has_mark(environment: &[u8], mark: &str) -> bool {
        let variables = environment.split(|byte| *byte == 0).filter_map(|variable| std::str::from_utf8(variable).ok());
        let mut marks = variables.filter_map(|variable| variable.strip_prefix(VARIABLE)?.strip_prefix('='));
        marks.any(|marks| marks.split(' ').any(|one| one == mark))
    }
}
