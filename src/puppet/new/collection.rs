//! `Array.new` and `Hash.new`, which also make tuples and structs.
//!
//! Source: `PArrayType`, `PHashType` in `pops/types/types.rb`, `pops/types/iterable.rb`.

use std::collections::HashSet;

use super::{NewValue, refused};
use crate::puppet::Error;
use crate::puppet::types::inference::generalize::generalize;
use crate::puppet::types::inference::infer::infer;
use crate::puppet::types::{constructors, is_instance};
use crate::value::rich::Rich;
use crate::value::{Hash, Type, Value};

/// The number of items that surely fit Ruby's stack, and the maximum number that iteration makes.
const ARGUMENTS_LIMIT: usize = 100_000;
const ITEMS_LIMIT: i64 = 1 << 20;

/// Evaluates `Array.new(from, wrap)`.
pub(super) fn array(args: &[Value]) -> NewValue {
    let function = constructors::array()?;
    match (function.pick(args)?, args) {
        (_, [from @ Value::Array(_), Value::Boolean(true)]) => Ok(from.clone()),
        (Some(0), [from, ..]) => items(from),
        (Some(_), [from, ..]) => Ok(Value::array(vec![from.clone()])),
        (None, [_] | [_, Value::Boolean(_)]) => Err(refused(function, args, "Array")),
        _ => Err(function.mismatch(args)),
    }
}

/// Returns the items of an iteration over `from`, or undef if it cannot be iterated over.
fn items(from: &Value) -> NewValue {
    match from.bare() {
        Value::Array(_) => Ok(from.clone()),
        Value::Hash(hash) => Ok(pairs(hash)),
        Value::String(text) => Ok(text.chars().map(|c| Value::from(c.to_string())).collect()),
        Value::Bytes(_) => Err(Error::unknown("the characters of a text that is not UTF-8")),
        Value::Integer(n) => integers(0, n - 1),
        Value::BigInteger(_) => Err(too_many_integers()),
        Value::Rich(rich) => match &**rich {
            Rich::Binary(bytes) => Ok(bytes.iter().map(|b| Value::Integer(i64::from(*b))).collect()),
            Rich::Type(kind) => items_of_type(kind),
            _ => Ok(Value::Undef),
        },
        _ => Ok(Value::Undef),
    }
}

fn items_of_type(kind: &Type) -> NewValue {
    match kind.resolved() {
        Type::Enum(values, _) => Ok(values.iter().cloned().map(Value::from).collect()),
        Type::Integer(range) => match (&range.from, &range.to) {
            (Value::Integer(from), Value::Integer(to)) => integers(*from, *to),
            _ => Err(too_many_integers()),
        },
        _ => Ok(Value::Undef),
    }
}

fn integers(from: i64, to: i64) -> NewValue {
    if to.checked_sub(from).is_none_or(|count| count >= ITEMS_LIMIT) {
        return Err(too_many_integers());
    }
    Ok((from..=to).map(Value::Integer).collect())
}

/// Returns the error for a list that is too long for Ruby's stack, as each item is an argument.
fn too_many_arguments() -> Error {
    Error::unknown(format!("a hash of a list of more than {ARGUMENTS_LIMIT} items"))
}

fn too_many_integers() -> Error {
    Error::unknown(format!("an array of more than {ITEMS_LIMIT} integers"))
}

fn pairs(hash: &Hash) -> Value {
    hash.iter().map(|(key, value)| Value::array(vec![key.clone(), value.clone()])).collect()
}

/// Evaluates `Hash.new(from, option)`.
pub(super) fn hash(args: &[Value]) -> NewValue {
    let function = constructors::hash()?;
    match (function.pick(args)?, args) {
        (Some(0), [Value::Array(entries), option]) => tree(entries, option.as_str() == Some("hash_tree")),
        (Some(0 | 1), [Value::Array(entries), ..]) => hash_of_pairs(entries),
        (Some(_), [from, ..]) => hash_of_list(from),
        _ => Err(function.mismatch(args)),
    }
}

fn hash_of_pairs(entries: &[Value]) -> NewValue {
    let entry = |entry: &Value| match entry.as_array() {
        Some([key, value]) => Some((key.clone(), value.clone())),
        _ => None,
    };
    hash_of(entries.iter().filter_map(entry).collect())
}

fn hash_of(entries: Vec<(Value, Value)>) -> NewValue {
    check_keys(&mut entries.iter().map(|(key, _)| key))?;
    Ok(Value::hash(entries.into_iter().collect()))
}

/// Refuses keys that Ruby compares otherwise: `0.0` and `-0.0` are one key, equal times are several.
fn check_keys(keys: &mut dyn Iterator<Item = &Value>) -> Result<(), Error> {
    let mut times = HashSet::new();
    let mut zeros = HashSet::new();
    for key in keys {
        let is_doubled = has_part(key, &is_time) && !times.insert(key);
        let is_zero = |value: &Value| matches!(value, Value::Float(number) if *number == 0.0);
        if is_doubled || has_part(key, &is_zero) && (zeros.insert(key) && zeros.len() > 1) {
            return Err(Error::unknown("a hash with equal times, or zeros of both signs, as keys"));
        }
    }
    Ok(())
}

fn is_time(value: &Value) -> bool {
    matches!(value, Value::Rich(rich) if matches!(**rich, Rich::Timestamp(_) | Rich::Timespan(_)))
}

fn has_part(value: &Value, is_it: &impl Fn(&Value) -> bool) -> bool {
    match value.bare() {
        Value::Array(items) => items.iter().any(|item| has_part(item, is_it)),
        Value::Hash(hash) => hash.iter().any(|(key, value)| has_part(key, is_it) || has_part(value, is_it)),
        Value::Rich(rich) if let Rich::Sensitive(inner) = &**rich => has_part(inner, is_it),
        value => is_it(value),
    }
}

/// Returns the hash of a list in which keys and values alternate.
fn hash_of_list(from: &Value) -> NewValue {
    match from.bare() {
        Value::Hash(_) => Ok(from.clone()),
        Value::Array(list) if list.len() > ARGUMENTS_LIMIT => Err(too_many_arguments()),
        Value::Array(list) if list.len() % 2 == 1 => Err(Error::puppet("odd number of arguments for Hash")),
        Value::Array(list) => alternating(list),
        other => {
            let iterable = Type::Iterable(None);
            if !is_instance(&iterable, other)? {
                let text = format!("Value of type {} cannot be converted to Hash", generalize(&infer(other)?));
                return Err(Error::puppet(text));
            }
            let list = items(other)?;
            let list = list.as_array().unwrap_or_default();
            match list {
                list if list.len() > ARGUMENTS_LIMIT => Err(too_many_arguments()),
                list if list.len() % 2 == 1 => Err(Error::puppet("odd number of arguments for Hash")),
                list => alternating(list),
            }
        }
    }
}

fn alternating(list: &[Value]) -> NewValue {
    hash_of(list.chunks(2).filter_map(|pair| Some((pair.first()?.clone(), pair.get(1)?.clone()))).collect())
}

/// Returns the hash of a list of paths and the values at their ends.
fn tree(entries: &[Value], only_hashes: bool) -> NewValue {
    let mut root = Value::hash(Hash::new());
    for entry in entries {
        let Some([Value::Array(path), value]) = entry.as_array() else { continue };
        if path.iter().any(|step| has_part(step, &|part| is_time(part) || matches!(part, Value::Float(_)))) {
            return Err(Error::unknown("a path of times or numbers, in 'Hash.new' of a tree"));
        }
        match path.split_last() {
            None => graft(&mut root, value)?,
            Some((last, path)) => {
                let value = if only_hashes { as_hashes(value) } else { value.clone() };
                set_at_path(&mut root, path, last, value)?;
            }
        }
    }
    Ok(root)
}

/// Adds the entries of `value`, whose path is empty, to the root.
fn graft(root: &mut Value, value: &Value) -> Result<(), Error> {
    let Value::Hash(hash) = root else { return Ok(()) };
    let hash = std::sync::Arc::make_mut(hash);
    match value.bare() {
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                hash.insert(i64::try_from(at).unwrap_or_default(), item.clone());
            }
        }
        Value::Hash(more) => {
            for (key, value) in more.iter() {
                hash.insert(key.clone(), value.clone());
            }
        }
        Value::Rich(_) => {
            return Err(Error::unknown("a value that is no hash for the root, in 'Hash.new' of a tree"));
        }
        other => {
            let class = match other {
                Value::Undef => "nil".to_owned(),
                Value::Boolean(b) => b.to_string(),
                other => other.class_name().into_owned(),
            };
            return Err(Error::bare(format!("no implicit conversion of {class} into Hash")));
        }
    }
    Ok(())
}

fn as_hashes(value: &Value) -> Value {
    match value {
        Value::Array(items) => {
            let entry =
                |(at, item): (usize, &Value)| (Value::from(i64::try_from(at).unwrap_or_default()), as_hashes(item));
            Value::hash(items.iter().enumerate().map(entry).collect())
        }
        other => other.clone(),
    }
}

fn set_at_path(at: &mut Value, path: &[Value], last: &Value, value: Value) -> Result<(), Error> {
    let unknown = || Error::unknown("a path through a value that is no hash, in 'Hash.new' of a tree");
    let (step, rest) = path.split_first().map_or((last, None), |(step, rest)| (step, Some(rest)));
    match at {
        Value::Hash(hash) => {
            let hash = std::sync::Arc::make_mut(hash);
            let Some(rest) = rest else {
                hash.insert(step.clone(), value);
                return Ok(());
            };
            let mut inner = hash.get_value(step).cloned().unwrap_or_else(|| Value::hash(Hash::new()));
            set_at_path(&mut inner, rest, last, value)?;
            hash.insert(step.clone(), inner);
            Ok(())
        }
        Value::Array(items) => {
            let items = std::sync::Arc::make_mut(items);
            let Value::Integer(n) = step else { return Err(unknown()) };
            let at = usize::try_from(*n).ok().filter(|at| *at < items.len()).ok_or_else(unknown)?;
            match rest {
                None => items[at] = value,
                Some(rest) => set_at_path(&mut items[at], rest, last, value)?,
            }
            Ok(())
        }
        _ => Err(unknown()),
    }
}
