//! `hierad init`: from a repository that hierad has never seen to the report of its last change.
//!
//! `find` examines the repository and asks, `write` makes the settings files, and `show` fetches the nodes, asks
//! Puppet for a sample and prints a report.

mod accept;
mod ask;
mod find;
mod show;
mod write;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::{Global, Result, Status, output};
use crate::setup::PuppetDbFound;

/// Arguments of `init`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags are")]
pub(super) struct Arguments {
    /// The address of a PuppetDB, such as `https://puppetdb.example.com:8081`
    #[arg(long, value_name = "URL")]
    puppetdb: Option<String>,
    /// With --puppetdb: the file of a certificate that it accepts
    #[arg(long, value_name = "FILE", requires_all = ["puppetdb", "key"])]
    cert: Option<PathBuf>,
    /// With --puppetdb: the file of the private key of that certificate
    #[arg(long, value_name = "FILE", requires_all = ["puppetdb", "cert"])]
    key: Option<PathBuf>,
    /// With --puppetdb: the file of the certificate authorities that sign its certificate
    #[arg(long, value_name = "FILE", requires = "puppetdb")]
    ca: Option<PathBuf>,
    /// With --puppetdb: the nodes, as a filter in PQL
    #[arg(long, value_name = "PQL", requires = "puppetdb")]
    query: Option<String>,
    /// The folder with the caches of a Puppet server
    #[arg(long, value_name = "DIR")]
    puppet_cache: Option<PathBuf>,
    /// The node classifier, a program
    #[arg(long, value_name = "PROGRAM")]
    enc: Option<PathBuf>,
    /// The folder of Puppet's configuration on this machine [default: where Puppet's packages have it]
    #[arg(long, value_name = "DIR")]
    puppet_config: Option<PathBuf>,
    /// Let Puppet on this machine run the repository's functions in Ruby, with the code of its default branch
    #[arg(long)]
    run_code: bool,
    /// Do not run the Puppet on this machine, neither for its version nor to compare answers
    #[arg(long)]
    no_verify: bool,
    /// Ask no questions: take the likeliest answers
    #[arg(long, short = 'y')]
    yes: bool,
    /// Write no files, and show what would be written
    #[arg(long)]
    dry_run: bool,
    /// Replace settings files that are there
    #[arg(long)]
    force: bool,
}

impl Arguments {
    /// Returns the `PuppetDB` that flags name.
    fn puppetdb(&self) -> Option<PuppetDbFound> {
        let absolute = |path: &Option<PathBuf>| path.as_ref().map(|path| absolute(path));
        Some(PuppetDbFound {
            url: self.puppetdb.clone()?,
            cert: absolute(&self.cert),
            key: absolute(&self.key),
            ca: absolute(&self.ca),
            query: self.query.clone(),
        })
    }
}

/// Returns the path made absolute, if possible.
fn absolute(path: &std::path::Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    let overrides = global.overrides();
    let repository = overrides.repository()?;
    let top =
        repository.work_dir().ok_or("this repository is bare: run `hierad init` in a clone with files")?.to_owned();
    let mut out = output::stdout();
    let found = find::Finder { global, arguments, repository: &repository, top: &top, out: &mut out }.find()?;
    let files = write::Files::of(&found, &repository, &top);
    if arguments.dry_run {
        files.show(&mut out)?;
        out.flush()?;
        return Ok(Status::Done);
    }
    let undo = files.write(arguments, &mut out)?;
    // Settings without any known node are useless.
    let global = &global.with_profiles_of_settings();
    let ready = show::Ready::open(global).inspect_err(|_| {
        _ = undo
            .undo()
            .and_then(|()| print_row(&mut out, "undone", "the settings are unchanged, since this does not work:"));
    })?;
    ready.print_nodes(&mut out)?;
    // Functions answer key by key, so all keys on all nodes may take minutes.
    if found.functions.is_run {
        print_row(
            &mut out,
            "later",
            "`hierad check` tells of all keys, `hierad verify --run-code` compares them with Puppet's",
        )?;
    } else {
        ready.print_blind_spots(global, &mut out)?;
        if !arguments.no_verify {
            show::verify_some(global, &mut out)?;
        }
    }
    let change = ready.last_change(global)?;
    change.show(global, &mut out)?;
    if let Some(settings) = files.work_tree_settings(&top).filter(|_| !arguments.yes) {
        accept::offer(change.blind_spots(), &settings, &mut out)?;
    }
    Ok(Status::Done)
}

/// Writes a line about something, with its kind in front.
fn print_row(out: &mut dyn Write, kind: &str, text: &str) -> std::io::Result<()> {
    writeln!(out, "{kind:<11} {}", crate::visible::visible(text))?;
    out.flush()
}
