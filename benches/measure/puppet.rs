//! The same work done by the real Puppet, through `src/verify/resolve.rb`, with `HIERAD_BENCH_RESOLVE=1`.
//!
//! It is the installed Puppet, or the one whose library is in the folder `PUPPET8_LIB` (see `tests/puppet/install`).

use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::program::{Result, Subject, finish};
use super::{Spread, Times};

/// The most time that Puppet is given for more runs than one.
const ENOUGH: Duration = Duration::from_mins(1);
const RUNS: usize = 3;

const RESOLVE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/verify/resolve.rb");

/// A Puppet.
pub(crate) struct Puppet {
    library: Option<PathBuf>,
}

impl Puppet {
    /// Returns the Puppet that the environment asks for, or `None` if it asks for none.
    pub(crate) fn named() -> Option<Puppet> {
        std::env::var_os("HIERAD_BENCH_RESOLVE")?;
        Some(Puppet { library: std::env::var_os("PUPPET8_LIB").map(PathBuf::from) })
    }

    /// The time that both revisions of a diff take, in milliseconds.
    pub(crate) fn both(&self, subject: &Subject, before: &str, after: &str) -> Result<Spread> {
        let temporary = tempfile::tempdir()?;
        let folders = ["before", "after"].map(|name| temporary.path().join(name));
        subject.check_out(before, &folders[0])?;
        subject.check_out(after, &folders[1])?;
        let resolve = || folders.iter().try_for_each(|folder| self.resolve(subject, folder, None));
        Ok(Times::once_or_more(RUNS, ENOUGH, resolve)?.spread())
    }

    /// The time that both revisions would take on a fleet of `nodes`, in milliseconds: what Puppet takes for the first
    /// of them once, and for each other one a `sample`th of what the next `sample` take.
    pub(crate) fn scaled(&self, subject: &Subject, revision: &str, sample: usize, nodes: usize) -> Result<Spread> {
        let temporary = tempfile::tempdir()?;
        let folder = temporary.path().join("data");
        subject.check_out(revision, &folder)?;
        let first = |count: usize| {
            let resolve = || self.resolve(subject, &folder, Some(count));
            Times::once_or_more(RUNS, ENOUGH, resolve).map(|times| times.spread())
        };
        let (one, more) = (first(1)?, first(1 + sample)?);
        #[expect(clippy::cast_precision_loss, reason = "numbers of nodes are small")]
        let others = (nodes - 1) as f64 / sample as f64;
        Ok(more.against(&one, "ms", |more, one| 2.0 * (one + (more - one) * others)))
    }

    /// Resolves every key on every profile, or on the first `limit`, in one process.
    fn resolve(&self, subject: &Subject, folder: &Path, limit: Option<usize>) -> Result<()> {
        let request = json!({"repo": folder, "profiles": &subject.profiles, "keys": null, "limit": limit});
        let mut file = tempfile::tempfile()?;
        writeln!(file, "{request}")?;
        file.rewind()?;
        let mut ruby = Command::new("ruby");
        ruby.arg(RESOLVE).stdin(file).stdout(Stdio::null()).stderr(Stdio::piped());
        if let Some(library) = &self.library {
            ruby.arg("--puppet-lib").arg(library);
        }
        let child = ruby.spawn()?;
        finish(&ruby, child)
    }
}
