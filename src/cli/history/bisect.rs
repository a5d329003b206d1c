//! `hierad bisect`: the commits since which a key has a value on a node, or no longer has it.

use std::io::Write;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::Asked;
use super::span::{SpanArguments, divided};
use crate::cli::arguments::filter::matches_a_node;
use crate::cli::lookup::expected::read_value;
use crate::cli::output::pager::Paged;
use crate::cli::output::{HEADING, NEW, QUIET, painted};
use crate::cli::{Global, Result, Status, output};
use crate::disclosure::Disclosure;
use crate::hiera::Outcome;
use crate::hiera::key::root_of;
use crate::hiera::layer::Environment;
use crate::history::transitions::{Condition, Transition, Transitions};
use crate::pattern::Pattern;
use crate::pipeline::RevisionId;
use crate::puppet::json::compact;
use crate::puppet::types::parse_flag;
use crate::report::{author_name, count, day, shorten};
use crate::visible::{visible, visible_json};

/// The maximum number of characters of a value.
const MAX_VALUE: usize = 60;

/// The version of the JSON form.
const SCHEMA: &str = "hierad.bisect/1";

/// Arguments of `bisect`.
#[derive(Debug, Args)]
pub(in crate::cli) struct Arguments {
    /// The key, and the commits to look through: A..B, or all those up to --rev
    #[arg(value_name = "KEY|A..B", required = true)]
    words: Vec<String>,
    /// The node
    #[arg(long, value_name = "NAME")]
    node: String,
    #[command(flatten)]
    condition: ConditionArguments,
    #[command(flatten)]
    span: SpanArguments,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

/// The condition, one of these.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct ConditionArguments {
    /// Find since when the key has this value, in YAML, or no longer has it
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    is: Option<String>,
    /// Find since when the lookup fails, or no longer fails
    #[arg(long)]
    error: bool,
    /// Find since when the value has this type of Puppet's, or no longer has it
    #[arg(long = "type", value_name = "TYPE")]
    data_type: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

impl ConditionArguments {
    /// Returns the condition, its value read as `environment` reads data.
    fn condition(&self, environment: &Environment) -> Result<Condition> {
        match (&self.is, &self.data_type) {
            (Some(text), _) => Ok(Condition::Is(read_value(text, environment)?)),
            (None, Some(kind)) => Ok(Condition::Type(parse_flag(kind).map_err(|error| format!("--type: {error}"))?)),
            (None, None) => Ok(Condition::Error),
        }
    }

    /// Returns words such as `is 80` and `is not 80`.
    fn words(&self) -> [String; 2] {
        match (&self.is, &self.data_type) {
            (Some(value), _) => [format!("is {value}"), format!("is not {value}")],
            (None, Some(kind)) => [format!("is of type {kind}"), format!("is not of type {kind}")],
            (None, None) => ["fails".to_owned(), "does not fail".to_owned()],
        }
    }
}

pub(in crate::cli) fn run(global: &Global, arguments: &Arguments) -> Result {
    let (_, range) = divided(&arguments.words)?;
    let mut keys = arguments.words.iter().filter(|word| Some(word.as_str()) != range);
    let key = keys.next().ok_or("name the key")?;
    if key.contains(['*', '?']) || key.starts_with("re:") {
        return Err(format!("{key} is a pattern: name the key itself").into());
    }
    if let Some(other) = keys.next() {
        return Err(format!("{key} and {other}: name one key").into());
    }
    let workspace = global.open()?;
    let progress = global.show_progress(&workspace);
    let mut asked = Asked::open(global, workspace, &arguments.span, range)?;
    let tip = RevisionId::Commit(asked.tip());
    let condition = arguments.condition.condition(&asked.pipeline.environment(tip)?)?;
    let Some(node) = asked.pipeline.fleet.find(&arguments.node) else {
        matches_a_node(&[arguments.node.parse::<Pattern>()?], &asked.pipeline.fleet)?;
        return Err(format!("{} is a pattern: name one node", arguments.node).into());
    };
    let (history, mut commits) = asked.history()?;
    let found = history.transitions(tip, &mut commits, (key, node), &condition)?;
    let is_cut = commits.is_cut;
    drop((progress, history, commits));
    if found.commits == 0 {
        return Err("there is no commit in that range".into());
    }
    if found.changes == 0 && matches!(*found.last.0, Outcome::NotFound) {
        asked.check_keys(&[root_of(&key.as_str().into()).parse::<Pattern>()?])?;
    }
    let mut out = Paged::of(arguments.format == Format::Text, &asked.workspace, global);
    let page = Page {
        key,
        node: &arguments.node,
        words: arguments.condition.words(),
        disclosure: &asked.workspace.disclosure,
        color: output::color(global),
    };
    match arguments.format {
        Format::Text => page.text(&found, &mut out)?,
        Format::Json => page.json(&found, &mut out)?,
    }
    out.finish()?;
    asked.workspace.save();
    Asked::tell_cut(is_cut);
    if arguments.format == Format::Text {
        asked.tell_unseen()?;
    }
    Ok(if found.all.is_empty() { Status::NotFound } else { Status::Done })
}

/// The layout of the answer.
struct Page<'a> {
    key: &'a str,
    node: &'a str,
    /// Words for the condition, and for its opposite.
    words: [String; 2],
    disclosure: &'a Disclosure,
    color: bool,
}

impl Page<'_> {
    fn text(&self, found: &Transitions, out: &mut dyn Write) -> std::io::Result<()> {
        let state = self.state(found.last.1);
        let commits = count(found.commits, "commit");
        let headline = match &found.all[..] {
            [] => {
                let last = self.shown(&found.last.0);
                format!("{} on {} {state} in all of {commits}; now: {last}", self.key, self.node)
            }
            [newest, ..] => {
                let (id, all) = (newest.step.commit.id.short(), count(found.all.len(), "transition"));
                format!("{} on {} {state} since {id}: {all} in {commits}", self.key, self.node)
            }
        };
        writeln!(out, "{}", painted(self.color, HEADING, &visible(&headline)))?;
        for Transition { step, before, after } in &found.all {
            let commit = &step.commit;
            let (time, author) = (commit.time.to_string(), author_name(&commit.author));
            let id = painted(self.color, NEW, &commit.id.short());
            let about = painted(self.color, QUIET, &visible(&format!("{} {author}:", day(&time))));
            writeln!(out, "{id} {about} {}", visible(&commit.summary))?;
            let change = format!("{} -> {}", self.shown(&before.0), self.shown(&after.0));
            writeln!(out, "    {}: {}", self.state(after.1), visible(&change))?;
        }
        Ok(())
    }

    fn state(&self, holds: Option<bool>) -> &str {
        match holds {
            Some(true) => &self.words[0],
            Some(false) => &self.words[1],
            None => "cannot be known",
        }
    }

    fn shown(&self, outcome: &Arc<Outcome>) -> String {
        match &*self.disclosure.outcome(outcome) {
            Outcome::Found(value) => shorten(&compact(value), MAX_VALUE),
            Outcome::NotFound => "not found".to_owned(),
            Outcome::Failed(error) => format!("fails: {}", shorten(error.text.visible(), MAX_VALUE)),
        }
    }

    fn json(&self, found: &Transitions, out: &mut dyn Write) -> std::io::Result<()> {
        let of = |transition: &Transition| WireTransition {
            commit: transition.step.commit.id.to_string(),
            author: transition.step.commit.author.clone(),
            time: transition.step.commit.time.to_string(),
            summary: transition.step.commit.summary.clone(),
            held: transition.before.1,
            holds: transition.after.1,
            before: self.shown(&transition.before.0),
            after: self.shown(&transition.after.0),
        };
        let wire = Wire {
            schema: SCHEMA,
            key: self.key,
            node: self.node,
            condition: &self.words[0],
            holds: found.last.1,
            commits: found.commits,
            transitions: found.all.iter().map(of).collect(),
        };
        writeln!(out, "{}", visible_json(&serde_json::to_string_pretty(&wire)?))
    }
}

#[derive(Serialize)]
struct Wire<'a> {
    schema: &'static str,
    key: &'a str,
    node: &'a str,
    condition: &'a str,
    /// `null` if it is unknown.
    holds: Option<bool>,
    commits: usize,
    /// The newest first.
    transitions: Vec<WireTransition>,
}

#[derive(Serialize)]
struct WireTransition {
    commit: String,
    author: String,
    time: String,
    summary: String,
    held: Option<bool>,
    holds: Option<bool>,
    before: String,
    after: String,
}
