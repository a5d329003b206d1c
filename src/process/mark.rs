//! A mark on all that a command starts: a variable, which each process has from the one that has started it.
//!
//! A process that makes a session of its own, as daemons do, leaves its group and its parent, and is found by its mark.
//! One that has cleared its environment, or hides it as keepers of keys do, has none.

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

    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    use super::VARIABLE;

    /// The most looks for processes: each may have started others since the last look.
    const MOST_LOOKS: usize = 100;

    pub(super) fn kill(mark: &str) {
        for _ in 0..MOST_LOOKS {
            let found = marked(mark);
            if found.is_empty() {
                return;
            }
            for process in found {
                // It may have ended by itself.
                _ = pidfd_send_signal(process, Signal::KILL);
            }
        }
    }

    /// Returns the processes with a mark.
    fn marked(mark: &str) -> Vec<OwnedFd> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.filter_map(|id| with_mark(id, mark)).collect()
    }

    fn with_mark(id: i32, mark: &str) -> Option<OwnedFd> {
        // Before the look: another process with the same number is not meant.
        let process = pidfd_open(Pid::from_raw(id)?, PidfdFlags::empty()).ok()?;
        let environment = fs::read(format!("/proc/{id}/environ")).ok()?;
        let variables = environment.split(|byte| *byte == 0).filter_map(|variable| std::str::from_utf8(variable).ok());
        let mut marks = variables.filter_map(|variable| variable.strip_prefix(VARIABLE)?.strip_prefix('='));
        marks.any(|marks| marks.split(' ').any(|one| one == mark)).then_some(process)
    }
}
