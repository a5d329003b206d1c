//! `hierad hooks`: git's hooks that notify a daemon of commits, and that show what a push changes.
//!
//! The scripts are those of `hooks/`. They only find hierad and call `hierad hooks run`, so that they need not change
//! when hierad does.

mod folder;
mod gate;
mod judged;
mod push;
mod pushed;
mod run;
mod script;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;

use super::arguments::inspection::Format;
use super::{Global, Result, Status, output};
use crate::app::Failure;
use crate::diagnostic::describe;
use crate::disk;
use crate::git::{self, ConfigEntry, ConfigScope, Environment};
use crate::pattern::nearest;

use folder::{Slot, State};
use script::Hook;

/// Arguments of `hooks`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

impl Arguments {
    /// Returns true if the command may read data, to compare the commits of a hook.
    pub(super) fn reads_data(&self) -> bool {
        matches!(self.command, Command::Run { .. })
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Install hooks; existing ones still run, before hierad's
    Install {
        #[command(flatten)]
        change: Change,
        /// The gate, too: pre-receive, which refuses pushes to this repository that the policies do not allow
        #[arg(long)]
        gate: bool,
    },
    /// Remove hierad's hooks, and put back what was there before
    Remove(Change),
    /// Show which hooks are installed
    List {
        /// Output format
        #[arg(long, value_name = "FORMAT", default_value = "text")]
        format: Format,
    },
    /// Do what an installed hook does; for programs that manage hooks themselves
    ///
    /// post-commit, post-merge, post-rewrite and post-receive tell a daemon to look. With `git config
    /// hierad.postCommit print`, post-commit prints what the commit changes, too. pre-push prints what the push
    /// changes, which git names on standard input, and the pre-commit framework in variables. `git config
    /// hierad.prePush` can be `print`, `off`, or refuse a push: `policies` if a policy fails, `errors` if nodes get
    /// errors that had none, `changes` if any value changes. pre-receive does the same in the repository that is
    /// pushed to, by `hierad.gate`, which is `policies` by default. Exit status 2 refuses.
    Run {
        /// The hook
        hook: Hook,
        /// The arguments that git passes to it
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
        arguments: Vec<OsString>,
    },
}

#[derive(Debug, Args)]
struct Change {
    /// The hooks [default: all that are useful in the repository]
    hook: Vec<Hook>,
    /// Use the folder that core.hooksPath of the user or of the machine names, for all repositories that share it
    #[arg(long)]
    shared: bool,
    /// Continue even if a hook was changed by hand, or another hook depends on its own name
    #[arg(long)]
    force: bool,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    match &arguments.command {
        Command::Install { change, gate } => install(global, change, *gate),
        Command::Remove(change) => remove(global, change),
        Command::List { format } => list(global, *format),
        Command::Run { hook, arguments } => run::run(global, *hook, arguments),
    }
}

/// Returns the first line of a failure: the reason without the advice.
fn first_line(failure: &Failure) -> String {
    describe(&**failure).lines().next().unwrap_or_default().trim_end_matches('.').to_owned()
}

/// The names of hierad's settings in git's configuration.
const GIT_SETTINGS: [&str; 4] = [POST_COMMIT, PRE_PUSH, GATE, GATE_TIMEOUT];
const POST_COMMIT: &str = "hierad.postCommit";
const PRE_PUSH: &str = "hierad.prePush";
const GATE: &str = "hierad.gate";
const GATE_TIMEOUT: &str = "hierad.gateTimeout";

/// hierad's settings in git's configuration.
pub(super) struct GitSettings {
    /// The settings in effect.
    pub(super) known: Vec<ConfigEntry>,
    /// Messages about settings that hierad does not know.
    pub(super) unknown: Vec<String>,
}

/// Returns hierad's settings in git's configuration.
pub(super) fn git_settings(global: &Global) -> Result<GitSettings> {
    let folders = git::git_dirs(global.repo.as_deref(), &Environment::of_process())?;
    let mut found = GitSettings { known: Vec::new(), unknown: Vec::new() };
    for entry in git::config_section(&folders.own, "hierad")? {
        let known = GIT_SETTINGS.into_iter().find(|known| known.eq_ignore_ascii_case(&entry.name));
        if let Some(known) = known {
            found.known.retain(|former| former.name != known);
            found.known.push(ConfigEntry { name: known.to_owned(), ..entry });
        } else {
            let hint = hint(&entry.name, &GIT_SETTINGS);
            found.unknown.push(format!("{}: unknown setting {}{hint}", entry.origin, entry.name));
        }
    }
    Ok(found)
}

/// Returns the reason why a value of git's configuration is refused.
fn unexpected(name: &str, value: &str, known: &[&str]) -> String {
    let (last, others) = known.split_last().unwrap_or((&"", &[]));
    format!("{name} is '{value}'; expected {} or {last}{}", others.join(", "), hint(value, known))
}

/// Returns the question that names the nearest of the `known` words, or nothing.
fn hint(word: &str, known: &[&str]) -> String {
    let near = nearest(word, known.iter().copied(), 1);
    near.first().map(|near| format!(": did you mean `{near}`?")).unwrap_or_default()
}

/// Returns one of hierad's settings in git's configuration, which `git -c` overrides, or `None` if it is unset.
fn setting(global: &Global, name: &str) -> Result<Option<String>> {
    let folders = git::git_dirs(global.repo.as_deref(), &Environment::of_process())?;
    Ok(git::config_value(&folders.own, name)?.map(|setting| setting.value))
}

fn install(global: &Global, change: &Change, gate: bool) -> Result {
    let place = Place::find(global)?;
    place.check_shared(change)?;
    let program = std::env::current_exe()?;
    let program = program.to_str().ok_or("the path of this program cannot be written into a script")?;
    let mut hooks =
        if change.hook.is_empty() { Hook::usual(place.has_work_tree).to_vec() } else { change.hook.clone() };
    if gate && !hooks.contains(&Hook::PreReceive) {
        hooks.push(Hook::PreReceive);
    }
    place.refuse_generated(&hooks)?;
    let slots = place.slots(&hooks)?;
    // Install all of them, or none.
    if let Some(refusal) = slots.iter().find_map(|slot| slot.install_refusal(change.force)) {
        return Err(refusal.into());
    }
    slots.iter().try_for_each(|slot| slot.install(program))?;
    let status = place.show(&hooks)?;
    if hooks.contains(&Hook::PreReceive) {
        gate::warn_without_policies(global);
    }
    Ok(status)
}

fn remove(global: &Global, change: &Change) -> Result {
    let place = Place::find(global)?;
    place.check_shared(change)?;
    let hooks = if change.hook.is_empty() { &Hook::ALL } else { change.hook.as_slice() };
    let slots = place.slots(hooks)?;
    if let Some(refusal) = slots.iter().find_map(|slot| slot.removal_refusal(change.force)) {
        return Err(refusal.into());
    }
    slots.iter().try_for_each(Slot::remove)?;
    place.show(hooks)
}

fn list(global: &Global, format: Format) -> Result {
    let place = Place::find(global)?;
    match format {
        Format::Text => place.show(&Hook::ALL),
        Format::Json => place.show_json(),
    }
}

/// The folder in which git looks for a repository's hooks.
struct Place {
    folder: PathBuf,
    /// The scope of git's configuration that names the folder, unless it is the repository's own.
    shared: Option<String>,
    has_work_tree: bool,
}

impl Place {
    fn find(global: &Global) -> Result<Place> {
        let repository = global.overrides().repository()?;
        let has_work_tree = repository.work_dir().is_some();
        let Some(setting) = git::config_path(repository.git_dir(), "core.hooksPath")? else {
            return Ok(Place { folder: repository.common_dir().join("hooks"), shared: None, has_work_tree });
        };
        if setting.value.is_empty() {
            return Err("core.hooksPath is empty, so git runs no hooks".into());
        }
        let top = repository.work_dir().unwrap_or(repository.git_dir());
        let shared = match setting.scope {
            ConfigScope::Repository => None,
            ConfigScope::Other(name) => Some(name),
        };
        let folder = top.join(setting.value);
        disk::check_named(&folder).map_err(|error| format!("core.hooksPath: {error}"))?;
        Ok(Place { folder, shared, has_work_tree })
    }

    /// Fails if a change would affect other repositories and `--shared` is missing.
    fn check_shared(&self, change: &Change) -> Result<()> {
        match &self.shared {
            Some(scope) if !change.shared => Err(format!(
                "core.hooksPath is {} by git's {scope} settings, which other repositories share; confirm with --shared",
                self.folder.display()
            )
            .into()),
            _ => Ok(()),
        }
    }

    /// Fails if the folder is husky's, which recreates it whenever the packages of the work tree are installed.
    fn refuse_generated(&self, hooks: &[Hook]) -> Result<()> {
        let Some(husky) =
            self.folder.parent().filter(|parent| self.folder.ends_with("_") && parent.ends_with(".husky"))
        else {
            return Ok(());
        };
        let line =
            |hook: &Hook| format!("\n  {}: hierad hooks run {} \"$@\"", shown(&husky.join(hook.name())), hook.name());
        let lines: String = hooks.iter().map(line).collect();
        Err(format!(
            "{} is made by husky, which replaces it; put a line into husky's own files:{lines}",
            shown(&self.folder)
        )
        .into())
    }

    fn slots(&self, hooks: &[Hook]) -> Result<Vec<Slot>> {
        hooks.iter().map(|hook| Slot::examine(&self.folder, *hook)).collect()
    }

    fn show(&self, hooks: &[Hook]) -> Result {
        let mut out = output::stdout();
        writeln!(out, "{}", shown(&self.folder))?;
        for slot in self.slots(hooks)? {
            writeln!(out, "  {:<13} {}", slot.hook.name(), state_in_words(&slot))?;
        }
        out.flush()?;
        Ok(Status::Done)
    }

    fn show_json(&self) -> Result {
        let hook = |slot: &Slot| {
            let (state, program) = match &slot.state {
                State::Absent => ("absent", None),
                State::Installed { program, is_executable: true } => ("installed", Some(program)),
                State::Installed { program, is_executable: false } => ("not-executable", Some(program)),
                State::Changed => ("changed", None),
                State::Foreign { .. } => ("foreign", None),
            };
            let before = slot.has_previous.then(|| slot.hook.previous_name());
            json!({"name": slot.hook.name(), "state": state, "program": program, "before": before})
        };
        let hooks: Vec<_> = self.slots(&Hook::ALL)?.iter().map(hook).collect();
        let mut out = output::stdout();
        writeln!(out, "{}", json!({"schema": "hierad.hooks/1", "folder": shown(&self.folder), "hooks": hooks}))?;
        out.flush()?;
        Ok(Status::Done)
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Returns a description of a hook's state.
fn state_in_words(slot: &Slot) -> String {
    let before = slot.hook.previous_name();
    match (&slot.state, slot.has_previous) {
        (State::Absent, false) => "not installed".to_owned(),
        (State::Absent, true) => format!("not installed; the hook that was there is {before}"),
        (State::Installed { is_executable: false, .. }, _) => {
            "not executable, so git does not run it; `hierad hooks install` makes it so".to_owned()
        }
        (State::Installed { .. }, false) => "installed".to_owned(),
        (State::Installed { .. }, true) => format!("installed; runs {before} first"),
        (State::Changed, _) => "installed, and then changed by hand".to_owned(),
        (State::Foreign { .. }, false) => "not installed; there is another hook".to_owned(),
        (State::Foreign { .. }, true) => format!("not installed; there is another hook, and {before}"),
    }
}
