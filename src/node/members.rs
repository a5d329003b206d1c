//! The types of the members of profiles: how each is read, kept, written, and laid over another one.

use std::mem;
use std::sync::Arc;

use super::document::{Document, Refusal, hash_field};
use super::{Names, time};
use crate::value::{Hash, Value};

/// Receives the top-level names whose values come from the later profile; `undef` for a value without names.
pub(super) type Tell<'t> = dyn FnMut(&Value) + 't;

/// The type of a member of profiles.
pub(super) trait Member: Sized {
    /// Returns the value of a field in a document, or `None` if it has none.
    fn read(document: &Document<'_>, field: &str) -> Result<Option<Self>, Refusal>;

    /// Returns the member in the form that caches keep, which takes little time and room; undef if it is empty.
    fn kept(&self) -> Value;

    /// Returns the member that [`kept`](Member::kept) has converted, or `None` if the value is something else.
    fn of_kept(value: Value) -> Option<Self>;

    /// Returns the member in the form of documents; undef if it is empty.
    fn written(&self) -> Value {
        self.kept()
    }

    /// Lays `above`, from a later profile of the node, over this member.
    fn overlay(&mut self, above: &mut Self, tell: &mut Tell<'_>);
}

impl Member for Arc<str> {
    fn read(document: &Document<'_>, field: &str) -> Result<Option<Arc<str>>, Refusal> {
        Ok(document.hash.get(field).and_then(Value::as_str).map(Arc::from))
    }

    fn kept(&self) -> Value {
        Value::from(&**self)
    }

    fn of_kept(value: Value) -> Option<Arc<str>> {
        value.as_str().map(Arc::from)
    }

    fn overlay(&mut self, above: &mut Arc<str>, tell: &mut Tell<'_>) {
        if !above.is_empty() {
            tell(&Value::Undef);
            self.clone_from(above);
        }
    }
}

impl Member for Arc<Hash> {
    fn read(document: &Document<'_>, field: &str) -> Result<Option<Arc<Hash>>, Refusal> {
        Ok(hash_field(document.hash, field)?.cloned())
    }

    fn kept(&self) -> Value {
        if self.is_empty() { Value::Undef } else { Value::Hash(self.clone()) }
    }

    fn of_kept(value: Value) -> Option<Arc<Hash>> {
        match value {
            Value::Undef => Some(Arc::default()),
            Value::Hash(hash) => Some(hash),
            _ => None,
        }
    }

    fn overlay(&mut self, above: &mut Arc<Hash>, tell: &mut Tell<'_>) {
        overlay_hash(self, above, |_, _| true, tell);
    }
}

/// Lays the entries of `above` for which `counts` is true over `below`. Replaces `below` as a whole if it is empty.
pub(super) fn overlay_hash(
    below: &mut Arc<Hash>,
    above: &Arc<Hash>,
    counts: impl Fn(&Value, &Value) -> bool,
    tell: &mut Tell<'_>,
) {
    let mut entries = above.iter().filter(|(key, value)| counts(key, value)).peekable();
    if below.is_empty() {
        entries.for_each(|(key, _)| tell(key));
        below.clone_from(above);
        return;
    }
    if entries.peek().is_some() {
        let entries = entries.inspect(|(key, _)| tell(key));
        Arc::make_mut(below).extend(entries.map(|(key, value)| (key.clone(), value.clone())));
    }
}

impl Member for Hash {
    fn read(document: &Document<'_>, field: &str) -> Result<Option<Hash>, Refusal> {
        Ok(hash_field(document.hash, field)?.map(|section| Hash::clone(section)))
    }

    fn kept(&self) -> Value {
        if self.is_empty() { Value::Undef } else { Value::hash(self.clone()) }
    }

    fn of_kept(value: Value) -> Option<Hash> {
        Arc::<Hash>::of_kept(value).map(Arc::unwrap_or_clone)
    }

    fn overlay(&mut self, above: &mut Hash, tell: &mut Tell<'_>) {
        above.iter().for_each(|(key, _)| tell(key));
        self.extend(mem::take(above));
    }
}

/// A hash that may be absent, which differs from an empty one.
impl Member for Option<Hash> {
    fn read(document: &Document<'_>, field: &str) -> Result<Option<Option<Hash>>, Refusal> {
        let hash = document.hash.get(field).map(|_| Hash::read(document, field)).transpose()?;
        Ok(hash.map(|hash| Some(hash.unwrap_or_default())))
    }

    fn kept(&self) -> Value {
        self.clone().map_or(Value::Undef, Value::hash)
    }

    fn of_kept(value: Value) -> Option<Option<Hash>> {
        if value.is_undef() { Some(None) } else { Hash::of_kept(value).map(Some) }
    }

    fn overlay(&mut self, above: &mut Option<Hash>, tell: &mut Tell<'_>) {
        if let Some(above) = above {
            self.get_or_insert_default().overlay(above, tell);
        }
    }
}

/// A time.
impl Member for Option<i64> {
    fn read(document: &Document<'_>, field: &str) -> Result<Option<Option<i64>>, Refusal> {
        Ok(document.hash.get(field).map(time::seconds))
    }

    fn kept(&self) -> Value {
        self.map_or(Value::Undef, Value::Integer)
    }

    fn of_kept(value: Value) -> Option<Option<i64>> {
        match value {
            Value::Undef => Some(None),
            Value::Integer(time) => Some(Some(time)),
            _ => None,
        }
    }

    fn written(&self) -> Value {
        self.and_then(time::timestamp).map_or(Value::Undef, Value::from)
    }

    fn overlay(&mut self, above: &mut Option<i64>, _: &mut Tell<'_>) {
        *self = above.or(*self);
    }
}

/// Names of keys.
impl Member for Option<Names> {
    fn read(document: &Document<'_>, field: &str) -> Result<Option<Option<Names>>, Refusal> {
        document.names(field, "keys", |names| Names::of_keys(names)).map(Some)
    }

    fn kept(&self) -> Value {
        self.as_ref().map_or(Value::Undef, |names| names.as_joined().into())
    }

    fn of_kept(value: Value) -> Option<Option<Names>> {
        if value.is_undef() { Some(None) } else { value.as_str().map(|text| Some(Names::from_joined(text))) }
    }

    fn written(&self) -> Value {
        self.as_ref().map_or(Value::Undef, Names::to_value)
    }

    fn overlay(&mut self, above: &mut Option<Names>, _: &mut Tell<'_>) {
        *self = above.take().or_else(|| self.take());
    }
}

impl Member for bool {
    fn read(document: &Document<'_>, field: &str) -> Result<Option<bool>, Refusal> {
        match document.hash.get(field) {
            None => Ok(None),
            Some(Value::Boolean(is_so)) => Ok(Some(*is_so)),
            Some(_) => Err(Refusal::of(format!("'{field}' of a node profile is true or false"))),
        }
    }

    fn kept(&self) -> Value {
        if *self { Value::Boolean(true) } else { Value::Undef }
    }

    fn of_kept(value: Value) -> Option<bool> {
        match value {
            Value::Undef => Some(false),
            Value::Boolean(is_so) => Some(is_so),
            _ => None,
        }
    }

    fn overlay(&mut self, above: &mut bool, _: &mut Tell<'_>) {
        *self |= *above;
    }
}
