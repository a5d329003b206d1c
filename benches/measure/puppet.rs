//! The same work done by the real Puppet.
//!
//! `HIERAD_BENCH_RESOLVE` names a script that has Puppet resolve every key on every profile in one process (`ruby SCRIPT --repo
//! DIR --profiles PATH`, with `--limit N` for the first N profiles only); `HIERAD_BENCH_RESOLVE_ARGS` are more arguments for it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::program::{Result, Subject, run};
use super::{Spread, Times};

/// The most time that Puppet is given for more runs than one.
const ENOUGH: Duration = Duration::from_mins(1);
const RUNS: usize = 3;

/// The script.
pub(crate) struct Puppet {
    script: PathBuf,
    arguments: String,
}

impl Puppet {
    /// The script that the environment names, if it does.
    pub(crate) fn named() -> Option<Puppet> {
        let script = std::env::var_os("HIERAD_BENCH_RESOLVE")?.into();
        Some(Puppet { script, arguments: std::env::var("HIERAD_BENCH_RESOLVE_ARGS").unwrap_or_default() })
    }

    /// The time that both revisions of a diff take, in milliseconds.
    pub(crate) fn both(&self, subject: &Subject, before: &str, after: &str) -> Result<Spread> {
        let temporary = tempfile::tempdir()?;
        let folders = ["before", "after"].map(|name| temporary.path().join(name));
        subject.check_out(before, &folders[0])?;
        subject.check_out(after, &folders[1])?;
        let resolve = || folders.iter().try_for_each(|folder| run(&mut self.command(subject, folder)));
        Ok(Times::once_or_more(RUNS, ENOUGH, resolve)?.spread())
    }

    /// The time that both revisions would take on a fleet of `nodes`, in milliseconds: what Puppet takes for the first of them
    /// once, and for each other one a `sample`th of what the next `sample` take.
    pub(crate) fn scaled(&self, subject: &Subject, revision: &str, sample: usize, nodes: usize) -> Result<Spread> {
        let temporary = tempfile::tempdir()?;
        let folder = temporary.path().join("data");
        subject.check_out(revision, &folder)?;
        let first = |count: usize| {
            let limit = count.to_string();
            let resolve = || run(self.command(subject, &folder).args(["--limit", &limit]));
            Times::once_or_more(RUNS, ENOUGH, resolve).map(|times| times.spread())
        };
        let (one, more) = (first(1)?, first(1 + sample)?);
        #[expect(clippy::cast_precision_loss, reason = "numbers of nodes are small")]
        let others = (nodes - 1) as f64 / sample as f64;
        Ok(more.against(&one, "ms", |more, one| 2.0 * (one + (more - one) * others)))
    }

    fn command(&self, subject: &Subject, folder: &Path) -> Command {
        let mut ruby = Command::new("ruby");
        ruby.arg(&self.script).arg("--repo").arg(folder).arg("--profiles").arg(&subject.profiles);
        ruby.args(self.arguments.split_whitespace());
        ruby
    }
}
