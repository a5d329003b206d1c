//! The `hierad` command: arguments, subcommands, printing, exit statuses and the set-up of the log.
//!
//! Each subcommand has a file with its arguments and its work. `global` has the flags of every command; it opens the
//! [`Workspace`](crate::app::Workspace) that nearly all commands begin with. Only this module prints. The parts of a
//! run, such as pipelines and the daemon, are composed by `app`.
//!
//! Exit status: 0 done, 1 failed, 2 differences or faults found, 3 no difference seen but not all could be seen, 4 a
//! policy fails, 125 the revision cannot be tested.

mod arguments;
mod bound;
mod check;
mod compare;
mod demo;
mod diff;
mod export;
mod global;
mod history;
mod hooks;
mod init;
mod job;
mod lookup;
mod nodes;
mod notify;
mod output;
mod policies;
mod progress;
mod queue;
mod render;
mod review;
mod settings;
#[cfg(feature = "tables")]
mod tables;
mod trust;
mod verify;
mod watch;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};

use crate::app::Failure;
use crate::diagnostic::describe;

use arguments::deferred::{Deferred, EveryOption, LINE};
use global::Global;

/// The format of tables, and the reason why a build that cannot write them refuses it.
const PARQUET: &str = "parquet";
const WITHOUT_TABLES: &str =
    "this hierad was built without tables: `cargo install --path . --locked --features tables`";

/// The result of a subcommand.
type Result<T = Status> = std::result::Result<T, Failure>;

/// The outcome of a subcommand that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    /// Done.
    Done,
    /// Done, but the requested data does not exist, or is not what it is expected to be.
    NotFound,
    /// Done, and differences or faults were found.
    Found,
    /// Done, and no difference was seen, but not everything could be seen.
    Unseen,
    /// Done, and a policy fails.
    Refused,
    /// Not done, as `git bisect run` is told.
    Untestable,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(match status {
            Status::Done => 0,
            Status::NotFound => 1,
            Status::Found => 2,
            Status::Unseen => 3,
            Status::Refused => 4,
            Status::Untestable => 125,
        })
    }
}

/// The end of the help: options that are not in it, and exit statuses.
const MORE: &str = "Rare options: `hierad help options`

Exit status: 0 done, 1 could not (or `lookup` found no key, or not the value of `--is`), 2 differences found (`--exit-code` of `diff`, `compare` and `review`), \
faults found (`check`) or disagreements found (`verify`), 3 no difference seen, but not all could be seen \
(`--exit-code`, `verify`), 4 a policy fails (`diff --exit-code`, `review`), 125 unknown (`lookup --is`).";

/// Shows what a commit to a Puppet Hiera data repository really does to every node.
#[derive(Debug, Parser)]
#[command(name = "hierad", version = env!("HIERAD_VERSION"), about, max_term_width = 100)]
#[command(after_help = LINE, after_long_help = MORE)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Set a repository up: find hiera.yaml, data and nodes, and write the settings
    ///
    /// Looks for hiera.yaml in the usual places, for the folders of its datadirs, and for nodes: profiles in the
    /// repository, PuppetDB, a Puppet server's cache and the node classifier that Puppet on this machine uses. Each
    /// line says what is found and what is guessed. It writes hierad.yaml at the top of the work tree. Settings that
    /// open connections or run programs go into the git directory, where no commit can change them.
    Init(Deferred<init::Arguments>),
    /// Show what changes in effective values between two revisions
    Diff(Deferred<diff::Arguments>),
    /// Show where the values of two nodes differ at one revision, and why
    ///
    /// The values of the first node stand where `diff` has those before a commit, the values of the second one where
    /// it has those after it. To compare two branches on one node: `hierad diff main dev --node NAME`.
    Compare(Deferred<compare::Arguments>),
    /// Post what a pull request changes: a comment, a check, marks on lines
    ///
    /// In CI, it takes the request from the environment of the job (GitHub Actions, GitLab CI, Actions of Gitea and
    /// Forgejo, Jenkins), and compares its last commit with the merge base. Elsewhere, name the request with flags.
    /// Keys are only read with --with-keys.
    Review(Deferred<review::Arguments>),
    /// Write the effective values of every node
    Render(Deferred<render::Arguments>),
    /// Put snapshots on a git reference, a commit for each commit of a branch
    ///
    /// Each commit on refs/hierad/snapshots/BRANCH has a file NODE.json for every node, and the author and date of
    /// the commit that it describes, which the trailer Hierad-Commit names. So `git log -p`, `git diff` and `git
    /// blame` show who changed which value.
    Export(Deferred<export::Arguments>),
    /// Look keys up on one node, as `puppet lookup` does
    ///
    /// Unlike `puppet lookup`, it shows fingerprints instead of secrets unless --show-secrets is given.
    #[command(args_override_self = true)]
    Lookup(Deferred<lookup::Arguments>),
    /// Show which commits changed keys, and how
    ///
    /// Each commit is compared with its first parent. The flags are those of `git log`.
    Log(Deferred<history::log::Arguments>),
    /// Show the commit that made each part of the present values what it is
    Blame(Deferred<history::blame::Arguments>),
    /// Find since when a key has a value on a node, or no longer has it
    ///
    /// Values flip back, so each commit is looked at, and all that change the answer are listed, the newest first.
    /// Exit status 1 if there is none.
    Bisect(Deferred<history::bisect::Arguments>),
    /// List everything that is wrong with data, hiera.yaml and profiles
    Check(Deferred<check::Arguments>),
    /// Show what each policy would have said about the last commits that changed data
    ///
    /// Each commit is compared with its first parent. The rules are those of the checked-out settings, merged or not,
    /// so numbers can be chosen before a rule is proposed. Waivers do not count.
    Policies(Deferred<policies::Arguments>),
    /// Show the nodes, where their profiles come from, and what is missing in them
    Nodes(Deferred<nodes::Arguments>),
    /// Compare answers with those of the Puppet on this machine
    Verify(Deferred<verify::Arguments>),
    /// Report each new commit on the watched branches
    Watch(Deferred<watch::Arguments>),
    /// Show nodes, keys and commits in the browser, until it is stopped
    Serve(Deferred<watch::serve::Arguments>),
    /// Show the daemon's unfinished work, and retry it
    Queue(Deferred<queue::Arguments>),
    /// Install git hooks that notify the daemon of commits and show what a push changes
    Hooks(Deferred<hooks::Arguments>),
    /// Trust all settings in the work tree, until they change
    ///
    /// Whoever proposes a commit can change the settings there, so only those about the tree and the report count.
    /// This records the present file in the git directory, with the programs of the tree that its commands name, and
    /// shows the settings that count from then on. Review them: they may run commands.
    Trust(Deferred<trust::Arguments>),
    /// Tell the daemon to look for commits now; does nothing if there is none, and never fails
    Notify(Deferred<notify::Arguments>),
    /// Show which settings count, where each is from, and what was left out for lack of trust
    Settings(Deferred<settings::Arguments>),
    /// Options that every command takes; they win over the settings. Commands that do nothing with data take only
    /// --repo, --config, --verbose, --color and --no-pager
    #[command(name = OPTIONS, hide = true, override_usage = "hierad COMMAND [OPTIONS]")]
    Options(EveryOption),
    /// Run a program that ends with the daemon
    #[command(name = bound::NAME, hide = true)]
    Bound(bound::Arguments),
    /// Show hierad at work on a sample repository
    Demo(Deferred<demo::Arguments>),
}

/// The name of the subcommand whose help has every option.
const OPTIONS: &str = "options";

impl Command {
    /// Returns false for commands that read neither data nor profiles.
    fn reads_data(&self) -> bool {
        match self {
            Command::Notify(_) | Command::Trust(_) | Command::Queue(_) | Command::Options(_) => false,
            Command::Hooks(Deferred(arguments)) => arguments.reads_data(),
            _ => true,
        }
    }
}

/// Parses the arguments of the process. A command that does nothing with data refuses flags about it.
fn parse() -> std::result::Result<Cli, clap::Error> {
    let cli = Cli::try_parse()?;
    match cli.global.of_data().filter(|_| !cli.command.reads_data()) {
        None => Ok(cli),
        Some(flag) => {
            let text = format!("unexpected argument '{flag}' found: this command does nothing with data");
            Err(Cli::command().error(ErrorKind::UnknownArgument, text))
        }
    }
}

/// Prints the options of every command.
fn print_options() -> Result {
    if let Err(help) = Cli::try_parse_from(["hierad", "help", OPTIONS]) {
        output::print_help(&help.render())?;
    }
    Ok(Status::Done)
}

/// Runs the command with the arguments of the process.
pub fn main() -> ExitCode {
    let cli = match parse() {
        Ok(cli) => cli,
        // A coloured message about wrong arguments quotes them, and a stranger may have written them.
        Err(error) if error.use_stderr() => {
            output::log::print(&error.render().to_string().trim_end());
            return lookup::expected::status_of_wrong(std::env::args_os());
        }
        Err(help) => {
            _ = output::print_help(&help.render());
            return ExitCode::SUCCESS;
        }
    };
    output::fault::keep_secrets(cli.global.show_secrets);
    let (log_format, is_daemon) = match &cli.command {
        Command::Watch(Deferred(arguments)) => (arguments.log_format, true),
        _ => (output::log::Format::Text, false),
    };
    output::log::start(&cli.global, log_format, is_daemon);
    match run(&cli) {
        Ok(status) => status.into(),
        // A reader that stops early, such as `head`, is no failure.
        Err(failure) if is_broken_pipe(&*failure) => ExitCode::SUCCESS,
        Err(failure) => {
            output::log::fail(log_format, &describe(&*failure));
            ExitCode::from(1)
        }
    }
}

fn run(cli: &Cli) -> Result {
    match &cli.command {
        Command::Init(Deferred(arguments)) => init::run(&cli.global, arguments),
        Command::Diff(Deferred(arguments)) => diff::run(&cli.global, arguments),
        Command::Compare(Deferred(arguments)) => compare::run(&cli.global, arguments),
        Command::Review(Deferred(arguments)) => review::run(&cli.global, arguments),
        Command::Render(Deferred(arguments)) => render::run(&cli.global, arguments),
        Command::Export(Deferred(arguments)) => export::run(&cli.global, arguments),
        Command::Lookup(Deferred(arguments)) => lookup::run(&cli.global, arguments),
        Command::Log(Deferred(arguments)) => history::log::run(&cli.global, arguments),
        Command::Blame(Deferred(arguments)) => history::blame::run(&cli.global, arguments),
        Command::Bisect(Deferred(arguments)) => history::bisect::run(&cli.global, arguments),
        Command::Check(Deferred(arguments)) => check::run(&cli.global, arguments),
        Command::Policies(Deferred(arguments)) => policies::run(&cli.global, arguments),
        Command::Nodes(Deferred(arguments)) => nodes::run(&cli.global, arguments),
        Command::Verify(Deferred(arguments)) => verify::run(&cli.global, arguments),
        Command::Watch(Deferred(arguments)) => watch::run(&cli.global, arguments),
        Command::Serve(Deferred(arguments)) => watch::serve::run(&cli.global, arguments),
        Command::Queue(Deferred(arguments)) => queue::run(&cli.global, arguments),
        Command::Hooks(Deferred(arguments)) => hooks::run(&cli.global, arguments),
        Command::Trust(Deferred(arguments)) => trust::run(&cli.global, arguments),
        Command::Bound(arguments) => bound::run(arguments),
        Command::Notify(_) => Ok(notify::run(&cli.global)),
        Command::Settings(Deferred(arguments)) => settings::run(&cli.global, arguments),
        Command::Options(_) => print_options(),
        Command::Demo(Deferred(arguments)) => demo::run(&cli.global, arguments),
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

#[cfg(all(test, not(feature = "tables")))]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_tables_says_which_has_them() {
        for command in ["render", "log"] {
            let parsed = Cli::try_parse_from(["hierad", command, "--format", "parquet", "--output", "x"]);
            let refused = parsed.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(refused.contains("--features tables"), "{refused}");
        }
    }
}
