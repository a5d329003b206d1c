//! Finds the places at which two values differ.

use std::sync::Arc;

use super::Diff;
use super::align::align;
use super::memo::Memo;
use crate::value::{Hash, Secrecy, Segment, Value, ValuePath};

/// The change at one place inside a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeafKind {
    /// An entry or item that was not there.
    Added,
    /// An entry or item that is gone.
    Removed,
    /// A different value.
    Changed,
    /// A collection whose remaining entries or items are in a different order.
    Reordered,
    /// A value that is a secret now, and is otherwise the same if that can be known.
    Sealed,
    /// A value that is no longer a secret, and is otherwise the same if that can be known.
    Unsealed,
}

/// A place inside a value, and the value there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PlacedValue {
    /// The place. Positions in arrays are those of the side that the part belongs to.
    pub path: ValuePath,
    /// The value there.
    pub value: Value,
}

/// One difference, at the innermost place that shows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LeafChange {
    /// The kind of change.
    pub kind: LeafKind,
    /// The part on either side; `None` before an addition and after a removal.
    pub part: Diff<Option<PlacedValue>>,
}

impl LeafChange {
    /// Returns the place: after the change, or before a removal. It is `None` only if neither side has a part.
    pub fn path(&self) -> Option<&ValuePath> {
        self.part.after.as_ref().or(self.part.before.as_ref()).map(|part| &part.path)
    }
}

/// Returns all differences of two values in reading order. A value that is added or removed is one difference.
///
/// Hashes are compared by key. The items of arrays are paired: equal ones first, wherever they moved to; then hashes
/// with the same `name`, `id`, `title` or `key`; then items in the same gap.
///
/// ```
/// use hierad::diff::{Diff, LeafKind, leaves};
/// use hierad::value::Value;
///
/// let array = |items: &[&str]| items.iter().map(|item| Value::from(*item)).collect::<Value>();
/// let (before, after) = (array(&["ntp1", "ntp2"]), array(&["ntp1", "ntp2", "ntp3"]));
/// let found = leaves(Diff::new(Some(&before), Some(&after)));
/// assert_eq!((found.len(), found[0].kind), (1, LeafKind::Added));
/// ```
pub fn leaves(value: Diff<Option<&Value>>) -> Vec<Arc<LeafChange>> {
    differences(value, &mut EntryMemo::default()).leaves
}

/// The differences of two values.
#[derive(Debug, Default)]
pub(super) struct Differences {
    /// Differences in meaning or in secrecy.
    pub(super) leaves: Vec<Arc<LeafChange>>,
    /// The places, in the new value, of secrets that were re-encrypted without a change of meaning.
    pub(super) reencrypted: Vec<ValuePath>,
}

/// The known differences of entries.
pub(super) type EntryMemo = Memo<Differences>;

/// Returns all differences of two values. `memo` remembers those of other values of the same key.
pub(super) fn differences(value: Diff<Option<&Value>>, memo: &mut EntryMemo) -> Differences {
    let mut walk = Walk { memo: Some(memo), ..Walk::default() };
    match (value.before, value.after) {
        (Some(before), Some(after)) => walk.values(before, after),
        (None, None) => {}
        (None, _) => walk.push(LeafKind::Added, value),
        (_, None) => walk.push(LeafKind::Removed, value),
    }
    walk.found
}

#[derive(Default)]
struct Walk<'m> {
    path: Diff<Vec<Segment>>,
    found: Differences,
    /// The memo for the entries of the whole value.
    memo: Option<&'m mut EntryMemo>,
}

impl Walk<'_> {
    fn push(&mut self, kind: LeafKind, value: Diff<Option<&Value>>) {
        let part =
            |path: &Vec<Segment>, value: &Value| PlacedValue { path: ValuePath(path.clone()), value: value.clone() };
        let before = value.before.map(|value| part(&self.path.before, value));
        let after = value.after.map(|value| part(&self.path.after, value));
        self.found.leaves.push(Arc::new(LeafChange { kind, part: Diff::new(before, after) }));
    }

    fn values(&mut self, before: &Value, after: &Value) {
        let both = Diff::new(Some(before), Some(after));
        match (before, after) {
            _ if before == after && before.is_written_like(after) => {}
            (Value::Hash(a), Value::Hash(b)) => {
                if is_reordered(a.keys().map(|key| b.index_of(key))) {
                    self.push(LeafKind::Reordered, both);
                }
                self.hashes(a, b);
            }
            (Value::Array(a), Value::Array(b)) => {
                let partners = align(a, b);
                if is_reordered(partners.iter().copied()) {
                    self.push(LeafKind::Reordered, both);
                }
                self.arrays(Diff::new(a, b), &partners);
            }
            _ if before.content() == after.content() => self.secrecy(before, after),
            // It cannot be known if an opaque secret on one side is the plain value on the other.
            _ => match (whole_secrecy(before), whole_secrecy(after)) {
                (None, Some(secrecy)) if secrecy.is_opaque() && is_plain(before) => self.push(LeafKind::Sealed, both),
                (Some(secrecy), None) if secrecy.is_opaque() && is_plain(after) => self.push(LeafKind::Unsealed, both),
                _ => self.push(LeafKind::Changed, both),
            },
        }
    }

    /// Compares values with equal content, which may differ in secrecy, ciphertext or type.
    fn secrecy(&mut self, before: &Value, after: &Value) {
        let both = Diff::new(Some(before), Some(after));
        match (whole_secrecy(before), whole_secrecy(after)) {
            (None, Some(_)) => self.push(LeafKind::Sealed, both),
            (Some(_), None) => self.push(LeafKind::Unsealed, both),
            _ if before != after => self.push(LeafKind::Changed, both),
            (Some(a), Some(b)) if a.seal != b.seal && !a.is_encrypted() && !b.is_encrypted() => {
                self.found.reencrypted.push(ValuePath(self.path.after.clone()));
            }
            _ => {}
        }
    }

    /// Compares the entries of hashes: removed and changed ones in their old order, then the added ones.
    fn hashes(&mut self, before: &Hash, after: &Hash) {
        for (key, value) in before.iter() {
            let Some((new_key, new_value)) = after.entry(key) else {
                self.child(same_segment(key), Diff::new(Some(value), None));
                continue;
            };
            // A name that is a secret on one side must not be shown on the other.
            let name = if key.secrecy().is_some() { key } else { new_key };
            self.entry(name, Diff::new(value, new_value));
            if !key.is_written_like(new_key) {
                self.name(name, Diff::new((key, value), (new_key, new_value)));
            }
        }
        for (key, value) in after.iter().filter(|(key, _)| before.index_of(key).is_none()) {
            self.child(same_segment(key), Diff::new(None, Some(value)));
        }
    }

    /// Compares the values of an entry.
    fn entry(&mut self, name: &Value, value: Diff<&Value>) {
        let memo = self.memo.as_deref_mut().filter(|_| self.path.after.is_empty() && name.secrecy().is_none());
        let find = || {
            let mut walk = Walk::default();
            walk.child(same_segment(name), value.map(Some));
            walk.found
        };
        match memo.and_then(|memo| memo.entry(name, value, find)) {
            Some(entry) => {
                self.found.leaves.extend(entry.leaves.iter().cloned());
                self.found.reencrypted.extend(entry.reencrypted.iter().cloned());
            }
            None => self.child(same_segment(name), value.map(Some)),
        }
    }

    /// Compares the names of an entry whose secrecy differs.
    fn name(&mut self, name: &Value, entry: Diff<(&Value, &Value)>) {
        let ((key, value), (new_key, new_value)) = (entry.before, entry.after);
        let both = Diff::new(Some(value), Some(new_value));
        self.enter(same_segment(name), |walk: &mut Walk<'_>| match (key.secrecy(), new_key.secrecy()) {
            (None, _) => walk.push(LeafKind::Sealed, both),
            (_, None) => walk.push(LeafKind::Unsealed, both),
            _ => walk.secrecy(key, new_key),
        });
    }

    /// Compares the items of arrays by position. Removed items come before those that take their place.
    fn arrays(&mut self, items: Diff<&[Value]>, partners: &[Option<usize>]) {
        let mut partner_of = vec![None; items.after.len()];
        for (a, b) in partners.iter().enumerate() {
            if let Some(b) = b {
                partner_of[*b] = Some(a);
            }
        }
        // For each new item, removed items before this old position come first: its partner's, or the next partner's.
        let mut until = vec![usize::MAX; items.after.len() + 1];
        for b in (0..items.after.len()).rev() {
            until[b] = partner_of[b].unwrap_or(until[b + 1]);
        }
        let mut removed = (0..items.before.len()).filter(|a| partners[*a].is_none()).peekable();
        for (b, until) in until.into_iter().enumerate() {
            while let Some(a) = removed.next_if(|a| *a < until) {
                self.item(items, Diff::new(Some(a), None));
            }
            if let Some(partner) = partner_of.get(b) {
                self.item(items, Diff::new(*partner, Some(b)));
            }
        }
    }

    fn item(&mut self, items: Diff<&[Value]>, at: Diff<Option<usize>>) {
        let value = Diff::new(at.before.map(|a| &items.before[a]), at.after.map(|b| &items.after[b]));
        self.child(at.map(|at| Segment::Index(at.unwrap_or(0))), value);
    }

    fn child(&mut self, segment: Diff<Segment>, value: Diff<Option<&Value>>) {
        self.enter(segment, |walk| match (value.before, value.after) {
            (Some(before), Some(after)) => walk.values(before, after),
            (None, _) => walk.push(LeafKind::Added, value),
            (_, None) => walk.push(LeafKind::Removed, value),
        });
    }

    fn enter(&mut self, segment: Diff<Segment>, work: impl FnOnce(&mut Self)) {
        self.path.before.push(segment.before);
        self.path.after.push(segment.after);
        work(self);
        self.path.before.pop();
        self.path.after.pop();
    }
}

/// Returns the secrecy of a value that is a secret as a whole, or `None` for other values.
fn whole_secrecy(value: &Value) -> Option<Secrecy> {
    if matches!(value, Value::Array(_) | Value::Hash(_)) { None } else { value.secrecy() }
}

/// Returns true for a value that may be a secret in clear.
fn is_plain(value: &Value) -> bool {
    use Value::{BigInteger, Bytes, Float, Integer, String};
    matches!(value, String(_) | Bytes(_) | Integer(_) | BigInteger(_) | Float(_))
}

fn same_segment(key: &Value) -> Diff<Segment> {
    Diff::new(Segment::Key(key.clone()), Segment::Key(key.clone()))
}

/// Returns true if the known positions are not ascending.
fn is_reordered(positions: impl Iterator<Item = Option<usize>>) -> bool {
    !positions.flatten().is_sorted()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(json: &serde_json::Value) -> Value {
        match json {
            serde_json::Value::Null => Value::Undef,
            serde_json::Value::Bool(b) => Value::from(*b),
            serde_json::Value::Number(n) => {
                n.as_i64().map_or_else(|| Value::Float(n.as_f64().unwrap()), Value::Integer)
            }
            serde_json::Value::String(s) => Value::from(s.as_str()),
            serde_json::Value::Array(items) => items.iter().map(value).collect(),
            serde_json::Value::Object(map) => {
                Value::hash(map.iter().map(|(k, v)| (Value::from(k.as_str()), value(v))).collect())
            }
        }
    }

    /// Compares two JSON values, and checks `KIND path-before path-after` of every leaf.
    fn check(before: &str, after: &str, expected: &[&str]) {
        let [before, after] = [before, after].map(|text| value(&serde_json::from_str(text).unwrap()));
        let path = |part: &Option<PlacedValue>| part.as_ref().map_or("nothing".into(), |part| part.path.below("k"));
        let shown =
            |leaf: &Arc<LeafChange>| format!("{:?} {} {}", leaf.kind, path(&leaf.part.before), path(&leaf.part.after));
        let found: Vec<String> = leaves(Diff::new(Some(&before), Some(&after))).iter().map(shown).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn scalars() {
        check("1", "1", &[]);
        check("1", "1.0", &["Changed k k"]);
        check(r#""80""#, "80", &["Changed k k"]);
        check("null", "false", &["Changed k k"]);
        check("[]", "{}", &["Changed k k"]);
    }

    #[test]
    fn hashes_by_key() {
        check(r#"{"a": 1, "b": {"c": 2}}"#, r#"{"a": 1, "b": {"c": 3}}"#, &["Changed k.b.c k.b.c"]);
        check(r#"{"a": 1, "b": 2}"#, r#"{"c": 1, "b": 2}"#, &["Removed k.a nothing", "Added nothing k.c"]);
        check(r#"{"a": 1, "b": 2}"#, r#"{"b": 2, "a": 1}"#, &["Reordered k k"]);
        check(
            r#"{"x": {"a": 1, "b": 2}}"#,
            r#"{"x": {"b": 3, "a": 1}}"#,
            &["Reordered k.x k.x", "Changed k.x.b k.x.b"],
        );
    }

    #[test]
    fn an_item_that_comes_moves_no_other() {
        check("[1, 2, 3]", "[0, 1, 2, 3]", &["Added nothing k[0]"]);
        check(
            "[[1, 2], 9]",
            "[7, 8, [1, 3], 9]",
            &["Added nothing k[0]", "Added nothing k[1]", "Changed k[0][1] k[2][1]"],
        );
        check("[1, 2, 3, 4]", "[1, 4]", &["Removed k[1] nothing", "Removed k[2] nothing"]);
    }

    #[test]
    fn items_that_are_replaced() {
        check("[1, 2, 3]", "[1, 5, 3]", &["Changed k[1] k[1]"]);
        check("[1, 2, 3]", "[1, 5, 6, 3]", &["Removed k[1] nothing", "Added nothing k[1]", "Added nothing k[2]"]);
    }

    #[test]
    fn orders() {
        check("[1, 2, 3]", "[3, 1, 2]", &["Reordered k k"]);
        check("[1, 1, 2]", "[1, 2, 1]", &["Reordered k k"]);
        check("[1, 2, 3]", "[3, 1, 4]", &["Reordered k k", "Changed k[1] k[2]"]);
        check("[[1, 2], 3]", "[[2, 1], 3]", &["Reordered k[0] k[0]"]);
    }

    #[test]
    fn hashes_with_names_are_known_by_them() {
        let before = r#"[{"name": "a", "n": 1}, {"name": "b", "n": 1}]"#;
        check(before, r#"[{"name": "b", "n": 2}]"#, &["Removed k[0] nothing", "Changed k[1].n k[0].n"]);
        check(before, r#"[{"name": "b", "n": 1}, {"name": "a", "n": 2}]"#, &["Reordered k k", "Changed k[0].n k[1].n"]);
        check(
            before,
            r#"[{"name": "a", "n": 1}, {"name": "c", "n": 1}]"#,
            &["Removed k[1] nothing", "Added nothing k[1]"],
        );
    }

    #[test]
    fn hashes_without_names_are_known_by_what_they_share() {
        let before = r#"[{"port": 80, "from": "any"}, {"port": 22, "from": "lan"}]"#;
        let after = r#"[{"port": 1, "to": "x"}, {"port": 80, "from": "dmz"}, {"port": 22, "from": "vpn"}]"#;
        check(before, after, &["Added nothing k[0]", "Changed k[0].from k[1].from", "Changed k[1].from k[2].from"]);
    }
}
