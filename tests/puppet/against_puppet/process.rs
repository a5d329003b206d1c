//! Programs that are given a limited time: one that runs to its end, and Ruby that answers line by line.

use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::Fault;

/// The longest that one run may take.
const LIMIT: Duration = Duration::from_mins(5);

/// The most memory that a Ruby may take, in kilobytes.
const MEMORY: u32 = 1_500_000;

/// A Ruby script that answers one line with another.
pub(crate) struct Server {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<String>,
    /// The longest that it may think about one request.
    patience: Duration,
}

/// A server that does not come to an end with a request, or that died of it.
#[derive(Debug)]
pub(crate) struct NoAnswer;

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ruby gives no answer")
    }
}

impl std::error::Error for NoAnswer {}

impl Server {
    /// Starts the command.
    pub(crate) fn start(words: &[&str], patience: Duration) -> Result<Server, Fault> {
        let limited = format!("ulimit -v {MEMORY}; exec \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &limited, "ruby"]).args(words);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let requests = child.stdin.take().ok_or("Ruby has no input")?;
        let output = BufReader::new(child.stdout.take().ok_or("Ruby has no output")?);
        let (sender, answers) = channel();
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Ok(Server { child, requests, answers, patience })
    }

    /// Sends a request.
    pub(crate) fn ask(&mut self, request: &str) -> Result<(), NoAnswer> {
        writeln!(self.requests, "{request}").map_err(|_| NoAnswer)
    }

    /// The next answer.
    pub(crate) fn answer(&self) -> Result<String, NoAnswer> {
        self.answers.recv_timeout(self.patience).map_err(|_| NoAnswer)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Returns a program's standard output; if it fails, a fault with its standard error.
pub(crate) fn output(command: &mut Command) -> Result<String, Fault> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let output = drain(child.stdout.take());
    let complaint = drain(child.stderr.take());
    let status = wait(&mut child)?;
    let output = output.join().map_err(|_| "the output could not be read")?;
    let complaint = complaint.join().map_err(|_| "the output could not be read")?;
    if !status.success() {
        let program = command.get_program().to_string_lossy().into_owned();
        return Err(format!("{program}: {status}\n{}", String::from_utf8_lossy(&complaint)).into());
    }
    Ok(String::from_utf8(output)?)
}

fn drain(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

fn wait(child: &mut Child) -> Result<std::process::ExitStatus, Fault> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if started.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            return Err("it does not come to an end".into());
        }
        thread::sleep(Duration::from_millis(2));
    }
}
