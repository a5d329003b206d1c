//! Puppet, or Hiera 3 by itself, in a Ruby process that answers request by request.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use super::Code;
use super::compare::Answer;
use super::stage::{Stage, Staged};
use crate::app::Result;
use crate::disk::is_of_work_tree;
use crate::functions::bridge::WATCH;
use crate::hiera::merge::Strategy;
use crate::node::{NodeId, NodeProfile};
use crate::process::without_tokens;
use crate::puppet::json;
use crate::value::{Hash, Value};

/// The reference that hierad is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reference {
    /// Puppet.
    #[default]
    Puppet,
    /// Hiera 3 by itself, for a repository of Hiera 3.
    Hiera3,
}

impl Reference {
    /// Returns the error message for a reference that is not installed.
    fn absent(self, ruby: &Path, error: &dyn std::fmt::Display) -> String {
        let ruby = ruby.display();
        match self {
            Reference::Puppet => format!("{ruby} has no Puppet that answers: {error}"),
            Reference::Hiera3 => format!(
                "this is a repository of Hiera 3, and {ruby} has no Hiera that answers: {error}; \
                 --hiera 5 compares what Puppet makes of it"
            ),
        }
    }

    /// Returns the field of the greeting that contains the version.
    fn field(self) -> &'static str {
        match self {
            Reference::Puppet => "puppet",
            Reference::Hiera3 => "hiera",
        }
    }

    /// Returns the program that asks the reference.
    fn script(self) -> &'static str {
        match self {
            Reference::Puppet => "resolve.rb",
            Reference::Hiera3 => "resolve_hiera3.rb",
        }
    }
}

/// The programs. Their headers describe requests and answers. The one for Hiera 3 needs the others.
const PROGRAMS: [(&str, &str); 4] = [
    ("watch.rb", WATCH),
    ("data_only.rb", include_str!("data_only.rb")),
    ("resolve.rb", include_str!("resolve.rb")),
    ("resolve_hiera3.rb", include_str!("resolve_hiera3.rb")),
];

/// A node and the keys to look up on it.
pub(super) struct NodeQuery {
    pub(super) node: NodeId,
    pub(super) keys: Vec<Arc<str>>,
    profile: NodeProfile,
}

impl NodeQuery {
    pub(super) fn new(node: NodeId, profile: &NodeProfile, keys: &[Arc<str>]) -> NodeQuery {
        NodeQuery { node, keys: keys.to_vec(), profile: profile.clone() }
    }
}

/// Puppet's answers by key. Keys that it does not find are missing.
pub(super) type PuppetAnswers = BTreeMap<(NodeId, Arc<str>), Answer>;

/// A running Puppet.
pub(super) struct Process {
    /// The reference.
    pub(super) reference: Reference,
    /// Its version.
    pub(super) version: String,
    /// The version of its Ruby, if it reports it.
    pub(super) ruby: Option<String>,
    /// The strategies by which keys are merged, if the settings give them.
    resolutions: Value,
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Process {
    pub(super) fn start(
        reference: Reference,
        (ruby, library): (&Path, Option<&Path>),
        code: Code,
        stage: &Stage,
    ) -> Result<Process> {
        for (name, program) in PROGRAMS {
            fs::write(stage.path(name), program)?;
        }
        let mut command = Command::new(ruby);
        command.args(["-W0", "--disable=error_highlight,did_you_mean"]).arg(stage.path(reference.script()));
        command.args((code == Code::Installed).then_some("--data-only"));
        if let Some(library) = library {
            command.arg("--puppet-lib").arg(library);
        }
        without_tokens(&mut command);
        without_tree(&mut command, &stage.path("tmp"));
        let complaints = fs::File::create(stage.path("complaints"))?;
        command.env("TMPDIR", stage.path("tmp")).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(complaints);
        let mut child = command.spawn().map_err(|error| format!("cannot run {}: {error}", ruby.display()))?;
        let requests = child.stdin.take().ok_or("Puppet has no input")?;
        let answers = BufReader::new(child.stdout.take().ok_or("Puppet has no output")?);
        let (version, resolutions) = (String::new(), Value::hash(Hash::new()));
        let mut process = Process { reference, version, ruby: None, resolutions, child, requests, answers };
        let greeting = process.request(stage, &Value::hash(Hash::from_iter([("version", true.into())])));
        let greeting = greeting.map_err(|error| reference.absent(ruby, &*error))?;
        let text = |field| greeting.get(field).and_then(Value::as_str);
        text(reference.field()).unwrap_or_default().clone_into(&mut process.version);
        process.ruby = text("ruby").map(str::to_owned);
        Ok(process)
    }

    /// Makes Hiera 3 merge the values of keys, each by its strategy.
    pub(super) fn merge<'k>(&mut self, strategies: impl Iterator<Item = (&'k Arc<str>, Strategy)>) {
        let resolution = |strategy: &Strategy| match strategy {
            Strategy::Default | Strategy::First => None,
            Strategy::Unique => Some("array".into()),
            Strategy::Hash => Some("hash".into()),
            Strategy::Deep(_) => {
                let behavior = (Value::from("behavior"), Value::from("deeper"));
                let options = strategy.options();
                let entries = options.iter().map(|(name, value)| (name.clone(), value.clone()));
                Some(Value::hash([behavior].into_iter().chain(entries).collect()))
            }
        };
        let merged = strategies.filter_map(|(key, strategy)| Some((Value::from(&**key), resolution(&strategy)?)));
        self.resolutions = Value::hash(merged.collect());
    }

    /// Returns the answers for nodes of one environment.
    pub(super) fn ask(&mut self, stage: &Stage, staged: &Staged, queries: &[NodeQuery]) -> Result<PuppetAnswers> {
        let keys_of = |query: &NodeQuery| (Value::from(&*query.profile.name), texts(&query.keys));
        let answer =
            self.request_about(stage, staged, queries, "keys_of", Value::hash(queries.iter().map(keys_of).collect()))?;
        let nodes = answer.get("nodes").and_then(Value::as_array).ok_or("Puppet gave no answers")?;
        if nodes.len() != queries.len() {
            return Err(format!("Puppet answered for {} of {} nodes", nodes.len(), queries.len()).into());
        }
        let mut answers = PuppetAnswers::new();
        for (query, node) in queries.iter().zip(nodes) {
            for (field, answer) in [("values", Answer::found as fn(&Value) -> Answer), ("errors", Answer::failed)] {
                let entries = node.get(field).and_then(Value::as_hash).into_iter().flat_map(Hash::iter);
                let keyed = entries.filter_map(|(key, value)| Some((key.as_str()?, answer(value))));
                answers.extend(keyed.map(|(key, answer)| ((query.node, key.into()), answer)));
            }
            let not_asked = node.get("not_asked").and_then(Value::as_array).unwrap_or_default();
            let keys = not_asked.iter().filter_map(Value::as_str);
            answers.extend(keys.map(|key| ((query.node, key.into()), Answer::NotAsked)));
        }
        Ok(answers)
    }

    /// Returns Puppet's explanation of the keys of the first node asked for. Hiera 3 has none.
    pub(super) fn explain(&mut self, stage: &Stage, staged: &Staged, queries: &[NodeQuery]) -> Result<String> {
        if self.reference == Reference::Hiera3 {
            return Ok(String::new());
        }
        let lookup = |query: &NodeQuery| {
            let node = Value::from(&*query.profile.name);
            Value::hash(Hash::from_iter([("node", node), ("keys", texts(&query.keys))]))
        };
        let answer = self.request_about(stage, staged, queries, "explain", queries.iter().map(lookup).collect())?;
        let explained = answer.get("explained").and_then(Value::as_array).and_then(<[Value]>::first);
        let explained = explained.ok_or("Puppet explained nothing")?;
        let part = |name: &str| explained.get(name).and_then(Value::as_str).unwrap_or_default();
        Ok(format!("{}{}", part("text"), part("error")))
    }

    fn request_about(
        &mut self,
        stage: &Stage,
        staged: &Staged,
        queries: &[NodeQuery],
        field: &str,
        content: Value,
    ) -> Result<Value> {
        let profiles = stage.path("profiles.ndjson");
        let lines: Vec<String> = queries.iter().map(|query| json::compact(&query.profile.document())).collect();
        fs::write(&profiles, lines.join("\n"))?;
        let environment = queries.first().map_or("", |query| &query.profile.environment);
        let mut request = staged.request(environment);
        request.extend([
            ("profiles", profiles.display().to_string().into()),
            ("keys", Value::array(Vec::new())),
            ("resolutions", self.resolutions.clone()),
            (field, content),
        ]);
        self.request(stage, &Value::hash(request))
    }

    fn request(&mut self, stage: &Stage, request: &Value) -> Result<Value> {
        let mut line = String::new();
        // A process that has ended gives the reason on its standard error.
        let sent = writeln!(self.requests, "{}", json::compact(request));
        if sent.is_err() || self.answers.read_line(&mut line)? == 0 {
            let complaints = fs::read_to_string(stage.path("complaints")).unwrap_or_default();
            return Err(complaints.lines().next().unwrap_or("Puppet ended without an answer").to_owned().into());
        }
        let answer = json::parse(line.as_bytes());
        if let Some(fault) = answer.fault {
            return Err(format!("what Puppet answers cannot be read: {}", fault.text).into());
        }
        match answer.value.get("error").and_then(Value::as_str) {
            Some(error) => Err(format!("Puppet: {error}").into()),
            None => Ok(answer.value),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Hides the user's folders from a program if commits can write them: Ruby loads gems from there, and Facter runs
/// programs. Other variables are taken as the user's choice.
fn without_tree(command: &mut Command, replacement: &Path) {
    let is_of_tree = |folder: PathBuf| is_of_work_tree(&folder).unwrap_or(true);
    if env::home_dir().is_none_or(is_of_tree) {
        command.env("HOME", replacement);
    }
    for name in ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
        if env::var_os(name).map(PathBuf::from).is_some_and(is_of_tree) {
            command.env_remove(name);
        }
    }
}

fn texts(keys: &[Arc<str>]) -> Value {
    keys.iter().map(|key| Value::from(&**key)).collect()
}
