//! Functions that hierad does not have, as the settings declare them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::hiera::Failed;
use crate::tree::{ContentId, FileTree, begins_with, below};
use crate::value::{Hash, Value};

/// A function that the settings declare.
#[derive(Debug, Clone)]
pub enum DeclaredFunction {
    /// Finds nothing.
    NotFound,
    /// Finds these values, by key.
    Values(Arc<Hash>),
    /// A command that answers for the function.
    Command(Command),
}

/// The declared functions, by name.
pub type Backends = BTreeMap<String, DeclaredFunction>;

/// A command that answers for a function.
#[derive(Debug, Clone)]
pub struct Command {
    /// The variables that are passed to it: `role`, `facts.os.family`.
    pub scope: Arc<[String]>,
    /// The runner of the command.
    pub runner: Runner,
    /// True if the settings promise that a bridged function reads only files that begin with the path of its
    /// location.
    pub reads_path: bool,
}

/// The interface to the edge of the program, through which a command is asked.
#[derive(Debug, Clone)]
pub enum Runner {
    /// A program that answers by itself.
    Program(Arc<dyn CommandBackend>),
    /// The site's own function in Ruby, which this machine's Puppet runs.
    Bridge(Arc<dyn Bridge>),
}

/// Asks a command; the edge of the program runs it.
pub trait CommandBackend: fmt::Debug + Send + Sync {
    /// Returns the answer to `request`, a JSON object on one line. Equal requests get equal answers. The error
    /// briefly says why there is no answer.
    fn ask(&self, request: &str) -> Result<Answer, String>;
}

/// Has this machine's Puppet run a site's own functions; the edge of the program runs Puppet.
pub trait Bridge: fmt::Debug + Send + Sync {
    /// Returns the answers to some calls. Equal calls get equal answers. The errors briefly say why there is no
    /// answer.
    fn ask(&self, calls: &[Call<'_>]) -> Vec<Result<Answer, String>>;
}

/// A call of a bridged function.
pub struct Call<'a> {
    /// The key.
    pub key: Value,
    /// The other data passed to the function, except its location.
    pub fields: Hash,
    /// The path that the function is called for: relative in the repository, absolute on disk.
    pub path: Option<&'a str>,
    /// The files of the repository.
    pub tree: &'a dyn FileTree,
    /// The function's code, or `None` if this machine's Puppet has it.
    pub code: Option<&'a Code>,
    /// The files in the repository that the function may read for `path`.
    pub data: Option<&'a Folder>,
}

/// A folder of the repository, or the part of it whose names begin alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Folder {
    /// Its path as written in the configuration.
    pub path: String,
    /// Its path with all links resolved.
    pub at: String,
    /// The id of the part that this covers.
    pub id: ContentId,
    /// The name that all covered entries begin with, or `None` if all entries are covered.
    pub only: Option<String>,
}

impl Folder {
    /// Returns true if the folder covers the file at `path`, which has no links left.
    pub fn has(&self, path: &str) -> bool {
        let rest = if self.at.is_empty() { Some(path) } else { below(&self.at, path) };
        let Some(rest) = rest.map(|rest| rest.trim_start_matches('/')).filter(|rest| !rest.is_empty()) else {
            return false;
        };
        self.only.as_ref().is_none_or(|name| match rest.split_once('/') {
            Some((first, _)) => first == name,
            None => begins_with(rest, name),
        })
    }
}

/// The code of a function in one revision.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Code {
    /// The module's name, or `environment` for the environment's own code.
    pub module: String,
    /// The folder `lib` of the module.
    pub lib: Folder,
}

/// The answer of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A value, or all values for a `data_hash`.
    Found(Value),
    /// A value that the function would have interpolated, and that still has to be.
    Template(Value),
    /// There is no value.
    NotFound,
    /// The function fails.
    Failed(Failed),
    /// A function in Ruby needs another key; it is called again with the value of that key.
    Lookup(NestedLookup),
}

/// A lookup that a function makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NestedLookup {
    /// The key.
    pub key: String,
    /// The merge that the function gives: a name, a hash of options, or undef.
    pub merge: Value,
    /// True if the lookup is made by a function of Hiera 3, such as `hiera_array`.
    pub is_hiera: bool,
}

impl NestedLookup {
    /// The names of the lookup's fields.
    const FIELDS: [&str; 3] = ["key", "merge", "is_hiera"];

    /// Reads a lookup in the form that functions write, or returns `None`.
    pub fn read(value: &Value) -> Option<NestedLookup> {
        let [key, merge, is_hiera] = NestedLookup::FIELDS.map(|name| value.as_hash()?.get(name));
        let Some(Value::Boolean(is_hiera)) = is_hiera else { return None };
        Some(NestedLookup { key: key?.as_str()?.to_owned(), merge: merge?.clone(), is_hiera: *is_hiera })
    }

    /// Returns the lookup in the form that functions write.
    pub fn written(&self) -> Value {
        let values = [Value::from(&*self.key), self.merge.clone(), Value::Boolean(self.is_hiera)];
        Value::hash(NestedLookup::FIELDS.into_iter().map(Value::from).zip(values).collect())
    }
}
