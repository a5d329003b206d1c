//! A running `hierad watch`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::spawn;

use super::Result;

/// A daemon, which ends when this does.
pub(crate) struct Daemon(Child);

impl Daemon {
    /// Starts a daemon that writes its reports to standard output, a line each; `report` gets them. Once this is back,
    /// the daemon misses nothing.
    pub(crate) fn start(command: &mut Command, report: impl FnMut(Vec<u8>) + Send + 'static) -> Result<Daemon> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let mut daemon = Daemon(child);
        let (Some(output), Some(log)) = (daemon.0.stdout.take(), daemon.0.stderr.take()) else {
            return Err("no pipes".into());
        };
        let mut log = BufReader::new(log).lines().map_while(std::io::Result::ok);
        log.find(|line| line.contains("watching")).ok_or("hierad watch does not watch")?;
        spawn(move || log.for_each(|line| eprintln!("{line}")));
        let lines = BufReader::with_capacity(1 << 20, output).split(b'\n').map_while(std::io::Result::ok);
        spawn(move || lines.for_each(report));
        Ok(daemon)
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}
