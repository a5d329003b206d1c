//! `hierad lookup`: keys on one node, with the flags and defaults of `puppet lookup`.
//!
//! `expected` has what `puppet lookup` does not: an answer by the exit status, for `git bisect run`.

pub(super) mod expected;

use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::arguments::as_of::AsOf;
use super::arguments::what_if::WhatIf;
use super::output::pager::Paged;
use super::output::{HEADING, log, painted};
use super::{Global, Result, Status, output};
use crate::app::lookup::{failure, to_json};
use crate::app::{Failure, Workspace};
use crate::checks::absent_hierarchies;
use crate::diagnostic::describe;
use crate::diff::innermost;
use crate::disclosure::Disclosure;
use crate::disk;
use crate::fleet::Fleet;
use crate::git::BranchName;
use crate::hiera::explain::provenance::{contributions, origin};
use crate::hiera::explain::{Places, Recorder, Step};
use crate::hiera::key::{asks_for, root_of};
use crate::hiera::layer::Environment;
use crate::hiera::lookup::{Lookup, NodeSources, WithVariables};
use crate::hiera::merge::Strategy;
use crate::hiera::scope::NodeScope;
use crate::hiera::{LookupError, Outcome};
use crate::inventory::files::EnvironmentOfNodes;
use crate::node::{NodeId, NodeProfile, NodeSet, read_facts, trusted_names};
use crate::pattern::did_you_mean;
use crate::pipeline::RevisionId;
use crate::puppet::emit;
use crate::puppet::types::{check_type, parse_flag};
use crate::value::{Hash, Type, Value, ValuePath};
use crate::visible::{visible_json, visible_output};

use expected::Expectation;

/// Arguments of `lookup`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are the flags of puppet lookup")]
pub(super) struct Arguments {
    /// The keys: the first one that is found counts
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
    /// The node whose facts count
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// The revision; '.' is the checked-out files
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    rev: String,
    /// Facts that override the node's: a YAML or JSON file
    #[arg(long, value_name = "FILE")]
    facts: Option<PathBuf>,
    #[command(flatten)]
    as_of: AsOf,
    #[command(flatten)]
    what_if: WhatIf,
    /// The environment of the node
    #[arg(long, value_name = "ENV")]
    environment: Option<String>,
    /// The merge strategy, in place of the one in `lookup_options`
    #[arg(long, value_name = "first|unique|hash|deep")]
    merge: Option<String>,
    /// In a repository of Hiera 3: the first value, all values (`hiera -a`), or all hashes in one (`hiera -h`)
    #[arg(long, value_name = "TYPE", conflicts_with = "merge")]
    resolution: Option<Resolution>,
    /// With --merge deep: the prefix that removes an element
    #[arg(long, value_name = "STRING", allow_hyphen_values = true)]
    knock_out_prefix: Option<String>,
    /// With --merge deep: sort merged arrays
    #[arg(long)]
    sort_merged_arrays: bool,
    /// With --merge deep: merge hashes inside of arrays
    #[arg(long)]
    merge_hash_arrays: bool,
    /// The value to print if no key is found
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    default: Option<String>,
    /// The type that the value must have
    #[arg(long = "type", value_name = "TYPE")]
    data_type: Option<String>,
    /// Show which levels and files were searched, and where the value comes from
    #[arg(long)]
    explain: bool,
    /// Show where `lookup_options` come from
    #[arg(long)]
    explain_options: bool,
    #[command(flatten)]
    expectation: Expectation,
    /// Format of the value or the explanation [default: yaml for a value, s for an explanation]
    #[arg(long, value_name = "s|json|yaml")]
    render_as: Option<String>,
    /// Not supported: hierad never compiles a catalog
    #[arg(long, short = 'c', hide = true)]
    compile: bool,
    /// Has no effect; accepted for scripts that pass it to `puppet lookup`
    #[arg(long, short, hide = true)]
    debug: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Resolution {
    Priority,
    Array,
    Hash,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RenderAs {
    S,
    Json,
    Yaml,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    match look_up(global, arguments) {
        Err(failure) if arguments.expectation.is_given() => {
            log::fail(log::Format::Text, &describe(&*failure));
            Ok(Status::Untestable)
        }
        result => result,
    }
}

fn look_up(global: &Global, arguments: &Arguments) -> Result {
    let wanted = LookupRequest::of(arguments)?;
    let workspace = arguments.what_if.open(global)?;
    let (workspace, point) = arguments.as_of.at(global, workspace, &arguments.rev)?;
    let progress = global.show_progress(&workspace);
    let profile = profile(global, &workspace, arguments, point)?;
    drop(progress);
    let environment = workspace.revisions().environment(point)?;
    if arguments.resolution.is_some() && !environment.is_hiera3 {
        let text = "--resolution is for repositories of Hiera 3: --hiera 3 takes this one as such; Hiera 5 has --merge";
        return Err(text.into());
    }
    let with_variables = WithVariables::of(environment.for_scope(&NodeScope::new(&profile)), profile);
    let profile = &with_variables.profile;
    let scope = NodeScope::new(profile);
    let environment = environment.for_scope(&scope);
    let sources = with_variables.sources(environment, &scope);
    let disclosure = &workspace.disclosure;
    let subject = Subject { disclosure, node: &profile.name, environment, sources: &sources, scope: &scope };
    let explains = arguments.explain || arguments.explain_options;
    let mut out = match wanted.format {
        RenderAs::S if !explains => Paged::plain(output::bytes()),
        _ => Paged::of(explains && wanted.format == RenderAs::S, &workspace, global),
    };
    let expected = arguments.expectation.read(environment)?;
    let status = match (expected, arguments.explain, arguments.explain_options) {
        (Some(expected), ..) => subject.test(&wanted, &expected)?,
        (None, false, false) => subject.print(&wanted, &mut out)?,
        (None, explain, _) => subject.explain(&wanted, !explain, output::color(global), &mut out)?,
    };
    out.finish()?;
    for key in given_by_classifier(profile, &arguments.keys) {
        let node = &profile.name;
        log::print(&format_args!(
            "hierad: a classifier gives '{key}' on {node}: its class gets that, and not the data"
        ));
    }
    Ok(status)
}

/// Returns the keys of parameters that a classifier gives.
fn given_by_classifier<'k>(profile: &NodeProfile, keys: &'k [String]) -> Vec<&'k String> {
    let Some(given) = &profile.given else { return Vec::new() };
    let is_given = |key: &&String| given.iter().any(|name| *name == *root_of(&key.as_str().into()));
    keys.iter().filter(is_given).collect()
}

/// The request, and the format of the answer.
struct LookupRequest<'a> {
    keys: &'a [String],
    default: Option<&'a str>,
    kind: Option<Type>,
    strategy: Option<Strategy>,
    format: RenderAs,
}

impl<'a> LookupRequest<'a> {
    fn of(arguments: &'a Arguments) -> Result<LookupRequest<'a>> {
        let strategy = strategy(arguments)?;
        let only_options = arguments.explain_options && !arguments.explain;
        if arguments.keys.is_empty() && !only_options {
            return Err("No keys were given to lookup.".into());
        }
        let format = RenderAs::of(arguments)?;
        let kind =
            arguments.data_type.as_deref().map(parse_flag).transpose().map_err(|error| format!("--type: {error}"))?;
        if arguments.compile {
            return Err("--compile is not supported: hierad never compiles a catalog; declare what manifests set under 'variables' of the node profile".into());
        }
        Ok(LookupRequest { keys: &arguments.keys, default: arguments.default.as_deref(), kind, strategy, format })
    }

    /// Fails if a value is not of the wanted type.
    fn check(&self, subject: &str, value: &Value) -> std::result::Result<(), LookupError> {
        self.kind.as_ref().map_or(Ok(()), |kind| check_type(subject, value, kind).map_err(LookupError::from))
    }

    /// Writes a value. Plain text is for programs, and is written unchanged.
    fn write(&self, value: &Value, out: &mut dyn Write) -> Result<()> {
        let text = render(value, self.format);
        if self.format == RenderAs::S {
            output::refuse_commands(&text)?;
        }
        Ok(out.write_all(text.as_bytes())?)
    }
}

/// Puppet's words for the value in errors about its type.
const FOUND_VALUE: &str = "Found value";
const DEFAULT_VALUE: &str = "Default value";

struct Subject<'a> {
    disclosure: &'a Disclosure,
    node: &'a str,
    environment: &'a Environment,
    sources: &'a NodeSources<'a>,
    scope: &'a NodeScope<'a>,
}

impl Subject<'_> {
    /// Returns the answer for the first key that is found or fails, with the key. If none does, it is the default.
    fn answer<'k>(&self, wanted: &LookupRequest<'k>) -> (&'k str, Outcome) {
        let lookup = Lookup::new(self.environment, self.sources, self.scope);
        let checked = |subject: &str, value: Value| match wanted.check(subject, &value) {
            Ok(()) => Outcome::Found(value),
            Err(error) => Outcome::Failed(error),
        };
        for key in wanted.keys {
            match lookup.get(key, wanted.strategy.as_ref()) {
                Outcome::Found(value) => return (key, checked(FOUND_VALUE, value)),
                failed @ Outcome::Failed(_) => return (key, failed),
                Outcome::NotFound => {}
            }
        }
        let Some(default) = wanted.default else { return ("", Outcome::NotFound) };
        let value = match lookup.hiera3() {
            Some(engine) => engine.and_then(|engine| engine.default_value(default)),
            None => Ok(default.into()),
        };
        (default, value.map_or_else(Outcome::Failed, |value| checked(DEFAULT_VALUE, value)))
    }

    fn print(&self, wanted: &LookupRequest<'_>, out: &mut dyn Write) -> Result {
        match self.answer(wanted) {
            (_, Outcome::Found(value)) => {
                wanted.write(&self.disclosure.value(&value), out)?;
                Ok(Status::Done)
            }
            (key, Outcome::Failed(error)) => Err(failure(key, &self.disclosure.error(&error))),
            (_, Outcome::NotFound) => {
                self.print_absence(wanted);
                Ok(Status::NotFound)
            }
        }
    }

    /// Returns a line that says that no key has a value.
    fn absence(&self, wanted: &LookupRequest<'_>) -> String {
        let keys: Vec<String> = wanted.keys.iter().map(|key| format!("'{key}'")).collect();
        format!("no data for {} on {}", keys.join(", "), self.node)
    }

    /// Returns the reasons why data may exist that is not searched.
    fn unsearched(&self, wanted: &LookupRequest<'_>) -> Vec<String> {
        let modules = wanted.keys.iter().filter_map(|key| self.environment.absent_module(key));
        let of_modules = modules.map(|absent| {
            format!("{}: module {} is not in the modulepath: its data is not searched", absent.place, absent.name)
        });
        of_modules.chain(absent_hierarchies(self.environment).map(|warning| warning.to_string())).collect()
    }

    /// Prints that no key has a value, and what may be the reason.
    fn print_absence(&self, wanted: &LookupRequest<'_>) {
        log::print(&format_args!("hierad: {}", self.absence(wanted)));
        let lookup = Lookup::new(self.environment, self.sources, self.scope);
        for quoted in wanted.keys.iter().filter_map(|key| asks_for(&key.as_str().into())) {
            if matches!(lookup.get(&quoted, wanted.strategy.as_ref()), Outcome::Found(_)) {
                log::print(&format_args!("hierad: a key with dots needs quotes of its own: \"{quoted}\""));
            }
        }
        self.unsearched(wanted).iter().for_each(|reason| log::print(reason));
    }

    /// Explains how the first key is found, or that none is. A failed lookup is explained, too, and the command
    /// succeeds; a value of the wrong type makes it fail.
    fn explain(&self, wanted: &LookupRequest<'_>, only_options: bool, color: bool, out: &mut dyn Write) -> Result {
        let recorder = Recorder::default();
        let mut lookup = Lookup::new(self.environment, self.sources, self.scope).explained_by(&recorder);
        let mut keys: Vec<&str> = wanted.keys.iter().map(String::as_str).collect();
        if only_options {
            lookup = lookup.only_options();
            // Any key outside of modules will do.
            keys.extend(keys.is_empty().then_some("__global__"));
        }
        let answer = |key| match lookup.get(key, wanted.strategy.as_ref()) {
            Outcome::NotFound => None,
            answer => Some((key, answer)),
        };
        let answer = keys.iter().find_map(|key| answer(*key));
        let checked = match (&answer, wanted.default) {
            (Some((_, Outcome::Found(value))), _) => wanted.check(FOUND_VALUE, value),
            (None, Some(default)) => wanted.check(DEFAULT_VALUE, &default.into()),
            _ => Ok(()),
        };
        checked.map_err(|error| failure(&keys.join(", "), &self.disclosure.error(&error)))?;
        match &answer {
            Some((_, Outcome::Failed(error))) => recorder.text(error.text.clone()),
            None if wanted.default.is_none() => recorder.text(not_found(&keys)),
            _ => {}
        }
        let explained = self.disclosure.step(recorder.finish());
        if wanted.format != RenderAs::S {
            out.write_all(render(&explained.data(Places::Shown), wanted.format).as_bytes())?;
            if let Some((key, Outcome::Failed(error))) = &answer {
                log::print(&format_args!("hierad: {}", failure(key, &self.disclosure.error(error))));
            }
            return Ok(Status::Done);
        }
        if let Some((key, Outcome::Found(value))) = answer.filter(|_| !only_options) {
            let value = self.disclosure.value(&value);
            out.write_all(visible_output(&render(&value, RenderAs::Yaml)).as_bytes())?;
            write_origins(key, &value, &explained, color, out)?;
            writeln!(out, "{}", painted(color, HEADING, "How it was found"))?;
        }
        out.write_all(visible_output(&explained.text(Places::Shown)).as_bytes())?;
        Ok(Status::Done)
    }
}

/// Returns Puppet's text for keys without a value.
fn not_found(keys: &[&str]) -> String {
    match keys {
        [key] => format!("Function lookup() did not find a value for the name '{key}'"),
        keys => {
            let keys: Vec<String> = keys.iter().map(|key| format!("'{key}'")).collect();
            format!("Function lookup() did not find a value for any of the names [{}]", keys.join(", "))
        }
    }
}

/// Writes the file and line of each leaf of a value. Dotted keys are not traced.
fn write_origins(key: &str, value: &Value, explained: &Step, color: bool, out: &mut dyn Write) -> std::io::Result<()> {
    if key.contains('.') {
        return Ok(());
    }
    let contributions = contributions(explained, key);
    let mut lines = Vec::new();
    innermost(value, &ValuePath::default(), &mut |path, _| {
        let from = origin(&contributions, value, path);
        lines.extend(from.map(|from| format!("  {}  {} ({})\n", path.below(key), from.place, from.level)));
    });
    if !lines.is_empty() {
        let heading = painted(color, HEADING, "Where it comes from");
        write!(out, "{heading}\n{}", visible_output(&lines.concat()))?;
    }
    Ok(())
}

impl RenderAs {
    /// Returns the requested format, ignoring case.
    fn of(arguments: &Arguments) -> Result<RenderAs> {
        let explains = arguments.explain || arguments.explain_options;
        let Some(name) = arguments.render_as.as_deref().map(str::to_lowercase) else {
            return Ok(if explains { RenderAs::S } else { RenderAs::Yaml });
        };
        match &*name {
            "s" => Ok(RenderAs::S),
            "json" => Ok(RenderAs::Json),
            "yaml" => Ok(RenderAs::Yaml),
            "binary" | "msgpack" => {
                Err(format!("--render-as {name} is not supported: it writes what only programs can read; use json")
                    .into())
            }
            _ => Err(format!("Unknown rendering format '{name}'").into()),
        }
    }
}

fn render(value: &Value, format: RenderAs) -> String {
    let text = match format {
        RenderAs::S => value.to_s(),
        RenderAs::Json => visible_json(&to_json(value)).into_owned(),
        RenderAs::Yaml => yaml(value),
    };
    if text.ends_with('\n') { text } else { text + "\n" }
}

/// Returns a value as Ruby writes it in YAML. If a terminal would act on any of its characters, the value is written
/// as JSON, which is YAML, too, and escapes them.
fn yaml(value: &Value) -> String {
    let text = emit::document(value);
    match visible_output(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(_) => format!("--- {}", visible_json(&to_json(value))),
    }
}

fn strategy(arguments: &Arguments) -> Result<Option<Strategy>> {
    const HELP: &str = "Run 'hierad lookup --help' for more details";
    let Arguments { knock_out_prefix, sort_merged_arrays, merge_hash_arrays, .. } = arguments;
    let deep = arguments.merge.as_deref() == Some("deep");
    if !deep && (*sort_merged_arrays || *merge_hash_arrays || knock_out_prefix.is_some()) {
        let flags = "--knock-out-prefix, --sort-merged-arrays, and --merge-hash-arrays";
        return Err(format!("The options {flags} are only available with '--merge deep'\n{HELP}").into());
    }
    let resolution = arguments.resolution.map(|resolution| match resolution {
        Resolution::Priority => "first",
        Resolution::Array => "unique",
        Resolution::Hash => "hash",
    });
    let Some(name) = arguments.merge.as_deref().or(resolution) else { return Ok(None) };
    if !["first", "hash", "unique", "deep"].contains(&name) {
        let known = "'first', 'hash', 'unique', or 'deep'";
        return Err(format!("The --merge option only accepts {known}\n{HELP}").into());
    }
    let mut options = Hash::from_iter([("strategy", Value::from(name))]);
    if deep {
        options.insert("sort_merged_arrays", (*sort_merged_arrays).into());
        options.insert("merge_hash_arrays", (*merge_hash_arrays).into());
        options.extend(knock_out_prefix.as_ref().map(|prefix| ("knockout_prefix", prefix.as_str().into())));
    }
    Ok(Some(Strategy::from_option(&Value::hash(options))?))
}

/// Returns the node's profile with the facts and the environment that flags set.
fn profile(global: &Global, workspace: &Workspace, arguments: &Arguments, point: RevisionId) -> Result<NodeProfile> {
    // As with `puppet lookup`, the flag names the environment, so the branch does not.
    let is_given = arguments.environment.is_some();
    let branch = if is_given { None } else { workspace.branch(&arguments.rev)? };
    // What data reads matters only for values that may be misspelled.
    let points = if workspace.what_if.is_empty() { Vec::new() } else { vec![point] };
    let (fleet, errors) =
        workspace.profiles(&workspace.revisions(), branch.as_ref().map(BranchName::as_str), &points, &|_| true)?;
    for error in &errors {
        global.print_profile_error(error);
    }
    let (EnvironmentOfNodes::Declared(environment) | EnvironmentOfNodes::Fixed(environment)) =
        workspace.environment_of_nodes(branch.as_ref().map(BranchName::as_str));
    let facts = |name: &str| arguments.facts.as_deref().map(|path| facts(path, name, &environment)).transpose();
    let profile_of = |node: NodeId| fleet.profiles(&NodeSet::from_iter([node])).into_values().next();
    let mut profile = match (&arguments.node, fleet.len()) {
        (Some(name), _) => match (fleet.find(name).and_then(profile_of), &arguments.facts) {
            (Some(profile), _) => profile,
            (None, Some(_)) => read_facts(b"{}", "--node.json", name, &environment)?,
            (None, None) => return Err(unknown_node(name, &fleet)),
        },
        (None, 0) => facts("")?
            .filter(|profile| !profile.name.is_empty())
            .ok_or("name the node with --node, and give its facts with --facts FILE or --profiles")?,
        (None, 1) => profile_of(NodeId(0)).ok_or("the node profile cannot be read again")?,
        (None, _) => return Err("name the node with --node".into()),
    };
    let given_facts = facts(&profile.name)?.map(|given| given.facts).unwrap_or_default();
    // Given facts may name the node, too: its trusted facts follow from the name of its certificate.
    if let Some(certname) = given_facts.get("clientcert").and_then(Value::as_str) {
        Arc::make_mut(&mut profile.trusted).extend(trusted_names(certname));
    }
    for (name, value) in given_facts.iter() {
        Arc::make_mut(&mut profile.facts).insert(name.clone(), value.clone());
    }
    if let Some(environment) = &arguments.environment {
        profile.environment = environment.as_str().into();
    }
    // This applies even to a node without a profile, and overrides the other flags.
    arguments.what_if.put_into(&mut profile);
    Ok(profile)
}

fn facts(path: &Path, name: &str, environment: &str) -> Result<NodeProfile> {
    const TRUSTED: [&str; 4] = ["hostname", "domain", "fqdn", "clientcert"];
    let content = disk::read_named(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    let profile = read_facts(&content, &path.display().to_string(), name, environment)?;
    let overridden = TRUSTED.iter().filter(|fact| profile.facts.get(fact).is_some()).count();
    if overridden > 0 && overridden < TRUSTED.len() {
        let (facts, file) = (TRUSTED.join(","), path.display());
        return Err(format!(
            "When overriding any of the {facts} facts with {file} given via the --facts flag, they must all be overridden."
        )
        .into());
    }
    Ok(profile)
}

/// The maximum number of nodes to name in an error.
const MAX_NAMED_NODES: usize = 5;

pub(super) fn unknown_node(name: &str, fleet: &Fleet) -> Failure {
    if fleet.is_empty() {
        return format!("there are no node profiles: give the facts of '{name}' with --facts FILE, or use --profiles")
            .into();
    }
    let names = || fleet.iter().map(|(_, name)| &**name);
    let near = did_you_mean(name, names());
    let hint = if near.is_empty() && fleet.len() <= MAX_NAMED_NODES {
        format!(", only of {}", names().collect::<Vec<_>>().join(", "))
    } else {
        format!(" among the {} there are{near}", fleet.len())
    };
    format!("there is no profile of node '{name}'{hint}").into()
}
