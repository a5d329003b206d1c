//! Runs a program for a limited time.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Fault;

/// The longest that one run may take.
const LIMIT: Duration = Duration::from_secs(300);

/// What a program prints on its standard output; a failure is a fault with what it prints on standard error.
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
