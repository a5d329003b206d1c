//! `hierad queue`: the unfinished work of the daemon, and its retries.

use std::io::Write;
use std::path::PathBuf;
use std::time::SystemTime;

use clap::{Args, Subcommand};
use serde::Serialize;

use super::arguments::inspection::Format;
use super::{Global, Result, Status, output};
use crate::app::state_folder;
use crate::daemon::queue::{FailingWork, PendingItem, PendingReview, Queue, Stage};
use crate::event::{CommitEvent, JobName, JobNumber};
use crate::visible::{visible, visible_json};

/// Arguments of `queue`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder of the daemon's state [default: that of the settings, or the one in the git directory]
    #[arg(long, global = true, value_name = "DIR")]
    state: Option<PathBuf>,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show waiting and set-aside work; `queue` alone does the same
    List(List),
    /// Retry failed work at once; a running daemon sees it within seconds
    Retry(Which),
    /// Drop work that was set aside
    Drop(Drop),
    /// Check the integrity of the database
    Check,
}

#[derive(Debug, Default, Args)]
struct List {
    /// Output format: JSON is a line for each item
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// The most items to show, the oldest first
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u32,
}

#[derive(Debug, Args)]
#[group(required = true)]
struct Which {
    /// Only the work with this number, as `list` shows it
    number: Option<JobNumber>,
    /// Only reports for this sink
    #[arg(long, value_name = "NAME")]
    sink: Option<String>,
    /// Only the reviews of requests on forges
    #[arg(long, conflicts_with_all = ["number", "sink"])]
    reviews: bool,
    /// All of it
    #[arg(long, conflicts_with_all = ["number", "sink", "reviews"])]
    all: bool,
}

impl Which {
    /// Returns true if reviews are included.
    fn has_reviews(&self) -> bool {
        self.reviews || self.all
    }
}

#[derive(Debug, Args)]
struct Drop {
    #[command(flatten)]
    which: Which,
    /// Also reports that are still to be delivered, such as those for a sink that is gone
    #[arg(long)]
    undelivered: bool,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    let folder = state_folder(&global.overrides(), arguments.state.as_deref())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let queue = Queue::open(&folder).await?;
        let mut out = output::stdout();
        match &arguments.action {
            None => list(&queue, &List { limit: 100, ..List::default() }, &mut out).await?,
            Some(Action::List(arguments)) => list(&queue, arguments, &mut out).await?,
            Some(Action::Retry(which)) => {
                let reviews = if which.has_reviews() { queue.retry_reviews().await? } else { 0 };
                let others = if which.reviews { 0 } else { queue.retry(which.number, which.sink.as_deref()).await? };
                let count = reviews + others;
                writeln!(out, "{count} to be tried again")?;
            }
            Some(Action::Drop(Drop { which, undelivered })) => {
                let reviews = if which.has_reviews() { queue.drop_reviews().await? } else { 0 };
                let (number, sink) = (which.number, which.sink.as_deref());
                let others = if which.reviews { 0 } else { queue.drop(number, sink, *undelivered).await? };
                let count = reviews + others;
                let hint = if count == 0 && !undelivered { "; --undelivered includes what is still tried" } else { "" };
                writeln!(out, "{count} given up{hint}")?;
            }
            Some(Action::Check) => {
                queue.check().await?;
                writeln!(out, "the queue in {} is intact", folder.display())?;
            }
        }
        out.flush()?;
        queue.close().await;
        Ok(Status::Done)
    })
}

async fn list(queue: &Queue, arguments: &List, out: &mut dyn Write) -> Result<()> {
    let rows = queue.pending(arguments.limit).await?;
    let failing = queue.failing_work().await?;
    let reviews = queue.pending_reviews(arguments.limit).await?;
    if arguments.format == Format::Json {
        for row in &rows {
            writeln!(out, "{}", visible_json(&serde_json::to_string(&Wire::new(row))?))?;
        }
        for FailingWork { name, failures, error } in &failing {
            let work = serde_json::json!({"schedule": name, "state": "failing", "attempts": failures, "error": error});
            writeln!(out, "{}", visible_json(&work.to_string()))?;
        }
        for review in &reviews {
            writeln!(out, "{}", visible_json(&review_wire(review).to_string()))?;
        }
        return Ok(());
    }
    let has_several = rows.iter().any(|row| row.job.name.repository != rows[0].job.name.repository);
    for row in &rows {
        writeln!(out, "{}", item_line(row, has_several))?;
    }
    for FailingWork { name, failures, error } in &failing {
        let times = if *failures == 1 { "once".to_owned() } else { format!("{failures} times") };
        writeln!(out, "schedule '{name}' has failed {times}: {}", visible(error))?;
    }
    for review in &reviews {
        writeln!(out, "{}", review_line(review))?;
    }
    let counts = queue.counts().await?;
    let mut words = Vec::new();
    for stage in [Stage::Waiting, Stage::Failed, Stage::Undelivered, Stage::Dead] {
        let count: u64 = counts.iter().filter(|count| count.stage == stage).map(|count| count.number).sum();
        words.extend((count > 0).then(|| format!("{count} {}", stage.as_str())));
    }
    words.extend((!failing.is_empty()).then(|| format!("{} failing on schedule", failing.len())));
    for (is_set_aside, word) in [(false, "waiting"), (true, "dead")] {
        let count = reviews.iter().filter(|review| review.is_set_aside == is_set_aside).count();
        let what = if count == 1 { "review" } else { "reviews" };
        words.extend((count > 0).then(|| format!("{count} {what} {word}")));
    }
    writeln!(out, "{}", if words.is_empty() { "nothing is waiting".to_owned() } else { words.join(", ") })?;
    Ok(())
}

/// `12  dead  main 1a2b3c4d to bot, tried 9 times: the server answers 500`; with the repository before the branch if
/// there are several.
fn item_line(row: &PendingItem, has_several: bool) -> String {
    let event = &row.job.event;
    let sink = row.sink.as_ref().map(|sink| format!(" to {sink}")).unwrap_or_default();
    let attempts = attempts(row.attempts, row.due, row.error.as_deref());
    let (number, stage, branch, commit) = (row.job.name.number, row.stage.as_str(), &event.branch, event.after.short());
    let repository = if has_several { format!("{} ", row.job.name.repository) } else { String::new() };
    let branch = visible(branch.as_str());
    format!("{number:>6}  {stage:<11}  {repository}{branch} {commit}{sink}{attempts}")
}

/// `review  waiting      request 17 of github acme/control, tried once, again in 3 s: the forge answers 502`
fn review_line(review: &PendingReview) -> String {
    let PendingReview { name, request, is_set_aside, attempts: tried, due, error } = review;
    let stage = if *is_set_aside { "dead" } else { "waiting" };
    let attempts = attempts(i64::from(*tried), *due, error.as_deref());
    format!("review  {stage:<11}  request {request} of {}{attempts}", visible(name))
}

fn review_wire(review: &PendingReview) -> serde_json::Value {
    let PendingReview { name, request, is_set_aside, attempts, error, .. } = review;
    let state = if *is_set_aside { "dead" } else { "waiting" };
    serde_json::json!({"review": name, "request": request, "state": state, "attempts": attempts, "error": error})
}

/// Describes the attempts so far, and the next one.
fn attempts(tried: i64, due: Option<SystemTime>, error: Option<&str>) -> String {
    let tried = match tried {
        0 => String::new(),
        1 => ", tried once".to_owned(),
        attempts => format!(", tried {attempts} times"),
    };
    let again = due.and_then(|due| due.duration_since(SystemTime::now()).ok());
    let again = again.map(|time| format!(", again in {} s", time.as_secs() + 1)).unwrap_or_default();
    let error = error.map(|error| format!(": {}", visible(error))).unwrap_or_default();
    format!("{tried}{again}{error}")
}

/// An item for programs.
#[derive(Serialize)]
struct Wire<'a> {
    number: JobNumber,
    id: &'a str,
    state: &'static str,
    repository: &'a str,
    branch: &'a str,
    before: Option<String>,
    after: String,
    kind: &'static str,
    sink: Option<&'a str>,
    attempts: i64,
    error: Option<&'a str>,
}

impl<'a> Wire<'a> {
    fn new(row: &'a PendingItem) -> Wire<'a> {
        let JobName { id, number, repository } = &row.job.name;
        let CommitEvent { branch, before, after, kind, .. } = &row.job.event;
        Wire {
            number: *number,
            id: id.as_str(),
            state: row.stage.as_str(),
            repository: repository.as_str(),
            branch: branch.as_str(),
            before: before.map(|before| before.to_string()),
            after: after.to_string(),
            kind: kind.as_str(),
            sink: row.sink.as_deref(),
            attempts: row.attempts,
            error: row.error.as_deref(),
        }
    }
}
