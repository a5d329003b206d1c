//! `hierad policies`: what each policy would have said about the last commits.

use std::io::Write;
use std::num::NonZeroUsize;

use clap::Args;
use serde::Serialize;

use super::arguments::inspection::Format;
use super::{Global, Result, Status, output};
use crate::app::today;
use crate::git::CommitId;
use crate::pipeline::RevisionId;
use crate::pipeline::policy_trial::{Trial, TriedRule};
use crate::policy::AbsentPattern;
use crate::report::count;
use crate::visible::{visible, visible_json};

/// The version of the JSON form.
const SCHEMA: &str = "hierad.policies/1";

/// The maximum number of characters shown of the last hit.
const MAX_HIT: usize = 100;

/// The maximum number of unresolved commits whose reasons are shown.
const MAX_UNRESOLVED: usize = 3;

/// Arguments of `policies`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The last commit to try policies on
    #[arg(value_name = "REV", default_value = "HEAD")]
    revision: String,
    /// The number of commits to try policies on; only those that changed data count
    #[arg(long, value_name = "N", default_value = "100")]
    commits: NonZeroUsize,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    let workspace = global.open()?;
    let progress = global.show_progress(&workspace);
    let RevisionId::Commit(tip) = workspace.point(&arguments.revision)? else {
        return Err("policies are tried on commits: name the last one, such as HEAD".into());
    };
    let policies = workspace.policies_to_try(RevisionId::Commit(tip))?;
    if policies.rules.is_empty() {
        return Err("there are no policies to try: add some to hierad.yaml, such as policies: [{name: wide, level: \
                    warning, message: 'Many nodes change.', more_than: {nodes: 50%}}]"
            .into());
    }
    let branch = workspace.branch(&arguments.revision)?;
    let pipeline = global.pipeline(&workspace, branch.as_ref(), &[RevisionId::Commit(tip)], &|_| true)?;
    let trial = pipeline.try_policies(&policies, tip, arguments.commits.get(), today());
    drop(progress);
    let mut out = output::stdout();
    match arguments.format {
        Format::Text => text(&trial, tip, &mut out)?,
        Format::Json => json(&trial, tip, &mut out)?,
    }
    out.flush()?;
    workspace.save();
    Ok(Status::Done)
}

fn text(trial: &Trial, tip: CommitId, out: &mut dyn Write) -> std::io::Result<()> {
    let widest = trial.rules.iter().map(|rule| rule.name.len()).max().unwrap_or(0).max("policy".len());
    writeln!(out, "{:widest$}  level    hits  last hit", "policy")?;
    for TriedRule { name, level, hits, last } in &trial.rules {
        let last = last.as_ref().map_or_else(
            || "-".to_owned(),
            |last| {
                let id: String = last.commit.id.chars().take(8).collect();
                let text = format!("{id} {}: {}", last.commit.summary, last.found);
                if text.chars().count() > MAX_HIT {
                    text.chars().take(MAX_HIT - 1).chain(['…']).collect()
                } else {
                    text
                }
            },
        );
        writeln!(out, "{name:widest$}  {:<7}  {hits:>4}  {}", level.as_str(), visible(&last))?;
    }
    for AbsentPattern { policy, setting, pattern, near } in &trial.absent {
        let near = near.as_ref().map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        let thing = if *setting == "keys" { "key" } else { "node" };
        writeln!(out, "{}", visible(&format!("policy '{policy}': '{setting}': no {thing} matches '{pattern}'{near}")))?;
    }
    let range = trial.first.map(|first| format!(", {} to {}", first.short(), tip.short())).unwrap_or_default();
    let end = trial.end.as_ref().map(|end| format!("; no more: {end}")).unwrap_or_default();
    let looked = count(trial.looked_at, "commit");
    writeln!(out, "{} changed data of {looked} looked at{range}{}", count(trial.commits, "commit"), visible(&end))?;
    if !trial.unresolved.is_empty() {
        writeln!(out, "{} could not be resolved, and may hit any rule:", count(trial.unresolved.len(), "commit"))?;
    }
    for (commit, reason) in trial.unresolved.iter().take(MAX_UNRESOLVED) {
        writeln!(out, "  {} {}", commit.short(), visible(reason))?;
    }
    if trial.unresolved.len() > MAX_UNRESOLVED {
        writeln!(out, "  and {} more", trial.unresolved.len() - MAX_UNRESOLVED)?;
    }
    Ok(())
}

#[derive(Serialize)]
struct Wire<'a> {
    schema: &'static str,
    from: Option<String>,
    to: String,
    looked_at: usize,
    commits: usize,
    end: Option<&'a str>,
    policies: Vec<WireRule<'a>>,
    absent: Vec<WireAbsent<'a>>,
    unresolved: Vec<WireUnresolved<'a>>,
}

#[derive(Serialize)]
struct WireRule<'a> {
    policy: &'a str,
    level: &'static str,
    hits: usize,
    last: Option<WireHit<'a>>,
}

#[derive(Serialize)]
struct WireHit<'a> {
    commit: &'a str,
    summary: &'a str,
    found: &'a str,
}

#[derive(Serialize)]
struct WireUnresolved<'a> {
    commit: String,
    error: &'a str,
}

/// A pattern of a rule that matches nothing.
#[derive(Serialize)]
struct WireAbsent<'a> {
    policy: &'a str,
    setting: &'static str,
    pattern: &'a str,
    near: Option<&'a str>,
}

impl<'a> WireAbsent<'a> {
    fn new(AbsentPattern { policy, setting, pattern, near }: &'a AbsentPattern) -> WireAbsent<'a> {
        WireAbsent { policy, setting, pattern, near: near.as_deref() }
    }
}

impl<'a> WireRule<'a> {
    fn new(TriedRule { name, level, hits, last }: &'a TriedRule) -> WireRule<'a> {
        let last = last.as_ref().map(|last| WireHit {
            commit: &last.commit.id,
            summary: &last.commit.summary,
            found: &last.found,
        });
        WireRule { policy: name, level: level.as_str(), hits: *hits, last }
    }
}

fn json(trial: &Trial, tip: CommitId, out: &mut dyn Write) -> std::io::Result<()> {
    let unresolved = trial.unresolved.iter();
    let wire = Wire {
        schema: SCHEMA,
        from: trial.first.map(|first| first.to_string()),
        to: tip.to_string(),
        looked_at: trial.looked_at,
        commits: trial.commits,
        end: trial.end.as_deref(),
        policies: trial.rules.iter().map(WireRule::new).collect(),
        absent: trial.absent.iter().map(WireAbsent::new).collect(),
        unresolved: unresolved.map(|(commit, error)| WireUnresolved { commit: commit.to_string(), error }).collect(),
    };
    writeln!(out, "{}", visible_json(&serde_json::to_string_pretty(&wire)?))
}
