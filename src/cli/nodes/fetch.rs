//! `hierad nodes fetch`.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::output::log;
use crate::cli::{Global, Result, Status, output};
use crate::disclosure::is_clear_secret;
use crate::disk::replace;
use crate::disk::{self, FileMode};
use crate::fleet::Fleet;
use crate::inventory::FactNames;
use crate::node::{Keepsake, LeftOut, Wanted};
use crate::pattern::{Pattern, any};
use crate::puppet::json;
use crate::report::count;
use crate::value::{Segment, Value, ValuePath};

/// Arguments of `nodes fetch`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The revision whose hiera.yaml and data say which facts are read; '.' is the checked-out files
    #[arg(value_name = "REV", default_value = "HEAD")]
    revision: String,
    /// The file to write, or - for standard output [default: nodes-DATE.ndjson]
    #[arg(long, short, value_name = "FILE|-")]
    output: Option<PathBuf>,
    /// Write all facts, even those that nothing reads yet
    #[arg(long)]
    all_facts: bool,
    /// Variables to treat as secrets, too: names such as `facts.vault.*`, globs or re:EXPRESSION; may be repeated
    #[arg(long, value_name = "PATTERN")]
    secret: Vec<Pattern>,
    /// The permissions of the file, in octal: 0644 lets all users of the machine read it
    #[arg(long, value_name = "MODE", default_value = "0600", value_parser = super::super::render::mode)]
    mode: FileMode,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    let workspace = global.open()?;
    let progress = global.show_progress(&workspace);
    let point = workspace.point(&arguments.revision)?;
    let facts = if arguments.all_facts { FactNames::All(()) } else { super::facts_of_head(&workspace) };
    for (_, answer) in super::inventory(&workspace)?.fetch(&facts) {
        answer?;
    }
    let pipeline = super::pipeline(global, &workspace, point)?;
    // Some variables are seen to be read only when values are looked up.
    let revision = pipeline.revision(point)?;
    drop(pipeline.effective(&revision, revision.keys.iter()));
    let (lines, left_out) = lines(&pipeline.fleet, &revision.fleet.wanted(), arguments);
    pipeline.fleet_has_stayed()?;
    workspace.save();
    drop(progress);
    print_left_out(&left_out);
    let date = jiff::Zoned::now().strftime("%Y-%m-%d").to_string();
    let path = arguments.output.clone().unwrap_or_else(|| PathBuf::from(format!("nodes-{date}.ndjson")));
    if path.as_os_str() == "-" {
        let mut out = output::stdout();
        out.write_all(&lines)?;
        out.flush()?;
    } else {
        write(&path, &lines, arguments.mode)?;
        log::print(&format_args!("{} in {}", count(pipeline.fleet.len(), "node"), path.display()));
    }
    Ok(Status::Done)
}

fn write(path: &Path, content: &[u8], mode: FileMode) -> Result<bool> {
    disk::check_output(path)?;
    replace(path, content, mode).map_err(|error| format!("cannot write {}: {error}", path.display()).into())
}

/// Returns the profiles with everything that is read, one per line, and the places that are left out.
fn lines(fleet: &Fleet, read: &Wanted, arguments: &Arguments) -> (Vec<u8>, LeftOut) {
    let wanted = if arguments.all_facts { Wanted::whole() } else { read.clone().with_catalogs() };
    let is_secret = |names: &[&str], value: &Value| is_secret(&arguments.secret, names, value);
    let keepsake = Keepsake { read, keeps_all: arguments.all_facts, is_secret: &is_secret };
    let (mut lines, mut left_out) = (String::new(), LeftOut::default());
    for profile in fleet.profiles_with(&fleet.all(), &wanted).values() {
        json::write(&keepsake.of(profile, &mut left_out).document(), &mut lines);
        lines.push('\n');
    }
    (lines.into_bytes(), left_out)
}

/// Returns true if a value is a secret, judging by its content and the names that lead to it.
fn is_secret(patterns: &[Pattern], names: &[&str], value: &Value) -> bool {
    let inside = if matches!(names.first(), Some(&"facts" | &"trusted")) { &names[1..] } else { names };
    let Some((first, rest)) = inside.split_first() else { return false };
    let path = ValuePath(rest.iter().map(|name| Segment::Key((*name).into())).collect());
    is_clear_secret(first, &path, value) || (!patterns.is_empty() && any(patterns, &names.join(".")))
}

/// Prints what is left out.
fn print_left_out(left_out: &LeftOut) {
    let listed = |names: &BTreeSet<String>| names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    if !left_out.volatile.is_empty() {
        log::print(&format_args!("left out, as they change by themselves: {}", listed(&left_out.volatile)));
    }
    if !left_out.secret.is_empty() {
        log::print(&format_args!(
            "left out, as they look like secrets, though they may be read: {}",
            listed(&left_out.secret)
        ));
    }
}
