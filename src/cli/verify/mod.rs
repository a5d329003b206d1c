//! `hierad verify`: compares hierad's answers with those of the Puppet that is installed on the machine.

mod report;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::arguments::inspection::{Format, Inspection};
use super::{Global, Result, Status, output};
use crate::checks::absent_hierarchies;
use crate::functions::bridge::ruby;
use crate::verify::{Code, Findings, Verifier};

/// Arguments of `verify`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    at: Inspection,
    /// Compare every key on every node
    #[arg(long)]
    all: bool,
    /// The number of pairs of a node and a key to compare
    #[arg(long, value_name = "N", default_value_t = 1000, conflicts_with = "all")]
    sample: usize,
    /// The seed of the sample: the same seed compares the same pairs [default: from the clock]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The Ruby that has Puppet or OpenVox [default: the one that `puppet` runs with]
    #[arg(long, value_name = "PATH")]
    puppet_ruby: Option<PathBuf>,
    /// Let Puppet run Ruby of the repository and its modules; without this, keys that need it are not compared
    #[arg(long)]
    run_code: bool,
    /// A folder with Puppet's library, in place of the one that Ruby finds
    #[arg(long, value_name = "DIR")]
    puppet_lib: Option<PathBuf>,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    let findings = findings(global, arguments)?;
    let mut out = output::stdout();
    match arguments.at.format {
        Format::Text => report::write_text(&findings, &mut out)?,
        Format::Json => report::write_json(&findings, &mut out)?,
    }
    out.flush()?;
    Ok(match (findings.disagreements.is_empty(), findings.is_complete()) {
        (false, _) => Status::Found,
        (true, true) => Status::Done,
        (true, false) => Status::Unseen,
    })
}

/// Compares a sample of the last commit's answers, and returns the result in one line, or `None` if there is no
/// Puppet on the machine.
pub(super) fn sample(global: &Global, sample: usize) -> Option<Result<String>> {
    let at = Inspection { revision: "HEAD".to_owned(), format: Format::Text };
    let arguments =
        Arguments { at, all: false, sample, seed: Some(1), puppet_ruby: None, run_code: false, puppet_lib: None };
    ruby::has_puppet().then(|| findings(global, &arguments).map(|findings| report::in_short(&findings)))
}

fn findings(global: &Global, arguments: &Arguments) -> Result<Findings> {
    let mut workspace = global.open()?;
    workspace.compares_secrets = true;
    // Puppet is asked as by `puppet lookup`, and not as by manifests.
    workspace.settings.reads_manifests = false;
    let _progress = global.show_progress(&workspace);
    let code = if arguments.run_code { Code::All } else { Code::Installed };
    let verifier = Verifier::start(arguments.puppet_ruby.as_deref(), arguments.puppet_lib.as_deref(), code)?;
    let mut warnings = verifier.adopt(&mut workspace.settings);
    let point = workspace.point(&arguments.at.revision)?;
    let branch = workspace.branch(&arguments.at.revision)?;
    let pipeline = global.pipeline(&workspace, branch.as_ref(), &[point], &|_| true)?;
    let revision = pipeline.revision(point)?;
    if revision.environment.is_hiera3 {
        warnings.clear();
    }
    warnings.splice(..0, absent_hierarchies(&revision.environment).map(|warning| warning.to_string()));
    for warning in &warnings {
        global.progress.print(warning);
    }
    let sample = (!arguments.all).then(|| (arguments.sample, arguments.seed.unwrap_or_else(seed_of_clock)));
    verifier.findings(workspace, pipeline, (point, revision), sample)
}

fn seed_of_clock() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(1, |now| now.as_secs())
}
