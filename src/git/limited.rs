//! Runs a child process within limits of time and memory, since it reads from a repository that others may write to.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::DirEntry;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// The time limit of a command that reads from disk or changes references.
pub(super) const QUERY: Duration = Duration::from_mins(2);

/// The time limit of a command that writes objects or uses the network.
pub(super) const TRANSFER: Duration = Duration::from_mins(30);

/// The memory limit of a git process, in bytes, not counting the files that it maps.
pub const GIT_MEMORY: u64 = 4 << 30;

/// The maximum number of bytes kept of a command's messages.
const MAX_MESSAGE_BYTES: usize = 64 << 10;

/// The longest pause between two checks on a child.
const MAX_PAUSE: Duration = Duration::from_millis(20);

/// The limits of a child.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    /// The time limit.
    pub(super) time: Duration,
    /// A folder that the child fills, and its maximum size in bytes.
    pub(super) folder: Option<(PathBuf, u64)>,
}

impl From<Duration> for Limits {
    fn from(time: Duration) -> Limits {
        Limits { time, folder: None }
    }
}

impl Limits {
    /// Returns the error for a limit that a child that began at `start` has exceeded.
    fn exceeded(&self, start: Instant) -> Option<io::Error> {
        if start.elapsed() >= self.time {
            let text = format!("it was stopped after {} seconds", self.time.as_secs_f32());
            return Some(io::Error::new(io::ErrorKind::TimedOut, text));
        }
        let (folder, max_size) = self.folder.as_ref()?;
        let text = || format!("it was stopped, since it fetched more than {} MiB", max_size >> 20);
        (disk_usage(folder) > *max_size).then(|| io::Error::new(io::ErrorKind::FileTooLarge, text()))
    }
}

/// The minimum space that a file takes on disk, in bytes.
const BLOCK: u64 = 4096;

/// Returns the space that all files in a folder take on disk, in bytes.
fn disk_usage(folder: &Path) -> u64 {
    let Ok(entries) = folder.read_dir() else { return 0 };
    let size_of_entry = |entry: DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => disk_usage(&entry.path()),
        Ok(metadata) => metadata.len().max(1).next_multiple_of(BLOCK),
        // Git removes and renames files meanwhile.
        Err(_) => 0,
    };
    entries.flatten().map(size_of_entry).sum()
}

/// Limits the memory of a running child to `bytes`, if the system can.
pub fn limit_memory(process: u32, bytes: u64) {
    #[cfg(target_os = "linux")]
    if let Some(id) = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw) {
        let limit = rustix::process::Rlimit { current: Some(bytes), maximum: Some(bytes) };
        _ = rustix::process::prlimit(Some(id), rustix::process::Resource::Data, limit);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (process, bytes);
}

/// The command line that, put before a command, makes it end with this process.
static BINDING_COMMAND: OnceLock<Vec<OsString>> = OnceLock::new();

/// Makes git's exchanges with other repositories end with this process, however it ends. `words` is the command line
/// of a program that starts its own session, runs the command that follows, and kills its process group when its
/// standard input ends.
pub fn bind_exchanges(words: Vec<OsString>) {
    // The first value stays: all callers set the same program.
    _ = BINDING_COMMAND.set(words);
}

/// Returns a copy of the command that ends with this process, if this process [binds](bind_exchanges) its exchanges.
/// It is killed with everything that it has started when its standard input, a pipe from here, is closed.
pub fn bound(command: &Command) -> Option<Command> {
    let (program, arguments) = BINDING_COMMAND.get()?.split_first()?;
    let mut bound = copy(command, Some((program, arguments)));
    bound.stdin(Stdio::piped());
    Some(bound)
}

/// Runs a command like [`output`]. If this process [binds](bind_exchanges) its exchanges, the command ends with it.
pub(super) fn bound_output(command: &Command, limits: &Limits) -> io::Result<Output> {
    let Some(mut bound) = bound(command) else { return output(&mut copy(command, None), limits) };
    let child = bound.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    limit_memory(child.id(), GIT_MEMORY);
    wait_with_output(child, limits)
}

/// Returns a copy of the command, with the words of another one put before it.
fn copy(command: &Command, wrapper: Option<(&OsString, &[OsString])>) -> Command {
    let mut copy = match wrapper {
        Some((program, arguments)) => {
            let mut outer = Command::new(program);
            outer.args(arguments).arg(command.get_program());
            outer
        }
        None => Command::new(command.get_program()),
    };
    copy.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => copy.env(name, value),
            None => copy.env_remove(name),
        };
    }
    copy
}

/// Runs `command` to its end, and returns its output. If it exceeds `limits`, it is killed.
pub(super) fn output(command: &mut Command, limits: &Limits) -> io::Result<Output> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    limit_memory(child.id(), GIT_MEMORY);
    wait_with_output(child, limits)
}

/// The last messages of a command. A server may make git print without end.
#[derive(Debug, Default)]
pub struct Messages(Vec<u8>);

impl Messages {
    /// Returns the kept text.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }
}

impl Write for Messages {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        if self.0.len() > 2 * MAX_MESSAGE_BYTES {
            self.0.drain(..self.0.len() - MAX_MESSAGE_BYTES);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Waits for a child to end, and returns its output and the last of its messages. If it exceeds `limits`, it is
/// killed.
pub(super) fn wait_with_output(mut child: Child, limits: &Limits) -> io::Result<Output> {
    let (out, err) = (child.stdout.take(), child.stderr.take());
    // A grandchild may hold the pipes open, so the readers are waited for only if the child itself has ended.
    let readers = (thread::spawn(|| read_all(out)), thread::spawn(|| read_last(err)));
    let status = wait(&mut child, limits)?;
    let read = |reader: thread::JoinHandle<Vec<u8>>| reader.join().unwrap_or_default();
    Ok(Output { status, stdout: read(readers.0), stderr: read(readers.1) })
}

fn wait(child: &mut Child, limits: &Limits) -> io::Result<ExitStatus> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        let status = child.try_wait()?;
        let check_start = Instant::now();
        let exceeded = limits.exceeded(start);
        // Checking many files takes a while, so the pause is at least as long.
        let check_time = check_start.elapsed();
        if let Some(status) = status {
            return exceeded.filter(|error| error.kind() == io::ErrorKind::FileTooLarge).map_or(Ok(status), Err);
        }
        if let Some(error) = exceeded {
            // Closing its input ends a bound command and everything that it has started.
            if child.stdin.take().is_some() {
                thread::sleep(MAX_PAUSE);
            }
            child.kill()?;
            child.wait()?;
            return Err(error);
        }
        thread::sleep(pause.max(check_time));
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

fn read_all(pipe: Option<impl Read>) -> Vec<u8> {
    let mut content = Vec::new();
    if let Some(mut pipe) = pipe {
        _ = pipe.read_to_end(&mut content);
    }
    content
}

fn read_last(pipe: Option<impl Read>) -> Vec<u8> {
    let mut messages = Messages::default();
    if let Some(mut pipe) = pipe {
        _ = io::copy(&mut pipe, &mut messages);
    }
    messages.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_messages_without_end_the_last_are_kept() {
        for (script, least, most) in [
            ("echo one >&2", 4, 4),
            ("head -c 65536 /dev/zero >&2; echo one >&2", 65_540, 65_540),
            ("head -c 30000000 /dev/zero >&2; echo one >&2", MAX_MESSAGE_BYTES, 2 * MAX_MESSAGE_BYTES),
            ("yes | head -c 30000000 >&2; echo one >&2", MAX_MESSAGE_BYTES, 2 * MAX_MESSAGE_BYTES),
            (
                "for i in $(seq 20000); do echo $i 0123456789; done >&2; echo one >&2",
                MAX_MESSAGE_BYTES,
                2 * MAX_MESSAGE_BYTES,
            ),
        ] {
            let messages = output(Command::new("sh").args(["-c", script]), &QUERY.into()).unwrap().stderr;
            assert!(
                messages.len() >= least && messages.len() <= most && messages.ends_with(b"one\n"),
                "{script}: {}",
                messages.len()
            );
        }
        let all = output(Command::new("sh").args(["-c", "head -c 300000 /dev/zero"]), &QUERY.into()).unwrap();
        assert_eq!((all.stdout.len(), all.stderr.len()), (300_000, 0));
    }

    #[test]
    fn a_child_that_hangs_is_ended() {
        let start = Instant::now();
        let error = output(Command::new("sleep").arg("600"), &Duration::from_millis(50).into()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
        assert!(start.elapsed() < Duration::from_mins(1));
        let done = output(Command::new("echo").arg("hello"), &QUERY.into()).unwrap();
        assert_eq!((done.status.code(), &*done.stdout), (Some(0), b"hello\n".as_slice()));
    }
}
