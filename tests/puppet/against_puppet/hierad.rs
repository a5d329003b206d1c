//! hierad, the program under test.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::answers::{self, Answers};
use super::explain::Asked;
use super::json::Json;
use super::stage::Subject;
use super::{Args, Fault, process};

/// The program, and how to call it.
#[derive(Debug, Clone)]
pub(crate) struct Hierad(PathBuf);

/// In place of a version: that of the settings.
pub(crate) const AS_SET: u8 = 0;

impl Hierad {
    /// The one of the arguments, or the one built beside this program.
    pub(crate) fn find(args: &Args) -> Result<Hierad, Fault> {
        let beside = || -> Option<PathBuf> {
            let examples = std::env::current_exe().ok()?;
            Some(examples.parent()?.parent()?.join("hierad"))
        };
        Hierad::at(&args.hierad.clone().or_else(beside).ok_or("where is hierad?")?)
    }

    /// The program in a file.
    pub(crate) fn at(path: &Path) -> Result<Hierad, Fault> {
        if path.is_file() {
            return Ok(Hierad(path.canonicalize()?));
        }
        Err(format!("{} is not there; build it, or name one with --hierad", path.display()).into())
    }

    fn command(&self, name: &str, subject: Subject<'_>, version: u8) -> Command {
        let mut command = self.plain_command(name, subject, version);
        // Puppet shows what it decrypts, and so must the other side of the comparison.
        command.arg("--show-secrets");
        command
    }

    /// A command that shows no secrets.
    pub(crate) fn plain_command(&self, name: &str, subject: Subject<'_>, version: u8) -> Command {
        let Subject { repository, profiles, outside } = subject;
        let mut command = Command::new(&self.0);
        command.env_remove("HIERAD_CONFIG").arg(name).arg("--repo").arg(repository).arg("--profiles").arg(profiles);
        match version {
            AS_SET => {}
            3 => {
                command.args(["--hiera", "3"]);
                command.args(outside.settings.iter().flat_map(|path| ["--config".as_ref(), path.as_os_str()]));
            }
            version => drop(command.args(["--hiera", "5", "--puppet", &version.to_string()])),
        }
        command.args(outside.global.iter().flat_map(|path| ["--global-hiera-config".as_ref(), path.as_os_str()]));
        command.args(outside.basemodulepath.iter().flat_map(|path| ["--basemodulepath".as_ref(), path.as_os_str()]));
        command
    }

    /// Its answers for one revision.
    pub(crate) fn render(&self, subject: Subject<'_>, version: u8, revision: &str) -> Result<Answers, Fault> {
        let mut command = self.command("render", subject, version);
        let text = process::output(command.args(["--format", "ndjson", "--allow-blind", revision]))?;
        text.lines().map(|line| answers::node(&Json::read(line)?, subject.outside.folder())).collect()
    }

    /// Returns its explanation of a lookup.
    pub(crate) fn explain(
        &self,
        subject: Subject<'_>,
        version: u8,
        revision: &str,
        asked: &Asked,
    ) -> Result<String, Fault> {
        let mut command = self.command("lookup", subject, version);
        command.arg(if asked.only_options { "--explain-options" } else { "--explain" });
        process::output(command.args(["--rev", revision, "--node", &asked.node, "--", &asked.key]))
    }

    /// Returns true if its lookup of a key fails, in place of finding nothing.
    pub(crate) fn fails(
        &self,
        subject: Subject<'_>,
        version: u8,
        revision: &str,
        (node, key): (&str, &str),
    ) -> Result<bool, Fault> {
        let mut command = self.command("lookup", subject, version);
        match process::output(command.args(["--rev", revision, "--node", node, "--", key])) {
            Ok(_) => Ok(false),
            Err(fault) if fault.to_string().contains("hierad: no data for ") => Ok(false),
            Err(fault) if fault.to_string().contains("exit status: 1\nhierad: lookup of ") => Ok(true),
            Err(fault) => Err(fault),
        }
    }

    /// Its difference of two revisions, as it prints it.
    pub(crate) fn diff(&self, subject: Subject<'_>, version: u8, range: [&str; 2]) -> Result<Json, Fault> {
        let mut command = self.command("diff", subject, version);
        let text = process::output(command.args(["--format", "json", "--full", "--allow-blind"]).args(range))?;
        Ok(Json::read(&text)?)
    }

    /// Its difference of two revisions with more `arguments`; nothing where it refuses to look.
    pub(crate) fn judge(
        &self,
        subject: Subject<'_>,
        version: u8,
        range: [&str; 2],
        arguments: &[String],
    ) -> Result<Option<Json>, Fault> {
        let mut command = self.command("diff", subject, version);
        command.args(["--format", "json", "--allow-blind"]).args(arguments).args(range);
        match process::output(&mut command) {
            Ok(text) => Ok(Some(Json::read(&text)?)),
            Err(fault) if fault.to_string().contains("exit status: 1\nhierad: ") => Ok(None),
            Err(fault) => Err(fault),
        }
    }
}
