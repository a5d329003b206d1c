//! Sources that add to the nodes that other sources declare: programs that are run for each node.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::{Answers, Asked, Source, program, run_blocking};
use crate::delivery::one_line;
use crate::disk;
use crate::inventory::{FactNames, FetchError};
use crate::node::CLASSES;
use crate::puppet::{json, yaml};
use crate::settings::ProgramSetting;
use crate::value::{Hash, Value};

/// The maximum number of programs that run at a time.
const MAX_RUNNING: usize = 8;

/// A kind of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A node classifier: parameters and the environment.
    Classifier,
    /// External trusted data.
    Trusted,
}

/// A program that is run for each node.
pub(super) struct Program<'s> {
    pub(super) kind: Kind,
    pub(super) setting: &'s ProgramSetting,
}

impl Source for Program<'_> {
    fn identity(&self) -> (&'static str, String) {
        let kind = match self.kind {
            Kind::Classifier => "enc",
            Kind::Trusted => "trusted-external",
        };
        (kind, format!("{}\n{:?}", self.setting.program, self.setting.arguments))
    }

    fn refresh(&self) -> Duration {
        self.setting.refresh
    }

    fn is_overlay(&self) -> bool {
        true
    }

    fn ask(&self, _: &FactNames, nodes: &[Arc<str>]) -> Result<Asked, FetchError> {
        run_blocking(async || Ok(ask(self.kind, self.setting, nodes).await)).map(Asked::Each)
    }
}

/// Asks for all of these nodes.
async fn ask(kind: Kind, setting: &ProgramSetting, nodes: &[Arc<str>]) -> Answers {
    let (mut running, mut answers) = (JoinSet::new(), Answers::new());
    for node in nodes {
        if running.len() >= MAX_RUNNING {
            answers.extend(running.join_next().await.and_then(Result::ok));
        }
        running.spawn(ask_about(kind, setting.clone(), node.clone()));
    }
    while let Some(answer) = running.join_next().await {
        answers.extend(answer.ok());
    }
    answers
}

async fn ask_about(kind: Kind, setting: ProgramSetting, node: Arc<str>) -> (Arc<str>, Result<String, String>) {
    let answer = match kind {
        Kind::Classifier => classified(&setting, &node).await,
        Kind::Trusted => trusted(&setting, &node).await,
    };
    (node, answer)
}

/// Runs a node classifier. As in Puppet, empty output means that it does not know the node.
async fn classified(setting: &ProgramSetting, node: &str) -> Result<String, String> {
    let output = program::run(setting, Path::new(&setting.program), node).await?;
    let parsed = yaml::parse(&output);
    let hash = match (&parsed.fault, &parsed.value) {
        (Some(fault), _) => return Err(format!("prints YAML with a fault in line {}: {}", fault.line, fault.text)),
        (None, Value::Undef) => return Err("prints nothing, so Puppet would not find the node".to_owned()),
        (None, Value::Hash(hash)) => hash,
        (None, _) => return Err("prints something other than a hash".to_owned()),
    };
    let entry = |name: &str| hash.get(name).cloned().filter(|value| !value.is_undef());
    let parameters = entry("parameters").unwrap_or_else(|| Value::hash(Hash::new()));
    if parameters.as_hash().is_none() {
        return Err("prints 'parameters' that are not a hash".to_owned());
    }
    let classes = entry(CLASSES).as_ref().and_then(Value::as_hash).map(classes_entry);
    let environment = entry("environment").map(|environment| ("environment", environment.to_s().into()));
    Ok(line(node, environment.into_iter().chain([("variables", parameters)]).chain(classes)))
}

/// Returns the classes of a classifier's answer with the names of the parameters that it assigns. Their values are
/// left out: nobody needs them, and they may be secrets.
fn classes_entry(classes: &Hash) -> (&'static str, Value) {
    let assigned = |parameters: &Value| -> Value {
        let assigned = parameters.as_hash().into_iter().flat_map(Hash::iter).filter(|(_, value)| !value.is_undef());
        Value::hash(assigned.map(|(name, _)| (name.clone(), Value::Boolean(true))).collect())
    };
    (CLASSES, Value::hash(classes.iter().map(|(class, parameters)| (class.clone(), assigned(parameters))).collect()))
}

/// Runs Puppet's `trusted_external_command`: a program, or all programs in a folder.
async fn trusted(setting: &ProgramSetting, node: &str) -> Result<String, String> {
    let path = Path::new(&setting.program);
    let external = if path.is_dir() {
        let mut all = Hash::new();
        for (name, program) in programs(path)? {
            all.insert(name, external(setting, &program, node).await?);
        }
        Value::hash(all)
    } else {
        external(setting, path, node).await?
    };
    let trusted = Value::hash(Hash::from_iter([("external", external)]));
    Ok(line(node, [("trusted", trusted)]))
}

async fn external(setting: &ProgramSetting, program: &Path, node: &str) -> Result<Value, String> {
    let output = program::run(setting, program, node).await?;
    let parsed = json::parse(&output);
    match parsed.fault {
        Some(fault) => Err(format!("prints JSON with a fault in line {}", fault.line)),
        None => Ok(parsed.value),
    }
}

/// Returns the programs in a folder by their names without extensions.
fn programs(folder: &Path) -> Result<BTreeMap<String, PathBuf>, String> {
    let failed = |error| format!("cannot be read: {error}");
    let mut found = BTreeMap::new();
    for entry in folder.read_dir().map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
        if path.is_file()
            && path.to_str().is_some_and(|path| disk::can_run(path).is_ok())
            && found.insert(name.to_owned(), path.clone()).is_some()
        {
            return Err(format!("has more than one '{}'", one_line(name.as_bytes())));
        }
    }
    Ok(found)
}

/// Returns a profile on one line.
fn line(node: &str, entries: impl IntoIterator<Item = (&'static str, Value)>) -> String {
    let entries = [("name", node.into())].into_iter().chain(entries);
    json::compact(&Value::hash(entries.collect::<Hash>()))
}
