//! `sinks:`, the places where the daemon's reports go.

use std::path::PathBuf;
use std::time::Duration;

use zeroize::Zeroizing;

use super::{Checker, SettingsError, raw};
use crate::delivery::{Command, Filter, Folder, Patterns, Sink, Stream, Target, Webhook, WebhookError};
use crate::git::BranchPatterns;

/// How long a sink has for a report, if the settings say nothing, in seconds.
const TIMEOUT: f64 = 30.0;

/// The longest that it may have, in seconds.
const MAX_TIMEOUT: f64 = 3600.0;

/// For how long a report is tried, if the settings say nothing, in hours.
const RETRY_FOR: f64 = 24.0;

/// A sink as it is declared. What it needs besides is opened by the daemon, for who only compares revisions may not read keys.
#[derive(Debug, Clone)]
pub struct SinkSetting {
    /// What it is called.
    pub name: String,
    filter: Filter,
    retry_for: Duration,
    place: Place,
}

#[derive(Debug, Clone)]
enum Place {
    Stdout,
    Folder(PathBuf),
    Command { program: String, arguments: Vec<String>, folder: PathBuf, limit: Duration },
    Webhook { url: String, secret_file: Option<PathBuf>, headers: Vec<(String, String)>, limit: Duration },
}

/// A sink that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// Its key cannot be read.
    #[error("sink '{sink}': cannot read {path}: {source}")]
    Read {
        /// The sink.
        sink: String,
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Its key is empty.
    #[error("sink '{sink}': the file {path} is empty")]
    Empty {
        /// The sink.
        sink: String,
        /// The file.
        path: PathBuf,
    },
    /// Its address or headers cannot be used.
    #[error("sink '{sink}': {source}")]
    Webhook {
        /// The sink.
        sink: String,
        /// Why.
        source: WebhookError,
    },
}

impl SinkSetting {
    /// The sink; `output` is where lines for standard output go.
    pub fn open(&self, output: &Stream) -> Result<Sink, SinkError> {
        let target = match self.place.clone() {
            Place::Stdout => Target::Stream(output.clone()),
            Place::Folder(folder) => Target::Folder(Folder::new(folder)),
            Place::Command { program, arguments, folder, limit } => {
                Target::Command(Command::new(program, arguments, folder, limit))
            }
            Place::Webhook { url, secret_file, headers, limit } => {
                let secret = secret_file.map(|path| self.secret(path)).transpose()?;
                let webhook = Webhook::new(&url, secret, &headers, limit);
                Target::Webhook(webhook.map_err(|source| SinkError::Webhook { sink: self.name.clone(), source })?)
            }
        };
        Ok(Sink { name: self.name.clone(), filter: self.filter.clone(), retry_for: self.retry_for, target })
    }

    /// The key in a file; a line end behind it does not belong to it.
    fn secret(&self, path: PathBuf) -> Result<Zeroizing<Vec<u8>>, SinkError> {
        let sink = self.name.clone();
        match std::fs::read(&path).map(Zeroizing::new) {
            Ok(content) if content.trim_ascii_end().is_empty() => Err(SinkError::Empty { sink, path }),
            Ok(content) => Ok(Zeroizing::new(content.trim_ascii_end().to_vec())),
            Err(source) => Err(SinkError::Read { sink, path, source }),
        }
    }
}

/// The sink `name`.
pub(super) fn check(checker: &Checker<'_>, name: &str, raw: raw::Sink) -> Result<SinkSetting, SettingsError> {
    let of = Of { checker, name };
    let filter = of.filter(&raw)?;
    let retry_for = of.time("retry_for", raw.retry_for.unwrap_or(RETRY_FOR), 3600.0)?;
    Ok(SinkSetting { name: name.to_owned(), filter, retry_for, place: of.place(raw)? })
}

/// The sink that is checked.
struct Of<'a> {
    checker: &'a Checker<'a>,
    name: &'a str,
}

impl Of<'_> {
    fn invalid(&self, text: impl std::fmt::Display) -> SettingsError {
        self.checker.invalid(&["sinks", self.name], format!("sink '{}' {text}", self.name))
    }

    fn wrong(&self, setting: &str, text: impl std::fmt::Display) -> SettingsError {
        self.checker.invalid(&["sinks", self.name, setting], format!("sink '{}': '{setting}': {text}", self.name))
    }

    fn filter(&self, raw: &raw::Sink) -> Result<Filter, SettingsError> {
        let branches = BranchPatterns::new(raw.branches.as_slice()).map_err(|error| self.wrong("branches", error))?;
        let nodes = Patterns::new(raw.nodes.as_slice()).map_err(|error| self.wrong("nodes", error))?;
        let keys = Patterns::new(raw.keys.as_slice()).map_err(|error| self.wrong("keys", error))?;
        Ok(Filter { branches, nodes, keys, minimum: raw.minimum })
    }

    fn time(&self, setting: &str, number: f64, unit: f64) -> Result<Duration, SettingsError> {
        let time = Duration::try_from_secs_f64(number * unit).ok().filter(|time| !time.is_zero());
        time.ok_or_else(|| self.wrong(setting, format!("must be a number above 0, not {number}")))
    }

    fn place(&self, raw: raw::Sink) -> Result<Place, SettingsError> {
        if raw.webhook.is_none() && (raw.secret_file.is_some() || !raw.headers.is_empty()) {
            return Err(self.invalid("has no 'webhook', so 'secret_file' and 'headers' mean nothing"));
        }
        if raw.webhook.is_none() && raw.command.is_none() && raw.timeout.is_some() {
            return Err(self.invalid("has no 'webhook' and no 'command', so 'timeout' means nothing"));
        }
        let timeout = raw.timeout.unwrap_or(TIMEOUT);
        if timeout > MAX_TIMEOUT {
            return Err(self.wrong("timeout", format!("must be at most {MAX_TIMEOUT} seconds, not {timeout}")));
        }
        let limit = self.time("timeout", timeout, 1.0)?;
        let folder = &self.checker.folder;
        match (raw.stdout, raw.folder, raw.command, raw.webhook) {
            (Some(true), None, None, None) => Ok(Place::Stdout),
            (None, Some(path), None, None) => Ok(Place::Folder(folder.join(path))),
            (None, None, Some(words), None) => self.command(words, limit),
            (None, None, None, Some(url)) => {
                Webhook::check(&url).map_err(|error| self.wrong("webhook", error))?;
                let secret_file = raw.secret_file.map(|path| folder.join(path));
                Ok(Place::Webhook { url, secret_file, headers: raw.headers.into_iter().collect(), limit })
            }
            _ => {
                let wanted = "needs one of 'stdout: true', 'folder: DIR', 'command: [PROGRAM, ...]' and 'webhook: URL'";
                Err(self.invalid(wanted))
            }
        }
    }

    fn command(&self, words: Vec<String>, limit: Duration) -> Result<Place, SettingsError> {
        let mut words = words.into_iter();
        let Some(program) = words.next().filter(|program| !program.is_empty()) else {
            return Err(self.wrong("command", "needs a program"));
        };
        let (program, folder) = (self.checker.program(&program), self.checker.folder.to_owned());
        Ok(Place::Command { program, arguments: words.collect(), folder, limit })
    }
}
