//! Where reports go: to standard output, into a folder, to a command, to a webhook, by mail.
//!
//! A [`Sink`] is one such place and what it wants to hear of. It takes a report as often as it is given one; that each gets there
//! is for the daemon's queue to see to. Receivers tell a report that comes again by its id.

mod command;
mod filter;
mod folder;
mod mail;
mod one_line;
mod plain_text;
mod private;
mod snapshots;
mod webhook;

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::spawn_blocking;

pub use command::Command;
pub use filter::Filter;
pub use folder::Folder;
pub use mail::{Mail, MailError, MailOptions, MailServer, MailTls, Mailbox, mailbox};
pub use plain_text::plain_text;
pub use private::Private;
pub use snapshots::{SnapshotSink, WriteSnapshots};
pub use webhook::{Webhook, WebhookError, WebhookOptions};

/// A report on its way.
#[derive(Debug, Clone)]
pub struct Parcel {
    /// The same whenever this report is delivered, and no other report's: 32 hexadecimal digits.
    pub id: String,
    /// Later reports have larger numbers.
    pub number: i64,
    /// The repository.
    pub repository: String,
    /// The branch that the commit has come to.
    pub branch: String,
    /// What it was compared with; nothing before the first commit.
    pub before: Option<String>,
    /// The commit.
    pub after: String,
    /// How it has come: `new`, `created`, `joined`, `rewritten` or `combined`.
    pub kind: &'static str,
    /// The report: one line of JSON, with its end.
    pub report: Arc<[u8]>,
    /// The same for a person, where the sink [wants it](Sink::wants_text).
    pub text: Option<Arc<str>>,
}

/// A place where reports go.
#[derive(Debug)]
pub struct Sink {
    /// What it is called, in settings, logs and the queue.
    pub name: String,
    /// What it wants to hear of.
    pub filter: Filter,
    /// For how long a report is tried before it is set aside.
    pub retry_for: Duration,
    /// The place.
    pub target: Target,
}

/// Kinds of places.
pub enum Target {
    /// A stream, a line a report.
    Stream(Stream),
    /// A folder, a file a report.
    Folder(Folder),
    /// A command, which reads the report.
    Command(Command),
    /// A server.
    Webhook(Webhook),
    /// People.
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

/// Where lines are written to.
pub type Stream = Arc<Mutex<Box<dyn Write + Send>>>;

/// A report was not taken.
#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    /// It may be another time.
    #[error("{text}")]
    Refused {
        /// The place and the reason.
        text: String,
        /// For how long the place wants to be left alone.
        retry_after: Duration,
    },
    /// Nobody reads the stream any more.
    #[error("cannot write: {0}")]
    Closed(#[source] io::Error),
}

impl DeliveryError {
    /// What a place says that does not say when it will take reports again.
    fn refused(text: String) -> DeliveryError {
        DeliveryError::Refused { text, retry_after: Duration::ZERO }
    }
}

impl Sink {
    /// Sees whether it could take reports, as far as that shows on this machine. Nothing is changed.
    pub fn check(&self) -> Result<(), String> {
        match &self.target {
            Target::Folder(folder) => folder.check(),
            Target::Command(command) => command.check(),
            Target::Stream(_) | Target::Webhook(_) | Target::Mail(_) | Target::Snapshots(_) => Ok(()),
        }
    }

    /// Gives it a report. It has the report when this has returned, and may have it if this fails.
    pub async fn deliver(&self, parcel: &Parcel) -> Result<(), DeliveryError> {
        match &self.target {
            Target::Stream(stream) => write(stream, parcel).await,
            Target::Folder(folder) => folder.deliver(parcel).await.map_err(DeliveryError::refused),
            Target::Command(command) => command.deliver(parcel).await.map_err(DeliveryError::refused),
            Target::Webhook(webhook) => webhook.deliver(parcel).await,
            Target::Mail(mail) => mail.deliver(parcel).await.map_err(DeliveryError::refused),
            Target::Snapshots(snapshots) => snapshots.deliver(parcel).await.map_err(DeliveryError::refused),
        }
    }

    /// Whether it has to get all in order: then what it does not take holds up what comes behind it.
    pub fn is_ordered(&self) -> bool {
        matches!(self.target, Target::Snapshots(_))
    }

    /// Whether a person reads what it gets.
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
