//! Runs a child process within limits of time and memory: what it reads comes from a repository that others may feed.

use std::ffi::OsString;
use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// The longest time of a command that only reads what is on disk.
pub(super) const QUERY: Duration = Duration::from_mins(2);

/// The longest time of a command that writes, or uses the network.
pub(super) const TRANSFER: Duration = Duration::from_mins(30);

/// The most memory of a process of git, in bytes, not counting the files that it maps.
pub const GIT_MEMORY: u64 = 4 << 30;

/// The longest pause between two looks at a child.
const LOOK: Duration = Duration::from_millis(20);

/// Limits the memory of a running child to so many bytes. Where the system cannot, nothing is limited.
pub fn limit_memory(process: u32, bytes: u64) {
    #[cfg(target_os = "linux")]
    if let Some(id) = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw) {
        let limit = rustix::process::Rlimit { current: Some(bytes), maximum: Some(bytes) };
        _ = rustix::process::prlimit(Some(id), rustix::process::Resource::Data, limit);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (process, bytes);
}

/// The words that bind a command to this process.
static BINDING: OnceLock<Vec<OsString>> = OnceLock::new();

/// Has git's exchanges with other repositories end with this process, whatever ends it. `words` are those of a program
/// which runs the command that follows them, and which kills its own process group when its standard input ends.
pub fn bind_exchanges(words: Vec<OsString>) {
    // What was set first stays: all know the same program.
    _ = BINDING.set(words);
}

/// Returns the same command as one that ends with this process, if this process [binds](bind_exchanges) its exchanges.
/// It is killed with all that it has started when its standard input, a pipe from here, is closed.
pub fn bound(command: &Command) -> Option<Command> {
    let (program, arguments) = BINDING.get()?.split_first()?;
    let mut bound = copy(command, Some((program, arguments)));
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut bound, 0);
    bound.stdin(Stdio::piped());
    Some(bound)
}

/// Does the same as [`output`]. Where this process [binds](bind_exchanges) its exchanges, the command ends with it.
pub(super) fn bound_output(command: &Command, limit: Duration) -> io::Result<Output> {
    let Some(mut bound) = bound(command) else { return output(&mut copy(command, None), limit) };
    let child = bound.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    limit_memory(child.id(), GIT_MEMORY);
    wait_with_output(child, limit)
}

/// Returns the same command behind the words of another one.
fn copy(command: &Command, behind: Option<(&OsString, &[OsString])>) -> Command {
    let mut copy = match behind {
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

/// Runs `command` to its end, and returns its output. If it takes longer than `limit` it is killed.
pub(super) fn output(command: &mut Command, limit: Duration) -> io::Result<Output> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    limit_memory(child.id(), GIT_MEMORY);
    wait_with_output(child, limit)
}

/// Waits for the end of a child, and returns what it writes until then. If it takes longer than `limit` it is killed.
pub(super) fn wait_with_output(mut child: Child, limit: Duration) -> io::Result<Output> {
    let (out, err) = (child.stdout.take(), child.stderr.take());
    // A grandchild may hold the pipes open, so the readers are waited for only if the child itself has ended.
    let readers = (thread::spawn(|| all_of(out)), thread::spawn(|| all_of(err)));
    let status = wait(&mut child, limit)?;
    let read = |reader: thread::JoinHandle<Vec<u8>>| reader.join().unwrap_or_default();
    Ok(Output { status, stdout: read(readers.0), stderr: read(readers.1) })
}

fn wait(child: &mut Child, limit: Duration) -> io::Result<ExitStatus> {
    let end = Instant::now() + limit;
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() >= end {
            // The end of its input ends one that is bound, with all that it has started.
            if child.stdin.take().is_some() {
                thread::sleep(LOOK);
            }
            child.kill()?;
            child.wait()?;
            let text = format!("it was ended after {} seconds", limit.as_secs_f32());
            return Err(io::Error::new(io::ErrorKind::TimedOut, text));
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LOOK);
    }
}

fn all_of(pipe: Option<impl Read>) -> Vec<u8> {
    let mut content = Vec::new();
    if let Some(mut pipe) = pipe {
        _ = pipe.read_to_end(&mut content);
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_hangs_is_ended() {
        let start = Instant::now();
        let error = output(Command::new("sleep").arg("600"), Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
        assert!(start.elapsed() < Duration::from_mins(1));
        let done = output(Command::new("echo").arg("hello"), QUERY).unwrap();
        assert_eq!((done.status.code(), &*done.stdout), (Some(0), b"hello\n".as_slice()));
    }
}
