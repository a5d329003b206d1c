//! The `hierad` command: arguments, subcommands, exit codes.
//!
//! A file a subcommand: its arguments and what it does. Exit status: 0 done, 1 could not, 2 differences or faults found.

mod archive;
mod check;
mod context;
mod demo;
mod diff;
mod export;
mod fault;
mod filter;
mod global;
mod hooks;
mod http;
mod inspection;
mod later;
mod log;
mod lookup;
mod notify;
mod output;
mod pager;
mod place;
mod progress;
mod queue;
mod render;
mod sample;
mod secrets;
mod service;
mod signals;
mod supervisor;
mod verify;
mod watch;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::diagnostic::describe;
use crate::hiera::Reader;
use crate::puppet::Puppet;
use later::Later;
use progress::Progress;

/// What a subcommand came to.
type Result<T = Status> = std::result::Result<T, Failure>;

/// Why a subcommand could not do its work: one sentence for a person.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How a subcommand that did its work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    /// Done.
    Done,
    /// Done, and what was asked for is not there.
    NotFound,
    /// Done, and differences or faults were found.
    Found,
    /// Done, and no difference was seen, but not all could be seen.
    Unseen,
}

/// What scripts need to know.
const STATUS: &str = "Exit status: 0 done, 1 could not (or `lookup` found no key), 2 differences found (`diff --exit-code`), \
faults found (`check`) or disagreements found (`verify`), 3 no difference seen, but not all could be seen \
(`diff --exit-code`, `verify`).";

/// Shows what a commit to a Puppet Hiera data repository really does to every node.
#[derive(Debug, Parser)]
#[command(name = "hierad", version, about, max_term_width = 100, after_help = STATUS)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// The flags of every subcommand, and the line on the terminal that they share.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Options of every command")]
#[expect(clippy::struct_field_names, reason = "the name of the flag")]
struct Global {
    /// The data repository, or a folder inside it
    #[arg(long, short = 'C', global = true, value_name = "DIR")]
    repo: Option<PathBuf>,
    /// The settings [default: hierad.yaml beside the data or in the git directory]
    #[arg(long, global = true, value_name = "FILE", env = "HIERAD_CONFIG", hide_env_values = true,
        value_parser = OsStringValueParser::new().map(PathBuf::from))]
    config: Option<PathBuf>,
    /// Node profiles: a file, a folder or a glob; may be repeated
    #[arg(long, global = true, value_name = "PATH")]
    profiles: Vec<PathBuf>,
    /// The environment's hiera.yaml, inside the repository
    #[arg(long, global = true, value_name = "PATH")]
    hiera_config: Option<String>,
    /// The global layer's hiera.yaml, on disk; or 'none'
    #[arg(long, global = true, value_name = "FILE")]
    global_hiera_config: Option<String>,
    /// Folders of modules, separated by ':': relative ones in the repository, absolute ones on disk
    #[arg(long, global = true, value_name = "DIRS")]
    modulepath: Option<String>,
    /// What $basemodulepath stands for: folders on disk, separated by ':'
    #[arg(long, global = true, value_name = "DIRS")]
    basemodulepath: Option<String>,
    /// Whose behaviour and defaults count
    #[arg(long, global = true, value_name = "7|8")]
    puppet: Option<PuppetVersion>,
    /// Whose rules count: those of Hiera 3 by itself, or Puppet's Hiera 5 [default: as hiera.yaml looks]
    #[arg(long, global = true, value_name = "3|5|auto|by-version", hide_possible_values = true)]
    hiera: Option<HieraVersion>,
    /// Threads to resolve with [default: up to one a core]
    #[arg(long, global = true, value_name = "N")]
    threads: Option<std::num::NonZeroUsize>,
    /// Read everything anew, and keep nothing of it for the next run
    #[arg(long, global = true)]
    no_cache: bool,
    /// MiB of parsed data to keep, in memory and in the git directory for the next run [default: 256]
    #[arg(long, global = true, value_name = "MIB")]
    cache_size: Option<u64>,
    /// The private key for all encrypted data, in place of those that hiera.yaml names
    #[arg(long, global = true, value_name = "FILE")]
    pkcs7_private_key: Option<PathBuf>,
    /// The certificate of that key
    #[arg(long, global = true, value_name = "FILE", requires = "pkcs7_private_key")]
    pkcs7_public_key: Option<PathBuf>,
    /// Show secrets: without it, outputs have fingerprints in their place
    #[arg(long, global = true)]
    show_secrets: bool,
    /// The key that fingerprints of secrets are made with: a file, or 64 hexadecimal digits [default: a file in the user's data
    /// directory, which is made with the first fingerprint]
    #[arg(long, global = true, value_name = "FILE", env = "HIERAD_FINGERPRINT_KEY", hide_env_values = true)]
    fingerprint_key: Option<String>,
    /// Log more; twice for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: Color,
    /// Show long reports without a pager
    #[arg(long, global = true)]
    no_pager: bool,
    #[arg(skip)]
    progress: Progress,
}

impl Global {
    /// The file with the settings, where one is named. A variable that is empty is as good as none.
    fn config(&self) -> Option<&Path> {
        self.config.as_deref().filter(|path| !path.as_os_str().is_empty())
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PuppetVersion {
    #[value(name = "7")]
    V7,
    #[value(name = "8")]
    V8,
}

impl From<PuppetVersion> for Puppet {
    fn from(version: PuppetVersion) -> Puppet {
        match version {
            PuppetVersion::V7 => Puppet::V7,
            PuppetVersion::V8 => Puppet::V8,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum HieraVersion {
    #[value(name = "3")]
    V3,
    #[value(name = "5")]
    V5,
    Auto,
    ByVersion,
}

impl From<HieraVersion> for Reader {
    fn from(version: HieraVersion) -> Reader {
        match version {
            HieraVersion::V3 => Reader::Hiera3,
            HieraVersion::V5 => Reader::Puppet,
            HieraVersion::Auto => Reader::Auto,
            HieraVersion::ByVersion => Reader::ByVersion,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what changes in effective values between two revisions
    Diff(Later<diff::Arguments>),
    /// Write the effective values of every node
    Render(Later<render::Arguments>),
    /// Put snapshots on a git reference, a commit for each commit of a branch
    ///
    /// On refs/hierad/snapshots/BRANCH each commit has a file NODE.json for every node, the author and date of the commit that it is of,
    /// and names that in the trailer Hierad-Commit. So `git log -p`, `git diff` and `git blame` tell who changed which value.
    Export(Later<export::Arguments>),
    /// Look keys up on one node, as `puppet lookup` does
    ///
    /// Unlike `puppet lookup` it shows a fingerprint in the place of a secret, unless --show-secrets asks for it.
    #[command(args_override_self = true)]
    Lookup(Later<lookup::Arguments>),
    /// Name everything that is wrong with data, hiera.yaml and profiles
    Check(Later<check::Arguments>),
    /// Compare answers with those of the Puppet on this machine
    Verify(Later<verify::Arguments>),
    /// Report each new commit on the watched branches
    Watch(Later<watch::Arguments>),
    /// Show what the daemon has not done, and have it tried again
    Queue(Later<queue::Arguments>),
    /// Install git's hooks, which tell the daemon of commits and show what a push changes
    Hooks(Later<hooks::Arguments>),
    /// Tell the daemon to look for commits now; does nothing if there is none, and never fails
    Notify,
    /// Show it all on a repository made for the purpose
    Demo(Later<demo::Arguments>),
}

/// Runs the command with the arguments of the process.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let asked_for = !error.use_stderr();
            _ = error.print();
            return if asked_for { ExitCode::SUCCESS } else { ExitCode::from(1) };
        }
    };
    fault::keep_secrets(cli.global.show_secrets);
    let log_format =
        if let Command::Watch(Later(arguments)) = &cli.command { arguments.log_format } else { log::Format::Text };
    log::start(&cli.global, log_format);
    match run(&cli) {
        Ok(Status::Done) => ExitCode::SUCCESS,
        Ok(Status::NotFound) => ExitCode::from(1),
        Ok(Status::Found) => ExitCode::from(2),
        Ok(Status::Unseen) => ExitCode::from(3),
        // A reader that has seen enough, such as `head`, is no failure.
        Err(failure) if is_broken_pipe(&*failure) => ExitCode::SUCCESS,
        Err(failure) => {
            log::fail(log_format, &describe(&*failure));
            ExitCode::from(1)
        }
    }
}

fn run(cli: &Cli) -> Result {
    match &cli.command {
        Command::Diff(Later(arguments)) => diff::run(&cli.global, arguments),
        Command::Render(Later(arguments)) => render::run(&cli.global, arguments),
        Command::Export(Later(arguments)) => export::run(&cli.global, arguments),
        Command::Lookup(Later(arguments)) => lookup::run(&cli.global, arguments),
        Command::Check(Later(arguments)) => check::run(&cli.global, arguments),
        Command::Verify(Later(arguments)) => verify::run(&cli.global, arguments),
        Command::Watch(Later(arguments)) => watch::run(&cli.global, arguments),
        Command::Queue(Later(arguments)) => queue::run(&cli.global, arguments),
        Command::Hooks(Later(arguments)) => hooks::run(&cli.global, arguments),
        Command::Notify => Ok(notify::run(&cli.global)),
        Command::Demo(Later(arguments)) => demo::run(&cli.global, arguments),
    }
}

fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut error = Some(error);
    while let Some(cause) = error {
        if cause.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe) {
            return true;
        }
        error = cause.source();
    }
    false
}
