//! `lookup_options`: which keys are merged in which way, and converted to which type.
//!
//! Source: `compile_patterns`, `validate_lookup_options` and `extract_lookup_options_for_key` in
//! `pops/lookup/lookup_adapter.rb`.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::merge::Strategy;
use super::stand_in::made_digest;
use super::{LookupError, LookupKey};
use crate::puppet::regex::{Regexes, RubyRegex};
use crate::value::{Hash, Secrecy, Text, Value};

/// The error for options that depend on a secret.
const OPAQUE_OPTIONS: &str = "its lookup_options hold a secret that is not open here";

/// The reserved key.
pub const LOOKUP_OPTIONS: &str = "lookup_options";

/// The cost of compiling a pattern, in steps.
const COMPILE_STEPS: usize = 100;

/// The cost of comparing a pattern with a key, in steps.
const MATCH_STEPS: usize = 2;

/// The maximum number of patterns that are compared with a key before its lookup, where that only saves work.
const FEW_PATTERNS: usize = 200;

/// Ruby's error for a name as an index.
const NO_INDEX: &str = "no implicit conversion of String into Integer";

/// All options in effect, by name or by pattern.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LookupOptions {
    names: Hash,
    patterns: Vec<(Arc<RubyRegex>, Value)>,
}

/// The options of one key.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KeyOptions {
    /// The value of `merge`, not checked yet, or undef if there is none.
    merge: Value,
    /// The type that the value is to be converted to.
    pub convert_to: Option<Value>,
}

impl LookupOptions {
    /// Compiles merged options. A key that starts with `^` is a pattern.
    pub fn compile(options: &Hash, regexes: &Regexes) -> Result<LookupOptions, LookupError> {
        let mut compiled = LookupOptions::default();
        for (key, value) in options.iter() {
            let name = text_key(key)?;
            if name.starts_with('^') {
                let pattern = regexes.get(&name.to_arc()).map_err(|e| e.sealed(name.secrecy()))?;
                compiled.patterns.push((pattern, value.clone()));
            } else {
                compiled.names.insert(key.clone(), value.clone());
            }
        }
        Ok(compiled)
    }

    /// Returns the steps that it takes to compile merged options.
    pub(super) fn steps_to_compile(options: &Hash) -> usize {
        let is_pattern = |key: &&Value| key.as_str().is_some_and(|name| name.starts_with('^'));
        COMPILE_STEPS * options.keys().filter(is_pattern).count()
    }

    /// Returns the maximum number of steps that it takes to find the options of the root key `root`.
    pub(super) fn steps_to_find(&self, root: &str) -> usize {
        if self.named(root).is_some() { 0 } else { MATCH_STEPS * self.patterns.len() }
    }

    /// Returns true if there are certainly no options for the root key `root`, and that can be decided quickly.
    pub fn are_none_for(&self, root: &str) -> bool {
        self.patterns.len() <= FEW_PATTERNS && self.for_key(root).is_ok_and(|options| options == KeyOptions::default())
    }

    /// Returns true if there are no options.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.patterns.is_empty()
    }

    /// Returns the options of the root key `root`: those of its name, else those of the first pattern that matches.
    pub fn for_key(&self, root: &str) -> Result<KeyOptions, LookupError> {
        Ok(self.find(root)?.unwrap_or_default())
    }

    /// Returns the options of the root key `root`, if there are any.
    pub fn find(&self, root: &str) -> Result<Option<KeyOptions>, LookupError> {
        if let Some(options) = self.named(root) {
            return KeyOptions::read(options).map(Some);
        }
        for (pattern, options) in &self.patterns {
            if pattern.is_match(root)? {
                return KeyOptions::read(options).map(Some);
            }
        }
        Ok(None)
    }

    /// Returns true if the root key `root` has other options in `other`, or if this cannot be decided quickly,
    /// because there are too many patterns or one takes too long.
    pub fn may_differ(&self, other: &LookupOptions, root: &str) -> bool {
        let at_once = |options: &LookupOptions| -> Option<Result<KeyOptions, LookupError>> {
            if let Some(options) = options.named(root) {
                return Some(KeyOptions::read(options));
            }
            for (pattern, options) in &options.patterns {
                if pattern.is_match_at_once(root)? {
                    return Some(KeyOptions::read(options));
                }
            }
            Some(Ok(KeyOptions::default()))
        };
        if self.patterns.len() + other.patterns.len() > 2 * FEW_PATTERNS {
            return true;
        }
        match (at_once(self), at_once(other)) {
            (Some(own), Some(other)) => own != other,
            _ => true,
        }
    }

    /// Returns the options for the exact name `root`, if there are any.
    fn named(&self, root: &str) -> Option<&Value> {
        self.names.get(root).filter(|options| !options.is_undef())
    }

    /// Returns the same options with a merge strategy for each of these keys, which replaces all other options for
    /// them.
    #[must_use]
    pub fn with_merges(&self, merges: impl IntoIterator<Item = (Value, Value)>) -> LookupOptions {
        let mut options = self.clone();
        for (key, merge) in merges {
            let of_key = Hash::from_iter([("merge", merge)]);
            options.names.insert(key, Value::Hash(Arc::new(of_key)));
        }
        options
    }

    /// Returns the root keys whose options may differ in `other`, or `None` if those of any key may.
    pub fn differing(&self, other: &LookupOptions) -> Option<BTreeSet<Arc<str>>> {
        if self.patterns != other.patterns {
            return None;
        }
        let names = self.names.keys().chain(other.names.keys());
        let differ = names.filter(|name| self.names.get_value(name) != other.names.get_value(name));
        Some(differ.filter_map(Value::as_str).map(Arc::from).collect())
    }

    /// Returns the strategy for `key` in Hiera 3, whose data has no options and which does not merge parts of values.
    pub fn hiera3_strategy(&self, key: &str) -> Result<Strategy, LookupError> {
        match LookupKey::parse(key) {
            Ok(key) if key.segments.is_empty() => {
                self.find(&key.root)?.map_or(Ok(Strategy::Default), |options| options.strategy())
            }
            _ => Ok(Strategy::Default),
        }
    }

    /// Returns an error if an option cannot be read or names an unknown strategy.
    pub fn check(&self) -> Result<(), LookupError> {
        let options = self.names.values().chain(self.patterns.iter().map(|(_, options)| options));
        options.filter(|options| !options.is_undef()).try_for_each(|options| {
            KeyOptions::read(options)?.strategy()?;
            Ok(())
        })
    }
}

impl KeyOptions {
    /// Reads the options of a key, like Ruby's `options["merge"]`, whatever kind of value they are.
    fn read(options: &Value) -> Result<KeyOptions, LookupError> {
        if options.secrecy().is_some_and(Secrecy::is_opaque) {
            return Err(LookupError::unknown(OPAQUE_OPTIONS));
        }
        let entry = |name: &str| match options {
            Value::Hash(hash) => Ok(hash.get(name).cloned().unwrap_or_default()),
            Value::Undef | Value::Boolean(false) => Ok(Value::Undef),
            Value::String(text) => Ok(if text.contains(name) { name.into() } else { Value::Undef }),
            Value::Array(_) => Err(LookupError::bare(NO_INDEX)),
            other => {
                let (shown, class) = (other.inspect(), other.class_name());
                let text = match other {
                    Value::Integer(_) | Value::BigInteger(_) => NO_INDEX.to_owned(),
                    _ => format!("undefined method `[]' for {shown}:{class}"),
                };
                Err(LookupError::bare(text).sealed(other.secrecy()))
            }
        };
        let convert_to = entry("convert_to")?;
        Ok(KeyOptions { merge: entry("merge")?, convert_to: Some(convert_to).filter(|value| !value.is_undef()) })
    }

    /// Returns these options, completed with those of `below`.
    #[must_use]
    pub fn above(self, below: KeyOptions) -> KeyOptions {
        KeyOptions {
            merge: if self.merge.is_undef() { below.merge } else { self.merge },
            convert_to: self.convert_to.or(below.convert_to),
        }
    }

    /// Returns the secrecy of the merge strategy. An error that names its options is equally secret.
    pub fn secrecy(&self) -> Option<Secrecy> {
        self.merge.secrecy()
    }

    /// Returns true if a merge strategy is given.
    pub fn names_strategy(&self) -> bool {
        !self.merge.is_undef()
    }

    /// Returns the merge strategy, or [`Strategy::Default`] if none is given.
    pub fn strategy(&self) -> Result<Strategy, LookupError> {
        Strategy::from_option(&self.merge).map_err(|error| error.sealed(self.merge.secrecy()))
    }
}

/// Checks that the value of `lookup_options` in one layer is a hash, in which a module may only name its own keys.
pub fn validate(found: Value, module: Option<&str>) -> Result<Option<Hash>, LookupError> {
    let hash = match found {
        Value::Undef => return Ok(None),
        Value::Hash(hash) => Arc::unwrap_or_clone(hash),
        made if made_digest(&made).is_some() => return Err(LookupError::unknown(OPAQUE_OPTIONS)),
        _ => return Err(LookupError::puppet("value of lookup_options must be a hash")),
    };
    let Some(module) = module else { return Ok(Some(hash)) };
    let prefix = format!("{module}::");
    for key in hash.keys() {
        let name = text_key(key)?;
        match name.strip_prefix('^') {
            Some(pattern) if !pattern.starts_with(&prefix) => {
                let text = format!("all lookup_options patterns must match a key starting with module name '{module}'");
                return Err(LookupError::puppet(text));
            }
            None if !name.starts_with(&prefix) => {
                let text = format!("all lookup_options keys must start with module name '{module}'");
                return Err(LookupError::puppet(text));
            }
            _ => {}
        }
    }
    Ok(Some(hash))
}

/// Returns a key as text, or the error of Puppet, which calls `start_with?` on each key, a method that only texts
/// have.
pub(super) fn text_key(key: &Value) -> Result<&Text, LookupError> {
    match key {
        Value::String(name) => Ok(name),
        other => {
            let (shown, class) = (other.inspect(), other.class_name());
            let error = LookupError::bare(format!("undefined method `start_with?' for {shown}:{class}"));
            Err(error.sealed(other.secrecy()))
        }
    }
}
