//! `hierad lookup`: keys on one node, with the flags and defaults of `puppet lookup`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::context::Context;
use super::{Failure, Global, Result, Status, output};
use crate::disclosure::Disclosure;
use crate::fleet::Fleet;
use crate::hiera::explain::{Branch, Recorder, Step};
use crate::hiera::layer::Environment;
use crate::hiera::lookup::{Hierarchies, Lookup};
use crate::hiera::merge::Strategy;
use crate::hiera::provenance::{contributions, origin};
use crate::hiera::{LookupError, Outcome};
use crate::node::{NodeProfile, read_facts};
use crate::pipeline::check::missing_function;
use crate::value::{Hash, Segment, Value, ValuePath, emit, json, ruby};

/// Arguments of `lookup`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are the flags of puppet lookup")]
pub(super) struct Arguments {
    /// The keys: the first one that is found counts
    #[arg(value_name = "KEY", required = true)]
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
    /// The environment of the node
    #[arg(long, value_name = "ENV")]
    environment: Option<String>,
    /// The merge strategy, in place of the one in `lookup_options`
    #[arg(long, value_name = "STRATEGY")]
    merge: Option<Merge>,
    /// In a repository of Hiera 3: the first value, all values (`hiera -a`), or all hashes in one (`hiera -h`)
    #[arg(long, value_name = "TYPE", conflicts_with = "merge")]
    resolution: Option<Resolution>,
    /// With --merge deep: the prefix that removes an element
    #[arg(long, value_name = "STRING")]
    knock_out_prefix: Option<String>,
    /// With --merge deep: sort merged arrays
    #[arg(long)]
    sort_merged_arrays: bool,
    /// With --merge deep: merge hashes inside of arrays
    #[arg(long)]
    merge_hash_arrays: bool,
    /// What to print where no key is found
    #[arg(long, value_name = "VALUE")]
    default: Option<String>,
    /// The type that the value must have
    #[arg(long = "type", value_name = "TYPE")]
    data_type: Option<String>,
    /// Tell which levels and files were searched, and where the value comes from
    #[arg(long)]
    explain: bool,
    /// Tell where `lookup_options` come from
    #[arg(long)]
    explain_options: bool,
    /// How to print the value
    #[arg(long, value_name = "FORMAT")]
    render_as: Option<RenderAs>,
    /// Compile a catalog first: hierad never does
    #[arg(long, short = 'c', hide = true)]
    compile: bool,
    /// Accepted for the sake of scripts
    #[arg(long, short, hide = true)]
    debug: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Merge {
    First,
    Unique,
    Hash,
    Deep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Resolution {
    Priority,
    Array,
    Hash,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RenderAs {
    S,
    Json,
    Yaml,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    let strategy = strategy(arguments)?;
    if arguments.data_type.is_some() {
        return Err("--type is not supported".into());
    }
    if arguments.compile {
        return Err("--compile is not supported: hierad never compiles a catalog; declare what manifests set under 'variables' of the node profile".into());
    }
    let context = Context::open(global)?;
    let profile = profile(&context, arguments)?;
    let point = context.point(&arguments.rev)?;
    let fleet = Fleet::new([profile]);
    let pipeline = context.pipeline(fleet);
    let revision = pipeline.revision(point)?;
    if arguments.resolution.is_some() && !revision.environment.is_hiera3 {
        let text = "--resolution is for repositories of Hiera 3: --hiera 3 takes this one as such; Hiera 5 has --merge";
        return Err(text.into());
    }
    let (node, _) = pipeline.fleet.iter().next().ok_or("there is no node")?;
    let scope = pipeline.fleet.scope(node);
    let hierarchies = Hierarchies::resolve(&revision.environment, scope);
    let name = &pipeline.fleet.profile(node).name;
    let disclosure = &context.disclosure;
    let subject =
        Subject { disclosure, node: name, environment: &revision.environment, hierarchies: &hierarchies, scope };
    let mut out = output::stdout();
    let status = if arguments.explain || arguments.explain_options {
        subject.explain(arguments, strategy.as_ref(), &mut out)?
    } else {
        subject.print(arguments, strategy.as_ref(), &mut out)?
    };
    out.flush()?;
    Ok(status)
}

struct Subject<'a> {
    disclosure: &'a Disclosure,
    node: &'a str,
    environment: &'a Environment,
    hierarchies: &'a Hierarchies,
    scope: &'a crate::hiera::scope::NodeScope,
}

impl Subject<'_> {
    fn print(&self, arguments: &Arguments, strategy: Option<&Strategy>, out: &mut dyn Write) -> Result {
        let lookup = Lookup::new(self.environment, self.hierarchies, self.scope);
        for key in &arguments.keys {
            match lookup.get(key, strategy) {
                Outcome::Found(value) => {
                    let value = self.disclosure.value(&value);
                    out.write_all(render(&value, arguments.render_as.unwrap_or(RenderAs::Yaml)).as_bytes())?;
                    return Ok(Status::Done);
                }
                Outcome::Failed(error) => return Err(failure(key, &self.disclosure.error(&error))),
                Outcome::NotFound => {}
            }
        }
        let Some(default) = &arguments.default else {
            let keys: Vec<String> = arguments.keys.iter().map(|key| format!("'{key}'")).collect();
            anstream::eprintln!("hierad: no data for {} on {}", keys.join(", "), self.node);
            for absent in arguments.keys.iter().filter_map(|key| self.environment.absent_module(key)) {
                anstream::eprintln!(
                    "{}: module {} is not in the modulepath: its data is not searched",
                    absent.place,
                    absent.name
                );
            }
            return Ok(Status::NotFound);
        };
        let format = arguments.render_as.unwrap_or(RenderAs::Yaml);
        let default = match lookup.hiera3() {
            Some(engine) => {
                let value = engine.and_then(|engine| engine.default_value(default));
                value.map_err(|error| failure(default, &self.disclosure.error(&error)))?
            }
            None => default.as_str().into(),
        };
        out.write_all(render(&self.disclosure.value(&default), format).as_bytes())?;
        Ok(Status::Done)
    }

    fn explain(&self, arguments: &Arguments, strategy: Option<&Strategy>, out: &mut dyn Write) -> Result {
        for key in &arguments.keys {
            let recorder = Recorder::default();
            let outcome =
                Lookup::new(self.environment, self.hierarchies, self.scope).explained_by(&recorder).get(key, strategy);
            let explained = self.disclosure.step(recorder.finish());
            if arguments.explain_options {
                let options = explained.steps().filter(|step| is_options(step));
                options.into_iter().try_for_each(|step| write!(out, "{step}"))?;
                continue;
            }
            explained.steps().filter(|step| !is_options(step)).try_for_each(|step| write!(out, "{step}"))?;
            match outcome {
                Outcome::Found(value) => {
                    write_origins(key, &self.disclosure.value(&value), &explained, out)?;
                    return Ok(Status::Done);
                }
                Outcome::Failed(error) => writeln!(out, "Lookup failed: {}", self.disclosure.error(&error))?,
                Outcome::NotFound => writeln!(out, "Function lookup() did not find a value for the name '{key}'")?,
            }
        }
        Ok(Status::Done)
    }
}

/// Which file and line each leaf of a value is from; a dotted key's are not traced.
fn write_origins(key: &str, value: &Value, explained: &Step, out: &mut dyn Write) -> std::io::Result<()> {
    if key.contains('.') {
        return Ok(());
    }
    let contributions = contributions(explained, key);
    let mut lines = Vec::new();
    origins(value, &ValuePath::default(), &mut |path| {
        let from = origin(&contributions, value, path);
        lines.extend(from.map(|from| format!("  {}  {} ({})\n", path.below(key), from.place, from.level)));
    });
    if !lines.is_empty() {
        write!(out, "Where it comes from\n{}", lines.concat())?;
    }
    Ok(())
}

fn is_options(step: &Step) -> bool {
    matches!(&step.branch, Some(Branch::Key(key)) if **key == *crate::hiera::options::LOOKUP_OPTIONS)
}

/// Calls `visit` for every leaf of `value`.
fn origins(value: &Value, path: &ValuePath, visit: &mut dyn FnMut(&ValuePath)) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(i, item)| origins(item, &path.child(Segment::Index(i)), visit));
        }
        Value::Hash(hash) if !hash.is_empty() => {
            hash.iter().for_each(|(k, v)| origins(v, &path.child(Segment::Key(k.clone())), visit));
        }
        _ => visit(path),
    }
}

fn failure(key: &str, error: &LookupError) -> Failure {
    let hint = match missing_function(&error.text) {
        Some(name) => format!("; declare what '{name}' finds under 'backends' in hierad.yaml"),
        None => String::new(),
    };
    format!("lookup of '{key}' failed: {error}{hint}").into()
}

fn render(value: &Value, format: RenderAs) -> String {
    match format {
        RenderAs::S => format!("{}\n", ruby::to_s(value)),
        RenderAs::Json => format!("{}\n", json::compact(value)),
        RenderAs::Yaml => emit::document(value),
    }
}

fn strategy(arguments: &Arguments) -> Result<Option<Strategy>> {
    let mut options = Hash::new();
    if let Some(prefix) = &arguments.knock_out_prefix {
        options.insert("knockout_prefix", prefix.as_str().into());
    }
    if arguments.sort_merged_arrays {
        options.insert("sort_merged_arrays", true.into());
    }
    if arguments.merge_hash_arrays {
        options.insert("merge_hash_arrays", true.into());
    }
    let name = match arguments.merge {
        Some(Merge::Deep) => "deep",
        _ if !options.is_empty() => {
            return Err("--knock-out-prefix, --sort-merged-arrays and --merge-hash-arrays need --merge deep".into());
        }
        Some(Merge::First) => "first",
        Some(Merge::Unique) => "unique",
        Some(Merge::Hash) => "hash",
        None => match arguments.resolution {
            Some(Resolution::Priority) => "first",
            Some(Resolution::Array) => "unique",
            Some(Resolution::Hash) => "hash",
            None => return Ok(None),
        },
    };
    options.insert("strategy", name.into());
    Ok(Some(Strategy::from_option(&Value::hash(options))?))
}

/// The node's profile with the facts and the environment of the flags.
fn profile(context: &Context, arguments: &Arguments) -> Result<NodeProfile> {
    let branch = context.repository.branch()?;
    let read = context.profiles(branch.as_ref().map(crate::git::BranchName::as_str))?;
    for error in &read.errors {
        anstream::eprintln!("hierad: {error}");
    }
    let facts = |name: &str| arguments.facts.as_deref().map(|path| facts(path, name)).transpose();
    let known = |name: &str| read.nodes.iter().find(|profile| *profile.name == *name).cloned();
    let mut profile = match (&arguments.node, read.nodes.as_slice()) {
        (Some(name), _) => match (known(name), &arguments.facts) {
            (Some(profile), _) => profile,
            (None, Some(_)) => read_facts(b"{}", "--node.json", name, "production")?,
            (None, None) => return Err(unknown_node(name, &read.nodes)),
        },
        (None, [only]) => only.clone(),
        (None, []) => facts("")?
            .filter(|profile| !profile.name.is_empty())
            .ok_or("whose data? name the node with --node, and give its facts with --facts FILE or --profiles")?,
        (None, _) => return Err("name the node with --node".into()),
    };
    let given = facts(&profile.name)?.map(|given| given.facts);
    for (name, value) in given.unwrap_or_default() {
        profile.facts.insert(name, value);
    }
    if let Some(environment) = &arguments.environment {
        profile.environment = environment.as_str().into();
    }
    Ok(profile)
}

fn facts(path: &Path, name: &str) -> Result<NodeProfile> {
    let content = std::fs::read(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    Ok(read_facts(&content, &path.display().to_string(), name, "production")?)
}

fn unknown_node(name: &str, profiles: &[NodeProfile]) -> Failure {
    if profiles.is_empty() {
        return format!("there are no node profiles: give the facts of '{name}' with --facts FILE, or use --profiles")
            .into();
    }
    let near = profiles.iter().find(|profile| profile.name.contains(name) || name.contains(&*profile.name));
    let hint = near.map(|profile| format!("; did you mean {}?", profile.name)).unwrap_or_default();
    format!("there is no profile of node '{name}' among the {} there are{hint}", profiles.len()).into()
}
