//! Joins adjacent values: objects are merged, lists are joined, everything else is text.
//!
//! Source: `config_concatenation.rb`, `default_transformer.rb`.

use super::node::{Kind, List, Node, NodeRef};
use super::{Budget, Name, Refusal, Result, show};

/// Returns the value that `pieces` form together, or `None` if there are none.
pub(super) fn concat(pieces: Vec<NodeRef>, budget: &Budget) -> Result<Option<NodeRef>> {
    let mut joined = consolidate(pieces, budget)?;
    if joined.len() < 2 {
        return Ok(joined.pop());
    }
    let origins = joined.iter().map(|piece| piece.origin).reduce(super::Origin::and);
    let (Some(origin), Some(line)) = (origins, joined.first().map(|piece| piece.line)) else { return Ok(None) };
    Ok(Some(Node::new(Kind::Concat(joined.into()), origin, line)))
}

/// Joins those of `pieces` that can already be joined.
pub(super) fn consolidate(pieces: Vec<NodeRef>, budget: &Budget) -> Result<Vec<NodeRef>> {
    if pieces.len() < 2 {
        return Ok(pieces);
    }
    let mut joined: Vec<NodeRef> = Vec::new();
    for piece in pieces {
        match &piece.kind {
            Kind::Concat(inner) => inner.iter().try_for_each(|piece| add(&mut joined, piece, budget))?,
            _ => add(&mut joined, &piece, budget)?,
        }
    }
    Ok(joined)
}

fn add(joined: &mut Vec<NodeRef>, right: &NodeRef, budget: &Budget) -> Result<()> {
    let Some(left) = joined.pop() else {
        joined.push(right.clone());
        return Ok(());
    };
    match join(&left, right, budget)? {
        Some(both) => joined.push(both),
        None => joined.extend([left, right.clone()]),
    }
    Ok(())
}

/// Joins two values, or returns `None` if that must wait for substitutions.
fn join(left: &NodeRef, right: &NodeRef, budget: &Budget) -> Result<Option<NodeRef>> {
    budget.spend(1)?;
    match (&left.kind, &right.kind) {
        (_, Kind::List(_)) if left.is_object() => as_list(left)?,
        (Kind::List(_), _) if right.is_object() => as_list(right)?,
        _ => {}
    }
    match (&left.kind, &right.kind) {
        _ if left.is_object() && right.is_object() => right.over(left, budget).map(Some),
        (Kind::List(a), Kind::List(b)) => {
            budget.spend(a.items.len() + b.items.len())?;
            let items = a.items.iter().chain(&b.items).cloned().collect();
            Ok(Some(Node::new(List::of(items), left.origin.and(right.origin), left.line)))
        }
        // The gem takes any text without quotes for spaces here.
        (_, Kind::Text { quoted: false, .. }) if left.is_object() || matches!(left.kind, Kind::List(_)) => {
            Ok(Some(left.clone()))
        }
        _ if left.is_unmergeable() || right.is_unmergeable() => Ok(None),
        _ => texts(left, right, budget).map(Some),
    }
}

fn texts(left: &NodeRef, right: &NodeRef, budget: &Budget) -> Result<NodeRef> {
    let (Some(a), Some(b)) = (text(left), text(right)) else {
        let (left_shown, right_shown) = (show::node(left), show::node(right));
        let text = format!(
            "Cannot concatenate object or list with a non-object-or-list, {left_shown} and {right_shown} are not compatible"
        );
        return Err(Refusal::config(Some(left.origin), &text));
    };
    budget.write(a.len() + b.len())?;
    let text = [&*a, &*b].concat().into();
    Ok(Node::new(Kind::Text { text, quoted: true }, left.origin.and(right.origin), left.line))
}

/// Fails where the gem does for an object next to a list: it tries to convert one with numbers as keys into a list,
/// and crashes.
fn as_list(object: &NodeRef) -> Result<()> {
    let Kind::Object(object) = &object.kind else { return Err(Refusal::Config(super::node::NOT_RESOLVED.into())) };
    if object.entries.keys().any(|key| is_index(key)) {
        let text = "uninitialized constant Hocon::Impl::DefaultTransformer::SimpleConfigList";
        return Err(Refusal::Ruby(text.into()));
    }
    Ok(())
}

/// Returns true if Ruby's `Integer(key, 10)` is zero or more.
fn is_index(key: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(key) else { return false };
    let text = text.trim_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.strip_prefix("0d").or_else(|| digits.strip_prefix("0D")).unwrap_or(digits);
    let grouped = digits.split('_').all(|group| !group.is_empty() && group.bytes().all(|b| b.is_ascii_digit()));
    grouped && (!negative || digits.bytes().all(|b| matches!(b, b'0' | b'_')))
}

/// Returns a value as text, or `None` for an object or a list.
fn text(node: &NodeRef) -> Option<Name> {
    match &node.kind {
        Kind::Null => Some(b"null".as_slice().into()),
        Kind::Boolean(boolean) => Some(boolean.to_string().into_bytes().into()),
        Kind::Number(_, text) | Kind::Text { text, .. } => Some(text.clone()),
        _ => None,
    }
}
