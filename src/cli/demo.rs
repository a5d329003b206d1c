//! `hierad demo`: a small data repository, the daemon on it, a few commits, and their reports.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use clap::Args;
use include_dir::{Dir, DirEntry, include_dir};
use similar::TextDiff;

use super::diff::style;
use super::watch::serve::serve_at;
use super::{Global, Result, Status, output};
use crate::app::settings::listen_address;
use crate::app::{BranchPipelines, Failure};
use crate::daemon::{self, BranchCheckpoint, HandlerError, WatchOptions};
use crate::disk;
use crate::event::CommitEvent;
use crate::git::Scratch;
use crate::report::{Format, write};

/// The first state of the repository, its profiles, and the commits.
static DEMO: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/examples/demo");

/// The longest time that a report may take on a slow machine.
const MAX_REPORT_TIME: Duration = Duration::from_mins(1);

const COMMAND: Style = Style::new().bold();
const LESSON: Style = AnsiColor::Yellow.on_default().italic();
const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const QUIET: Style = Style::new().dimmed();

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Make the repository here, in a folder that does not exist yet, and keep it
    #[arg(long, value_name = "DIR")]
    keep: Option<std::path::PathBuf>,
    /// Show the repository in the browser then, at this address, until it is stopped; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:8427", value_parser = listen_address)]
    serve: Option<SocketAddr>,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    let temporary = tempfile::Builder::new().prefix("hierad-demo-").tempdir()?;
    let folder = match &arguments.keep {
        Some(folder) if folder.exists() => return Err(format!("{} exists already", folder.display()).into()),
        Some(folder) => folder.clone(),
        None => temporary.path().to_owned(),
    };
    // From here on, no link of a repository around the demo leads elsewhere.
    _ = global.overrides().repository();
    disk::check_output(&folder)?;
    let demo = Demo::start(global, &folder)?;
    demo.play()?;
    if arguments.keep.is_some() {
        let folder = folder.display();
        let mut out = output::stdout();
        writeln!(out, "Kept: try  hierad --repo {folder}/data --profiles {folder}/profiles diff HEAD~3")?;
        out.flush()?;
    }
    let shown = global.confined_to(folder.join("data"), folder.join("profiles"));
    arguments.serve.map_or(Ok(Status::Done), |listen| serve_at(&shown, listen))
}

/// A repository with a running daemon.
struct Demo {
    repository: std::path::PathBuf,
    scratch: Scratch,
    color: bool,
    reports: Receiver<Vec<u8>>,
    stop: tokio::sync::oneshot::Sender<()>,
    daemon: std::thread::JoinHandle<std::result::Result<(), Failure>>,
}

impl Demo {
    /// Makes the repository and starts the daemon.
    fn start(global: &Global, folder: &Path) -> Result<Demo> {
        let repository = folder.join("data");
        let profiles = folder.join("profiles");
        copy(demo_folder("start")?, &repository)?;
        copy(demo_folder("profiles")?, &profiles)?;
        let scratch = Scratch::init(&repository)?;
        scratch.commit("data: five nodes, two roles, two sites", 0)?;
        // The demo must not depend on where it runs.
        let global = global.confined_to(repository.clone(), profiles);
        let color = output::color(&global);
        let (sender, reports) = mpsc::channel();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let workspace = global.open()?;
        let watched = (*workspace.repository).clone();
        // The first commit may come before the daemon is up.
        let checkpoint = BranchCheckpoint::now(&watched)?;
        let mut pipelines = BranchPipelines::new(workspace);
        let handle = move |event: CommitEvent| {
            let text = report(&mut pipelines, &event, &global).map_err(HandlerError::Critical)?;
            sender.send(text).map_err(|error| HandlerError::Critical(error.into()))
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let daemon = std::thread::Builder::new().name("daemon".into()).spawn(move || {
            let options = WatchOptions { poll: Duration::from_millis(200), ..WatchOptions::default() };
            let shutdown = async move { _ = stopped.await };
            runtime
                .block_on(daemon::watch(watched, checkpoint, options, daemon::each(handle), shutdown))
                .map_err(Failure::from)
        })?;
        Ok(Demo { repository, scratch, color, reports, stop, daemon })
    }

    /// Makes the commits one by one, and shows the report of each.
    fn play(self) -> Result<()> {
        let mut steps: Vec<&Dir<'_>> = demo_folder("steps")?.dirs().collect();
        steps.sort_by_key(|step| step.path());
        self.say(&format!(
            "Five nodes, and a repository with their data. A daemon watches it; now come {} commits.\n\n",
            steps.len()
        ))?;
        for (minute, step) in (1i64..).zip(steps) {
            self.step(step, minute)?;
        }
        self.say("That was all: try it on your own data with  hierad diff --profiles FOLDER\n")?;
        _ = self.stop.send(());
        self.daemon.join().map_err(|_| "the daemon has failed")?
    }

    fn step(&self, step: &Dir<'_>, minute: i64) -> Result<()> {
        let about = step.get_file(step.path().join("about.txt")).and_then(|file| file.contents_utf8());
        let (message, lesson) = about.unwrap_or_default().split_once('\n').unwrap_or_default();
        let files = step.get_dir(step.path().join("files")).ok_or("a step of the demo has no files")?;
        self.say(&self.paint(&format!("$ git commit -m {message:?}"), COMMAND))?;
        self.say(&format!("\n{}\n", self.edits(files)?))?;
        copy(files, &self.repository)?;
        self.scratch.commit(message, minute)?;
        let report =
            self.reports.recv_timeout(MAX_REPORT_TIME).map_err(|_| "the daemon has not reported the commit")?;
        self.say(&String::from_utf8_lossy(&report))?;
        self.say(&format!("\n{}\n\n", self.paint(lesson.trim_end(), LESSON)))
    }

    /// Returns the changes of a step in the files, as git shows them.
    fn edits(&self, files: &Dir<'_>) -> Result<String> {
        let mut text = String::new();
        for file in all_files(files) {
            let path = file.path().strip_prefix(files.path())?;
            let old = std::fs::read_to_string(self.repository.join(path)).unwrap_or_default();
            let new = file.contents_utf8().unwrap_or_default();
            let diff = TextDiff::from_lines(old.as_str(), new);
            let name = path.display().to_string();
            let unified = diff.unified_diff().context_radius(1).header(&name, &name).to_string();
            for line in unified.lines().skip(1) {
                let style = match line.as_bytes().first() {
                    Some(b'+') if !line.starts_with("+++") => ADDED,
                    Some(b'-') => REMOVED,
                    _ => QUIET,
                };
                let line = self.paint(line.trim_start_matches("+++ "), style);
                text.extend(["  ", &line, "\n"]);
            }
        }
        Ok(text)
    }

    fn say(&self, text: &str) -> Result<()> {
        let mut out = output::coloured(self.color);
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }

    fn paint(&self, text: &str, style: Style) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

fn report(pipelines: &mut BranchPipelines, event: &CommitEvent, global: &Global) -> Result<Vec<u8>> {
    let mut report = pipelines.compare(event)?.report;
    report.event = Some(event.clone());
    let mut text = Vec::new();
    write(&report, Format::Text, &style(global, None), &mut text)?;
    Ok(text)
}

fn demo_folder(name: &str) -> Result<&'static Dir<'static>> {
    DEMO.get_dir(name).ok_or_else(|| format!("the demo has no {name}").into())
}

fn all_files<'d>(dir: &'d Dir<'d>) -> Vec<&'d include_dir::File<'d>> {
    let mut files: Vec<_> = dir
        .entries()
        .iter()
        .flat_map(|entry| match entry {
            DirEntry::Dir(dir) => all_files(dir),
            DirEntry::File(file) => vec![file],
        })
        .collect();
    files.sort_by_key(|file| file.path());
    files
}

fn copy(from: &Dir<'_>, to: &Path) -> Result<()> {
    for file in all_files(from) {
        let path = to.join(file.path().strip_prefix(from.path())?);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(path, file.contents())?;
    }
    Ok(())
}
