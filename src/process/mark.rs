//! A mark on everything that a command starts: a variable, which each process inherits from the one that started it.
//!
//! A process that starts a new session, as daemons do, leaves its group and its parent, but is found by its mark. One
//! that has cleared its environment, or hides it as key agents do, has none. Processes that each start the next one
//! in a new session and end at once may never be seen.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// The variable, with the marks of all commands that a process descends from.
const VARIABLE: &str = "HIERAD_STARTED_BY";

/// The number of marks so far.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// A mark that no other command has.
#[derive(Debug)]
pub(super) struct Mark(String);

impl Mark {
    /// Puts a new mark on a command.
    pub(super) fn put_on(command: &mut Command) -> Mark {
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
    use std::collections::HashSet;
    use std::fs;
    use std::io::ErrorKind;
    use std::os::fd::OwnedFd;

    use rustix::process::{
        Pid, PidfdFlags, Signal, getpgid, getpgrp, kill_process_group, pidfd_open, pidfd_send_signal,
    };

    use super::VARIABLE;

    /// The maximum number of looks for processes: each may have started others since the last look.
    const MAX_LOOKS: usize = 1000;

    pub(super) fn kill(mark: &str) {
        // Processes that need no further look.
        let mut known = HashSet::new();
        for _ in 0..MAX_LOOKS {
            let Ok(entries) = fs::read_dir("/proc") else { return };
            let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
            let mut new: Vec<i32> = ids.filter(|id| !known.contains(id)).collect();
            // The newest come first: processes that were just started may be gone soon.
            new.sort_unstable();
            let mut is_done = true;
            for id in new.into_iter().rev() {
                let look = with_mark(id, mark);
                is_done &= matches!(look, Look::Other);
                match look {
                    Look::Marked(process) => kill_with_group(id, &process),
                    Look::Starting => {}
                    Look::Other | Look::Ended => _ = known.insert(id),
                }
            }
            if is_done {
                return;
            }
        }
    }

    /// Kills a process and its group, except for hierad's own group. The group includes processes that are just being
    /// started: the system kills all of it at once.
    fn kill_with_group(id: i32, process: &OwnedFd) {
        let group = Pid::from_raw(id).and_then(|id| getpgid(Some(id)).ok());
        // Until the process is reaped, no other one gets its number.
        let is_signaled = pidfd_send_signal(process, Signal::KILL).is_ok();
        if let Some(group) = group.filter(|group| is_signaled && *group != getpgrp()) {
            _ = kill_process_group(group, Signal::KILL);
        }
    }

    /// The result of a look at a process.
    enum Look {
        /// Has the mark.
        Marked(OwnedFd),
        /// Does not have it, or may not be inspected.
        Other,
        /// Is just being replaced by a program, and has no environment before that is done.
        Starting,
        /// Has ended, and may have started another process just before; or belongs to the kernel.
        Ended,
    }

    fn with_mark(id: i32, mark: &str) -> Look {
        // This is opened before the look, so that no other process with the same number is killed.
        let Some(Ok(process)) = Pid::from_raw(id).map(|id| pidfd_open(id, PidfdFlags::empty())) else {
            return Look::Ended;
        };
        // If its first thread has ended, the others still have the environment.
        let Ok(threads) = fs::read_dir(format!("/proc/{id}/task")) else { return Look::Ended };
        for environment in threads.flatten().map(|thread| fs::read(thread.path().join("environ"))) {
            match environment {
                Ok(environment) if environment.is_empty() => {}
                Ok(environment) if has_mark(&environment, mark) => return Look::Marked(process),
                Err(error) if error.kind() != ErrorKind::PermissionDenied => {}
                _ => return Look::Other,
            }
        }
        if is_starting(id) == Some(true) { Look::Starting } else { Look::Ended }
    }

    /// Returns true for a process whose program is just being started. One that has ended is a zombie, and one of the
    /// kernel never has an environment; a program that was started without variables has an empty one somewhere.
    fn is_starting(id: i32) -> Option<bool> {
        const KERNEL: u64 = 0x0020_0000;
        let status = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name, which may have anything in it, is in brackets. Counted from 0 behind it: see proc_pid_stat(5).
        let fields: Vec<&str> = status.rsplit_once(") ")?.1.split(' ').collect();
        let (state, flags, environment) = (*fields.first()?, fields.get(6)?.parse::<u64>().ok()?, *fields.get(47)?);
        Some(!matches!(state, "Z" | "X") && flags & KERNEL == 0 && environment == "0")
    }

    fn has_mark(environment: &[u8], mark: &str) -> bool {
        let variables = environment.split(|byte| *byte == 0).filter_map(|variable| std::str::from_utf8(variable).ok());
        let mut marks = variables.filter_map(|variable| variable.strip_prefix(VARIABLE)?.strip_prefix('='));
        marks.any(|marks| marks.split(' ').any(|one| one == mark))
    }
}
