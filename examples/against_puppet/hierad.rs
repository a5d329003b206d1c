//! hierad, the program under test.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::answers::{self, Answers};
use super::json::Json;
use super::{Args, Fault, process};

/// The program, and how to call it.
#[derive(Debug, Clone)]
pub(crate) struct Hierad(PathBuf);

impl Hierad {
    /// The one of the arguments, or the one built beside this program.
    pub(crate) fn find(args: &Args) -> Result<Hierad, Fault> {
        let beside = || -> Option<PathBuf> {
            let examples = std::env::current_exe().ok()?;
            Some(examples.parent()?.parent()?.join("hierad"))
        };
        let path = args.hierad.clone().or_else(beside).ok_or("where is hierad?")?;
        if path.is_file() {
            return Ok(Hierad(path.canonicalize()?));
        }
        Err(format!("{} is not there; build it, or name one with --hierad", path.display()).into())
    }

    fn command(&self, name: &str, repository: &Path, profiles: &Path, version: u8) -> Command {
        let mut command = Command::new(&self.0);
        command.env_remove("HIERAD_CONFIG").arg(name).arg("--repo").arg(repository).arg("--profiles").arg(profiles);
        command.arg("--puppet").arg(version.to_string());
        command
    }

    /// Its answers for one revision.
    pub(crate) fn render(
        &self,
        repository: &Path,
        profiles: &Path,
        version: u8,
        revision: &str,
    ) -> Result<Answers, Fault> {
        let mut command = self.command("render", repository, profiles, version);
        let text = process::output(command.args(["--format", "ndjson", revision]))?;
        text.lines().map(|line| answers::node(&Json::read(line)?)).collect()
    }

    /// Its difference of two revisions, as it prints it.
    pub(crate) fn diff(
        &self,
        repository: &Path,
        profiles: &Path,
        version: u8,
        range: [&str; 2],
    ) -> Result<Json, Fault> {
        let mut command = self.command("diff", repository, profiles, version);
        let text = process::output(command.args(["--format", "json"]).args(range))?;
        Ok(Json::read(&text)?)
    }
}
