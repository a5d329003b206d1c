//! Digests of what a fleet has read, so that results which depend on nothing else can be used again.

use std::sync::PoisonError;

use sha1::{Digest, Sha1};

use crate::fleet::Fleet;
use crate::fleet::nodes::VariableClasses;
use crate::fleet::nodes::referenced::ReferencedVariables;
use crate::fleet::nodes::variables::VariablePath;
use crate::node::ProfileError;
use crate::value::Value;

/// A digest of the values of a variable on all nodes.
pub type VariableDigest = [u8; 20];

impl Fleet {
    /// Returns a digest of the names of the nodes.
    pub fn digest_of_names(&self) -> [u8; 20] {
        let mut digest = Sha1::new();
        self.names.iter().for_each(|name| digest.update(format!("{} {name}", name.len())));
        digest.finalize().into()
    }

    /// Returns the names of all variables that were read, with a digest of each, or `None` if one of them has no name
    /// by which it can be read again.
    pub fn variable_digests(&self) -> Option<Vec<(String, VariableDigest)>> {
        let variables = self.variables.read().unwrap_or_else(PoisonError::into_inner);
        let digest = |(path, classes): (&VariablePath, &_)| {
            let name = name_of(path);
            (VariablePath::parse(&name).as_ref() == Some(path)).then(|| (name, digest(classes)))
        };
        variables.iter().map(|(path, classes)| digest((path, &**classes))).collect()
    }

    /// Returns true if variables have these digests. Reads those that were not read yet.
    pub fn has_digests(&self, digests: &[(String, VariableDigest)]) -> Result<bool, ProfileError> {
        let mut referenced = ReferencedVariables::default();
        for (name, _) in digests {
            referenced.add_name(name);
        }
        self.read_ahead(&referenced)?;
        let has = |(name, known): &(String, VariableDigest)| {
            VariablePath::parse(name).is_some_and(|path| digest(&self.variable_classes(path.by_ref())) == *known)
        };
        Ok(digests.iter().all(has))
    }
}

/// Returns the name of a place inside a variable, as data would write it.
fn name_of(path: &VariablePath) -> String {
    let segment = |segment: &Value| match segment {
        Value::String(text) => format!(".'{}'", &**text),
        other => format!(".{}", other.inspect()),
    };
    std::iter::once(path.root.to_string()).chain(path.segments.iter().map(segment)).collect()
}

fn digest(classes: &VariableClasses) -> VariableDigest {
    let mut digest = Sha1::new();
    for reading in &classes.readings {
        let text = format!("{reading:?}");
        digest.update((text.len() as u64).to_be_bytes());
        digest.update(text);
    }
    for number in classes.partition.class_numbers() {
        digest.update((number as u64).to_be_bytes());
    }
    digest.finalize().into()
}
