//! Reads a hiera.yaml of any version.

use std::sync::Arc;

use super::node::Node;
use super::{Config, Owner, version3, version4, version5};
use crate::diagnostic::{Diagnostic, Place};
use crate::hiera::LookupError;
use crate::puppet::Puppet;
use crate::puppet::document::Parsed;
use crate::puppet::ruby;
use crate::puppet::yaml;
use crate::value::Value;

/// A hiera.yaml that was read.
#[derive(Debug)]
pub struct ReadConfig {
    /// The configuration, or Puppet's error; `None` if Puppet ignores the file.
    pub config: Result<Option<Arc<Config>>, LookupError>,
    /// True if it is in the form of Hiera 3.
    pub is_hiera3: bool,
    /// The findings.
    pub diagnostics: Vec<Diagnostic>,
}

impl ReadConfig {
    /// Reads `content`, which is that of the file at `path`.
    pub fn new(content: &[u8], path: &str, owner: Owner, puppet: Puppet) -> ReadConfig {
        let parsed = yaml::parse(content);
        let (is_hiera3, mut diagnostics) = (is_hiera3(&parsed), Vec::new());
        let config = parse(content, parsed, path, owner, puppet, &mut diagnostics);
        ReadConfig { config: config.map(|config| config.map(Arc::new)), is_hiera3, diagnostics }
    }
}

/// Returns true if this is a hiera.yaml for Hiera 3: of version 3 or without a version, with symbols as keys. Hiera 3
/// ignores keys that are texts.
fn is_hiera3(parsed: &Parsed) -> bool {
    let Value::Hash(hash) = &parsed.value else { return false };
    let is_symbol = |key: &Value| matches!(key, Value::Symbol(_));
    let version = [hash.get("version"), hash.get_value(&Value::Symbol("version".into()))];
    let version = version.into_iter().flatten().find(|version| version.is_truthy());
    parsed.fault.is_none()
        && hash.keys().any(is_symbol)
        && version.is_none_or(|version| matches!(version, Value::Integer(..4)))
}

/// Parses a hiera.yaml, or returns `None` if Puppet ignores the file; a diagnostic then says why.
fn parse(
    content: &[u8],
    parsed: Parsed,
    path: &str,
    owner: Owner,
    puppet: Puppet,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Option<Config>, LookupError> {
    if let Some(fault) = parsed.fault {
        return Err(LookupError::document(&fault, fault.message(path)).at(Place::line(path, fault.line)));
    }
    let version = version(&parsed.value, path)?;
    let (value, marks) = yaml::symkeys_to_string(parsed.value, parsed.marks);
    let value = filled(&version, &value);
    let source: Arc<str> = String::from_utf8_lossy(content).into();
    let file = Node::root(&value, &marks, path, &source);
    match &version {
        Value::Integer(5) => {
            file.check(version5::shape())?;
            version5::parse(&file, owner, puppet).map(Some)
        }
        Value::Integer(4) => {
            file.check(version4::shape()?)?;
            if owner == Owner::Global {
                let text = "hiera.yaml version 4 cannot be used in the global layer";
                return Err(file.refuse(text, file.entry_place("version")));
            }
            Ok(Some(version4::parse(&file)))
        }
        Value::Integer(3) => {
            file.check(&version3::shape(&file)?)?;
            match owner {
                Owner::Global => Ok(Some(version3::parse(&file))),
                _ => ignore_version_3(path, owner, puppet, diagnostics),
            }
        }
        other => {
            let text = format!("This runtime does not support hiera.yaml version {}", other.to_s());
            Err(file.refuse(&text, file.entry_place("version")))
        }
    }
}

/// Adds the defaults of the version, as Puppet does. A file that is not a hash has only the defaults.
fn filled(version: &Value, value: &Value) -> Value {
    let mut hash = value.as_hash().cloned().unwrap_or_default();
    match version {
        Value::Integer(3) => version3::fill(&mut hash),
        Value::Integer(4) => version4::fill(&mut hash),
        Value::Integer(5) => version5::fill(&mut hash),
        _ => {}
    }
    Value::hash(hash)
}

/// Returns the version, converted with Ruby's `to_i`. A file that is not a hash has version 3.
fn version(value: &Value, path: &str) -> Result<Value, LookupError> {
    let Value::Hash(hash) = value else { return Ok(3.into()) };
    let written = [hash.get("version"), hash.get_value(&Value::Symbol("version".into()))];
    let text = match written.into_iter().flatten().find(|version| version.is_truthy()) {
        None => return Ok(3.into()),
        Some(number @ (Value::Integer(_) | Value::BigInteger(_))) => return Ok(number.clone()),
        #[expect(clippy::cast_possible_truncation, reason = "Ruby's Float#to_i truncates")]
        Some(Value::Float(f)) if f.is_finite() => return Ok(Value::Integer(*f as i64)),
        Some(Value::String(text)) => return Ok(ruby::to_i(text)),
        Some(Value::Float(f)) => Value::Float(*f).to_s(),
        Some(other) => {
            return Err(LookupError::undefined_method("to_i", other).at(Place::file(path)));
        }
    };
    Err(LookupError::bare(text).at(Place::file(path)))
}

fn ignore_version_3(
    path: &str,
    owner: Owner,
    puppet: Puppet,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Option<Config>, LookupError> {
    if puppet.refuses_version_3_below_the_global_layer() {
        let text = format!("hiera.yaml version 3 cannot be used in {} (file: {path})", owner.with_article());
        return Err(LookupError::bare(text).at(Place::file(path)));
    }
    let text = "hiera.yaml version 3 has no effect here: Puppet reads it in the global layer only";
    diagnostics.push(Diagnostic::warning("hiera-version-3", Some(Place::file(path)), text));
    Ok(None)
}
