//! Delivers reports to sinks: standard output, a folder, a command, a webhook, mail; and hands commits to the writer of
//! snapshots.
//!
//! A [`Sink`] is a [`Target`] with a [`Filter`]. It delivers a report each time that it is given one; the daemon's
//! queue decides when that is, and retries. Receivers recognise a repeated report by its id. Nothing here knows the
//! queue, the repositories or how a report came about.

mod command;
mod filter;
mod folder;
mod mail;
mod one_line;
mod plain_text;
mod private;
mod snapshots;
mod summary;
mod webhook;

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::spawn_blocking;

use crate::event::{CommitEvent, JobName, RepositoryName};
use crate::report::Report;

pub use command::Command;
pub use filter::{Each, Filter};
pub use folder::Folder;
pub use mail::{Mail, MailError, MailOptions, MailServer, MailTls, Mailbox, mailbox};
pub use one_line::{describe, one_line};
pub use plain_text::plain_text;
pub use private::Private;
pub use snapshots::{SnapshotSink, Unwritten, WriteSnapshots};
pub use summary::{SizeLimit, WholeReports};
pub use webhook::{Webhook, WebhookError, WebhookOptions};

/// A report on its way to a sink.
#[derive(Debug, Clone)]
pub struct Parcel {
    /// The identity of the report's job, by which receivers recognise a report that comes twice.
    pub job: JobName,
    /// The commit that has come to a branch.
    pub event: CommitEvent,
    /// The report: one line of JSON with its newline.
    pub report: Arc<[u8]>,
    /// The report as text, if the sink [wants it](Sink::wants_text).
    pub text: Option<Arc<str>>,
}

impl Parcel {
    /// Returns the name of the report's file in a folder.
    fn file_name(&self) -> String {
        format!("{:010}-{}.json", self.job.number, self.job.id)
    }
}

/// A destination of reports.
#[derive(Debug)]
pub struct Sink {
    /// Its name in settings, logs and the queue.
    pub name: String,
    /// The reports that it wants.
    pub filter: Filter,
    /// The time for which a report is retried before it is set aside.
    pub retry_for: Duration,
    /// The destination.
    pub target: Target,
}

/// The kinds of destination.
pub enum Target {
    /// A stream, with a line for each report.
    Stream(Stream),
    /// A folder, with a file for each report.
    Folder(Folder),
    /// A command, which reads the report.
    Command(Command),
    /// An HTTP server.
    Webhook(Webhook),
    /// Mail.
    Mail(Mail),
    /// Snapshots, on git references or in a folder.
    Snapshots(SnapshotSink),
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Stream(_) => f.write_str("Stream"),
            Target::Folder(folder) => folder.fmt(f),
            Target::Command(command) => command.fmt(f),
            Target::Webhook(webhook) => webhook.fmt(f),
            Target::Mail(mail) => mail.fmt(f),
            Target::Snapshots(_) => f.write_str("Snapshots"),
        }
    }
}

/// An output for lines.
pub type Stream = Arc<Mutex<Box<dyn Write + Send>>>;

/// A failed delivery.
#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    /// The report was refused; a later attempt may succeed.
    #[error("{text}")]
    Refused {
        /// The destination and the reason.
        text: String,
        /// The time that the destination asks to wait before the next attempt.
        retry_after: Duration,
    },
    /// No later attempt can succeed.
    #[error("{0}")]
    Impossible(String),
    /// Nobody needs the report any more, for this reason.
    #[error("{0}")]
    Obsolete(String),
    /// The stream has no reader any more.
    #[error("cannot write: {0}")]
    Closed(#[source] io::Error),
}

impl DeliveryError {
    /// Makes a refusal that does not ask for a wait.
    fn refused(text: String) -> DeliveryError {
        DeliveryError::Refused { text, retry_after: Duration::ZERO }
    }
}

impl Sink {
    /// Checks that the sink could take reports, as far as that can be seen on this machine without changing anything.
    pub fn check(&self) -> Result<(), String> {
        match &self.target {
            Target::Folder(folder) => folder.check(),
            Target::Command(command) => command.check(),
            Target::Stream(_) | Target::Webhook(_) | Target::Mail(_) | Target::Snapshots(_) => Ok(()),
        }
    }

    /// Delivers a report. If this succeeds, the sink has the report; if it fails, the sink may have it.
    pub async fn deliver(&self, parcel: &Parcel) -> Result<(), DeliveryError> {
        match &self.target {
            Target::Stream(stream) => write(stream, parcel).await,
            Target::Folder(folder) => folder.deliver(parcel).await.map_err(DeliveryError::refused),
            Target::Command(command) => command.deliver(parcel).await.map_err(DeliveryError::refused),
            Target::Webhook(webhook) => webhook.deliver(parcel).await,
            Target::Mail(mail) => mail.deliver(parcel).await.map_err(DeliveryError::refused),
            Target::Snapshots(snapshots) => snapshots.deliver(parcel).await,
        }
    }

    /// Returns true if the sink wants the report of an event in `repository`.
    pub fn wants(&self, repository: &RepositoryName, event: &CommitEvent, report: &Report) -> bool {
        self.repository().is_none_or(|own| own == repository) && self.filter.wants(repository.as_str(), event, report)
    }

    /// Returns the repository of a sink that serves only one and needs the reports of each branch in order: a failed
    /// one delays those after it on its branch.
    pub fn repository(&self) -> Option<&RepositoryName> {
        match &self.target {
            Target::Snapshots(snapshots) => Some(snapshots.repository()),
            _ => None,
        }
    }

    /// Returns true if the sink needs the report as text.
    pub fn wants_text(&self) -> bool {
        matches!(self.target, Target::Mail(_))
    }
}

async fn write(stream: &Stream, parcel: &Parcel) -> Result<(), DeliveryError> {
    let (stream, report) = (stream.clone(), parcel.report.clone());
    let write = move || {
        let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
        stream.write_all(&report).and_then(|()| stream.flush())
    };
    spawn_blocking(write).await.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(|error| {
        match error.kind() {
            io::ErrorKind::BrokenPipe => DeliveryError::Closed(error),
            _ => DeliveryError::refused(format!("cannot write: {error}")),
        }
    })
}
