//! The variables that tell nodes apart, with the nodes that have each value. They serve to describe sets of nodes.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::fleet::Fleet;
use crate::fleet::nodes::VariableClasses;
use crate::fleet::nodes::referenced::variables;
use crate::fleet::nodes::variables::VariablePath;
use crate::hiera::layer::Environment;
use crate::node::Partition;
use crate::tree::{Target, TreeError, follow};
use crate::value::Value;

/// The maximum number of distinctions, and of values of one.
const MAX_VARIABLES: usize = 32;
const MAX_VALUES: usize = 2048;
/// The longest text that helps to describe nodes.
const MAX_TEXT: usize = 60;

/// A variable that tells nodes apart.
#[derive(Clone)]
pub struct Distinction {
    /// Its name, as people write it: `role`, `os.family`, `trusted.extensions.pp_role`.
    pub name: Arc<str>,
    /// The nodes by their values.
    pub(crate) partition: Partition,
    /// The value of each class of nodes. No two are equal.
    pub(crate) values: Vec<VariableValue>,
}

/// The value of a variable, as far as it describes a node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum VariableValue {
    /// A text, number or boolean, as text.
    Text(Arc<str>),
    /// The variable is not set.
    Unset,
    /// A value that is not shown: a secret, a long text, a float, an array or a hash.
    Other,
}

impl Distinction {
    /// Returns the distinctions that the hiera.yaml files of two revisions make, in the order in which these files read
    /// variables, followed by those of the data files at the paths `changed`.
    pub fn between(
        environments: [&Environment; 2],
        changed: &BTreeSet<String>,
        fleet: &Fleet,
    ) -> Result<Vec<Distinction>, TreeError> {
        let mut names: Vec<Arc<str>> = Vec::new();
        for environment in environments {
            let configs = environment.layers().filter_map(|layer| layer.config.as_ref().ok());
            configs.for_each(|config| names.extend(config.variables().map(Arc::from)));
        }
        let mut of_data: BTreeSet<Arc<str>> = BTreeSet::new();
        for environment in environments {
            for path in changed.iter().filter(|path| environment.has_data_file_at(path)) {
                if let Target::File(_, id) = follow(&*environment.tree, path)? {
                    of_data.extend(variables(&*environment.data_file(path, id)?).cloned());
                }
            }
        }
        names.extend(of_data);
        Ok(Distinction::of(fleet, names.iter().map(|name| &**name)))
    }

    /// Returns the distinctions that variables make, named as in data.
    pub fn of<'n>(fleet: &Fleet, names: impl IntoIterator<Item = &'n str>) -> Vec<Distinction> {
        let mut found: Vec<Distinction> = Vec::new();
        let mut seen: HashSet<VariablePath, RandomState> = HashSet::default();
        for path in names.into_iter().filter_map(VariablePath::parse) {
            if found.len() == MAX_VARIABLES {
                break;
            }
            if !seen.insert(path.clone()) {
                continue;
            }
            let classes = fleet.variable_classes(path.by_ref());
            let (full, short) = names_of(&path);
            let Some(new) = Distinction::new(&short, &path, &classes) else { continue };
            match found.iter().find(|known| known.name == new.name) {
                Some(known) if known.is_same(&new) => {}
                Some(_) if found.iter().any(|known| *known.name == *full) => {}
                Some(_) => found.push(Distinction { name: full.into(), ..new }),
                None => found.push(new),
            }
        }
        found
    }

    fn new(name: &str, path: &VariablePath, classes: &VariableClasses) -> Option<Distinction> {
        let count = classes.partition.count();
        if !(2..=MAX_VALUES).contains(&count) || count == classes.partition.class_numbers().count() {
            return None;
        }
        let (mut values, mut numbers) = (Vec::new(), Vec::with_capacity(count));
        let mut known: HashMap<VariableValue, usize, RandomState> = HashMap::default();
        for reading in &classes.readings {
            let value = if reading.is_missing(&path.segments) {
                VariableValue::Unset
            } else {
                reading.value(&path.segments).and_then(text_of).map_or(VariableValue::Other, VariableValue::Text)
            };
            numbers.push(*known.entry(value.clone()).or_insert_with(|| {
                values.push(value);
                values.len() - 1
            }));
        }
        let is_useful = values.len() > 1 && values.iter().any(|value| matches!(value, VariableValue::Text(_)));
        let partition = if values.len() == count {
            classes.partition.clone()
        } else {
            classes.partition.coarsened(&numbers, values.len())
        };
        is_useful.then(|| Distinction { name: name.into(), partition, values })
    }

    /// Returns true if both variables have the same value on each node.
    fn is_same(&self, other: &Distinction) -> bool {
        let mut pairs = self.partition.class_numbers().zip(other.partition.class_numbers());
        self.values.len() == other.values.len()
            && pairs.all(|(one, other_one)| self.values[one] == other.values[other_one])
    }
}

/// Returns a value as text if it is short and not a secret.
fn text_of(value: &Value) -> Option<Arc<str>> {
    match value {
        Value::String(text) if text.secrecy().is_none() && text.len() <= MAX_TEXT => Some((**text).into()),
        Value::Boolean(value) => Some(value.to_string().into()),
        Value::Integer(value) => Some(value.to_string().into()),
        _ => None,
    }
}

/// Returns the name of a place inside a variable, with and without `facts.` before it.
pub(super) fn names_of(path: &VariablePath) -> (String, String) {
    let segment = |segment: &Value| match segment {
        Value::String(text) if !text.is_empty() && !text.contains(['.', ' ', '\'', '"']) => (**text).to_owned(),
        Value::String(text) => format!("'{}'", &**text),
        other => other.inspect(),
    };
    let root = path.root.trim_start_matches("::").to_owned();
    let segments: Vec<String> = path.segments.iter().map(segment).collect();
    let full = [std::slice::from_ref(&root), &segments[..]].concat().join(".");
    let short = if root == "facts" && !segments.is_empty() { segments.join(".") } else { full.clone() };
    (full, short)
}
