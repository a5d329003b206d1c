//! Runs the commands that the settings declare for functions that hierad does not have.
//!
//! A command is started by the first request. It then reads requests and writes answers, a line each, until its input
//! ends. If an answer is too late, too large or malformed, the command is ended, and started again for the next
//! request; after `MAX_FAILURES` in a row it is not used any more. In the life of this process, equal requests are
//! sent only once.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::diagnostic::Place;
use crate::hiera::Failed;
use crate::hiera::backend::{Answer, CommandBackend, NestedLookup};
use crate::process::{Group, without_tokens};
use crate::puppet::json;
use crate::value::{Hash, Value};

/// The longest answer, in bytes.
const MAX_ANSWER: u64 = 16 << 20;

/// The number of failures in a row after which a command is not used any more.
const MAX_FAILURES: u32 = 3;

/// The time for a command to end after its input has ended.
const EXIT_TIMEOUT: Duration = Duration::from_millis(200);

/// The number of requests that are sent at a time.
const REQUESTS_PER_BATCH: usize = 256;

/// The line of an answer, or the reason why there is none.
type Line = Result<Vec<u8>, String>;

/// A command, with its answers so far.
#[derive(Debug)]
pub struct BackendCommand {
    program: String,
    arguments: Vec<String>,
    folder: PathBuf,
    limit: Duration,
    /// The time that it may take to start, in addition to that of its first answer.
    start: Duration,
    /// True if it runs in a process group of its own.
    has_own_group: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: Option<Running>,
    answers: HashMap<String, Result<Answer, String>>,
    last_id: u64,
    failures: u32,
}

impl BackendCommand {
    /// Makes the command `program` with `arguments`, which runs in `folder` and must answer within `limit`. It is not
    /// started yet.
    pub fn new(program: String, arguments: Vec<String>, folder: PathBuf, limit: Duration) -> BackendCommand {
        BackendCommand {
            program,
            arguments,
            folder,
            limit,
            start: Duration::ZERO,
            has_own_group: false,
            state: Mutex::default(),
        }
    }

    /// Has the command run in a process group of its own, so that only hierad's end ends it, not a key at the terminal:
    /// it can always tidy up.
    #[must_use]
    pub fn in_own_group(self) -> BackendCommand {
        BackendCommand { has_own_group: true, ..self }
    }

    /// Gives the command this time to start, in addition to that of its first answer.
    #[must_use]
    pub fn starting_within(self, start: Duration) -> BackendCommand {
        BackendCommand { start, ..self }
    }

    /// Returns the answers to `requests`, which are sent even if they were sent before, and does not remember them.
    /// Many are sent at a time, so neither side waits for the other. After one without a valid answer, the remaining
    /// ones are sent again.
    pub fn ask_anew(&self, requests: &[String]) -> Vec<Result<Answer, String>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut answers = Vec::new();
        while answers.len() < requests.len() {
            let rest = &requests[answers.len()..];
            self.ask_batch(&mut state, &rest[..rest.len().min(REQUESTS_PER_BATCH)], &mut answers);
        }
        answers
    }

    /// Sends `requests`, and adds the answers up to the first invalid one.
    fn ask_batch(&self, state: &mut State, requests: &[String], answers: &mut Vec<Result<Answer, String>>) {
        if state.failures >= MAX_FAILURES {
            let text = format!("failed {MAX_FAILURES} times in a row and is not asked any more");
            answers.extend(requests.iter().map(|_| Err(text.clone())));
            return;
        }
        let first = state.last_id + 1;
        let mut limit = self.limit + if state.running.is_none() { self.start } else { Duration::ZERO };
        let sent = self.send(state, requests);
        for id in (first..).take(requests.len()) {
            let line = sent.clone().and_then(|()| state.receive(limit));
            match line.and_then(|line| parse_answer(&line, id)) {
                Ok(answer) => answers.push(answer),
                Err(text) => {
                    answers.push(Err(text));
                    state.running = None;
                    state.failures += 1;
                    return;
                }
            }
            state.failures = 0;
            limit = self.limit;
        }
    }

    /// Sends some requests. Starts the command unless it runs.
    fn send(&self, state: &mut State, requests: &[String]) -> Result<(), String> {
        let running = match &mut state.running {
            Some(running) => running,
            none => none.insert(self.start()?),
        };
        let mut line = |request: &String| {
            state.last_id += 1;
            format!("{{\"id\":{},{}\n", state.last_id, request.strip_prefix('{').unwrap_or(request))
        };
        let lines = requests.iter().map(&mut line).collect::<String>();
        running.requests.as_ref().and_then(|queue| queue.send(lines).ok()).ok_or_else(ended)
    }

    fn start(&self) -> Result<Running, String> {
        let mut command = std::process::Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        without_tokens(&mut command);
        if !self.folder.as_os_str().is_empty() {
            command.current_dir(&self.folder);
        }
        // Without a group of its own, whoever interrupts hierad at a terminal interrupts it, too.
        #[cfg(unix)]
        if self.has_own_group {
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
        }
        let group = Group::marked(&mut command);
        let failed = |error: &dyn std::fmt::Display| format!("cannot be started: {}: {error}", self.program);
        let mut child = command.spawn().map_err(|error| failed(&error))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (requests, queue) = channel();
        let (results, answers) = channel();
        let running = Running { child, group, requests: Some(requests), answers };
        let (Some(input), Some(output)) = (input, output) else { return Err(failed(&"it has no input or output")) };
        // Neither writing nor reading can be interrupted, so two threads do them at the same time, and end with the
        // command.
        let spawn = |work: Box<dyn FnOnce() + Send>| {
            let spawned = thread::Builder::new().name("backend".into()).spawn(work);
            spawned.map(|_| ()).map_err(|error| failed(&error))
        };
        spawn(Box::new(move || write(input, &queue)))?;
        spawn(Box::new(move || receive(output, &results)))?;
        Ok(running)
    }
}

impl State {
    /// Waits for the line of an answer.
    fn receive(&self, limit: Duration) -> Line {
        match self.running.as_ref().ok_or_else(ended)?.answers.recv_timeout(limit) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => Err(format!("gave no answer within {} s", limit.as_secs_f64())),
            Err(RecvTimeoutError::Disconnected) => Err(ended()),
        }
    }
}

impl CommandBackend for BackendCommand {
    fn ask(&self, request: &str) -> Result<Answer, String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = state.answers.get(request) {
            return answer.clone();
        }
        let mut answers = Vec::new();
        self.ask_batch(&mut state, &[request.to_owned()], &mut answers);
        let answer = answers.pop().unwrap_or_else(|| Err(ended()));
        state.answers.insert(request.to_owned(), answer.clone());
        answer
    }
}

fn ended() -> String {
    "ended without an answer".to_owned()
}

/// A running command, which is ended on drop.
#[derive(Debug)]
struct Running {
    child: Child,
    group: Group,
    requests: Option<Sender<String>>,
    answers: Receiver<Line>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.requests = None; // which ends its input
        let deadline = Instant::now() + EXIT_TIMEOUT;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(2));
        }
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            self.group.release();
        }
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Writes requests until there are no more, or until they cannot be written: then there are no answers, either.
fn write(mut input: ChildStdin, requests: &Receiver<String>) {
    while let Ok(lines) = requests.recv() {
        if input.write_all(lines.as_bytes()).and_then(|()| input.flush()).is_err() {
            return;
        }
    }
}

/// Reads answers until they end, or nobody receives them any more.
fn receive(output: ChildStdout, answers: &Sender<Line>) {
    let mut output = BufReader::new(output);
    loop {
        let answer = read_line(&mut output).map_err(|error| format!("broke off: {error}")).and_then(|line| line);
        let ends = answer.is_err();
        if answers.send(answer).is_err() || ends {
            return;
        }
    }
}

/// Reads one line; the last one may lack its newline.
fn read_line(output: &mut BufReader<ChildStdout>) -> std::io::Result<Line> {
    let mut line = Vec::new();
    output.by_ref().take(MAX_ANSWER).read_until(b'\n', &mut line)?;
    Ok(match line.last() {
        None => Err(ended()),
        Some(last) if *last != b'\n' && line.len() as u64 >= MAX_ANSWER => {
            Err(format!("gave an answer of more than {} MiB", MAX_ANSWER >> 20))
        }
        Some(_) => Ok(line),
    })
}

/// Parses an answer. The outer error means that the answer is malformed.
fn parse_answer(line: &[u8], expected_id: u64) -> Result<Result<Answer, String>, String> {
    // The answer may be a secret, so the error does not quote it.
    let invalid = |why: &str| Err(format!("gave an invalid answer: {why}"));
    let parsed = json::parse(line);
    let (None, Some(answer)) = (parsed.fault, parsed.value.as_hash()) else {
        return invalid("it is not a JSON object");
    };
    match answer.get("id") {
        None => {}
        Some(Value::Integer(id)) if u64::try_from(*id) == Ok(expected_id) => {}
        Some(_) => return invalid("its id is that of another request"),
    }
    let value = match answer.get("value") {
        Some(value) if answer.get("rich") == Some(&Value::Boolean(true)) => match decode_rich(value) {
            Some(value) => Some(value),
            None => return invalid("its value is not valid 'rich' data"),
        },
        value => value.cloned(),
    };
    let is_template = match answer.get("interpolate") {
        None | Some(Value::Boolean(false)) => false,
        Some(Value::Boolean(true)) => true,
        Some(_) => return invalid("its 'interpolate' is neither true nor false"),
    };
    if let Some(lookup) = answer.get("lookup") {
        return NestedLookup::read(lookup)
            .map_or_else(|| invalid("its 'lookup' names no key"), |lookup| Ok(Ok(Answer::Lookup(lookup))));
    }
    match (value, answer.get("not_found"), answer.get("error"), answer.get("failed")) {
        (Some(value), None, None, None) if is_template => Ok(Ok(Answer::Template(value))),
        (Some(value), None, None, None) => Ok(Ok(Answer::Found(value))),
        (None, Some(Value::Boolean(true)), None, None) => Ok(Ok(Answer::NotFound)),
        (None, None, Some(Value::String(text)), None) => Ok(Err(format!("says: {}", text.visible()))),
        (None, None, None, Some(Value::String(text))) => {
            let line = match answer.get("line") {
                Some(Value::Integer(line)) => u32::try_from(*line).ok(),
                _ => None,
            };
            let file = answer.get("file").and_then(Value::as_str);
            let place = file.map(|file| Place { path: file.into(), line });
            Ok(Ok(Answer::Failed(Failed { text: text.to_string(), place })))
        }
        _ => invalid("it needs one of 'value', 'not_found: true', 'failed' and 'error'"),
    }
}

/// Decodes a value in which hashes represent what JSON cannot express. Returns `None` if one of them is not valid.
fn decode_rich(value: &Value) -> Option<Value> {
    let hash = match value {
        Value::Array(items) => return items.iter().map(decode_rich).collect::<Option<Vec<_>>>().map(Value::array),
        Value::Hash(hash) => hash,
        other => return Some(other.clone()),
    };
    match hash.get("__hierad").map(|name| name.as_str()) {
        None => {
            let entries = hash.iter().map(|(key, value)| Some((key.clone(), decode_rich(value)?)));
            entries.collect::<Option<Hash>>().map(Value::hash)
        }
        Some(Some("Symbol")) => Some(Value::Symbol(hash.get("text")?.as_str()?.into())),
        Some(Some("Hash")) => {
            let pairs = hash.get("pairs")?.as_array()?.chunks(2);
            let pairs = pairs.map(|pair| match pair {
                [key, value] => Some((decode_rich(key)?, decode_rich(value)?)),
                _ => None,
            });
            pairs.collect::<Option<Hash>>().map(Value::hash)
        }
        Some(_) => None,
    }
}
