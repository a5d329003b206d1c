//! The deep merge: the `deep_merge` gem as Puppet calls it.
//!
//! The gem changes arrays and hashes in place and, where it makes a shallow copy, ends up merging an object with
//! itself. This affects the result, so the values are put into a graph of shared cells on which the gem's steps are
//! carried out.
//! Source: `deep_merge/core.rb` 1.1.1, `DeepMergeStrategy` in `pops/merge_strategy.rb`.

use std::cell::{OnceCell, RefCell};
use std::cmp::Ordering;
use std::convert::Infallible;
use std::ops::Deref;
use std::rc::Rc;

use indexmap::IndexMap;

use super::opaque;
use crate::hiera::LookupError;
use crate::hiera::budget::Budget;
use crate::puppet;
use crate::puppet::regex::RubyRegex;
use crate::value::{Hash, Secrecy, Text, Uniq, Value};

/// The type of the options of a deep merge, as Puppet declares it.
const OPTIONS: &str = "Struct[{strategy=>Optional[Pattern[deep]], knockout_prefix=>Optional[String], \
    merge_debug=>Optional[Boolean], merge_hash_arrays=>Optional[Boolean], sort_merged_arrays=>Optional[Boolean]}]";

/// The options of a deep merge.
#[expect(clippy::struct_excessive_bools, reason = "they are the gem's")]
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeepOptions {
    knockout_prefix: Option<String>,
    sort_merged_arrays: bool,
    merge_hash_arrays: bool,
    /// Hiera 3's `deeper`, as Puppet does it: any option of the gem is accepted.
    unconstrained: bool,
    /// Hiera 3's `deep`, as Puppet does it: the lower priority wins.
    reverse: bool,
    /// Hiera 3's own `deep`: if two values cannot be merged, the one with the lower priority is kept.
    preserve_unmergeables: bool,
    overwrite_arrays: bool,
    extend_existing_arrays: bool,
    /// The text that arrays are joined with and split at. Any other value makes the gem fail on arrays.
    unpack_arrays: Option<Value>,
    /// The options as given.
    given_options: Hash,
}

impl DeepOptions {
    /// Returns true if an array in `value` has an item with the knock-out prefix, which a merge would remove.
    pub(super) fn knocks_out(&self, value: &Value) -> bool {
        self.knockout_prefix.as_deref().is_some_and(|prefix| Knockout::new(prefix).is_within(value))
    }

    pub(super) fn unconstrained(reverse: bool) -> DeepOptions {
        DeepOptions { unconstrained: true, reverse, ..DeepOptions::default() }
    }

    /// Reads the `:deep_merge_options:` of Hiera 3 itself, of which the gem recognises only symbols.
    pub fn of_hiera3(preserve_unmergeables: bool, options: &Hash) -> Result<DeepOptions, LookupError> {
        let mut deep = DeepOptions { preserve_unmergeables, ..DeepOptions::unconstrained(false) };
        for (key, value) in options.iter() {
            if let Value::Symbol(name) = key {
                deep.set(name, value).ok_or_else(|| unknown_option(name, value))?;
            }
        }
        Ok(deep)
    }

    pub(super) fn given_options(&self) -> &Hash {
        &self.given_options
    }

    pub(super) fn name(&self) -> &'static str {
        match (self.unconstrained, self.reverse) {
            (_, true) => "reverse_deep",
            // Without options, Puppet uses the same instance as for `deep`.
            (true, false) if !self.given_options.is_empty() => "unconstrained_deep",
            _ => "deep",
        }
    }

    /// Reads the options that follow `strategy` in a `merge` hash.
    pub(super) fn parse(mut self, options: &Hash) -> Result<DeepOptions, LookupError> {
        for (key, value) in options.iter() {
            let name = key.to_s();
            let known = ["strategy", "knockout_prefix", "merge_debug", "merge_hash_arrays", "sort_merged_arrays"];
            let set = if self.unconstrained || known.contains(&&*name) { self.set(&name, value) } else { None };
            let constrained = !self.unconstrained;
            let wrong =
                || if constrained { super::wrong_options(OPTIONS, options) } else { unknown_option(&name, value) };
            set.ok_or_else(wrong)?;
            if name != "strategy" {
                self.given_options.insert(key.clone(), value.clone());
            }
        }
        Ok(self)
    }

    /// Sets an option, or returns `None` if its value is of the wrong type.
    fn set(&mut self, name: &str, value: &Value) -> Option<()> {
        let flag = || match value {
            Value::Boolean(_) | Value::Undef => Some(value.is_truthy()),
            _ => self.unconstrained.then_some(true),
        };
        let text = || match value {
            Value::String(s) => Some(Some(s.to_string())),
            Value::Undef => Some(None),
            Value::Boolean(false) if self.unconstrained => Some(None),
            _ => None,
        };
        match name {
            "knockout_prefix" => self.knockout_prefix = text()?,
            "merge_hash_arrays" => self.merge_hash_arrays = flag()?,
            "sort_merged_arrays" => self.sort_merged_arrays = flag()?,
            "overwrite_arrays" => self.overwrite_arrays = flag()?,
            "extend_existing_arrays" => self.extend_existing_arrays = flag()?,
            "unpack_arrays" => self.unpack_arrays = Some(value.clone()).filter(Value::is_truthy),
            "preserve_unmergeables" => self.preserve_unmergeables = flag()?,
            "merge_debug" => _ = flag()?,
            _ => {}
        }
        Some(())
    }
}

fn unknown_option(name: &str, value: &Value) -> LookupError {
    LookupError::unknown(format!("what a merge does with {} for '{name}'", value.inspect()))
}

/// Merges two values, `high` with the higher priority.
pub(in crate::hiera) fn merge(
    high: &Value,
    low: &Value,
    options: &DeepOptions,
    budget: &Budget,
) -> Result<Value, LookupError> {
    let (source, dest) = if options.reverse { (low, high) } else { (high, low) };
    let knockout = match options.knockout_prefix.as_deref() {
        Some("") => return Err(LookupError::bare("knockout_prefix cannot be an empty string in deep_merge!")),
        Some(_) if options.preserve_unmergeables => {
            let text = "overwrite_unmergeable must be true if knockout_prefix is specified in deep_merge!";
            return Err(LookupError::puppet(text));
        }
        prefix => prefix.map(Knockout::new),
    };
    if knockout.is_some() && (high.has_surrogates() || low.has_surrogates()) {
        return Err(LookupError::unknown("what a knock-out prefix does to a text with surrogates"));
    }
    let merge = Merge { options, knockout, budget };
    merge.merge(&Node::new(source), Node::new(dest))?.counted_value(budget)
}

type Entries = IndexMap<Value, Node, foldhash::fast::RandomState>;

/// A value whose collections are shared and mutable.
#[derive(Debug, Clone)]
enum Node {
    Scalar(Value),
    Array(Rc<Collection<Vec<Node>>>),
    Hash(Rc<Collection<Entries>>),
}

/// A collection whose parts become nodes only when they are accessed. Most of the merged parts never are, so that
/// they stay the values that they were.
#[derive(Debug)]
struct Collection<T> {
    value: Value,
    parts: OnceCell<RefCell<T>>,
}

impl<T> Collection<T> {
    fn closed(value: &Value) -> Rc<Collection<T>> {
        Rc::new(Collection { value: value.clone(), parts: OnceCell::new() })
    }

    fn open(parts: T) -> Rc<Collection<T>> {
        Rc::new(Collection { value: Value::Undef, parts: OnceCell::from(RefCell::new(parts)) })
    }
}

impl Deref for Collection<Vec<Node>> {
    type Target = RefCell<Vec<Node>>;

    fn deref(&self) -> &Self::Target {
        let items = || self.value.as_array().into_iter().flatten().map(Node::new).collect();
        self.parts.get_or_init(|| RefCell::new(items()))
    }
}

impl Deref for Collection<Entries> {
    type Target = RefCell<Entries>;

    fn deref(&self) -> &Self::Target {
        let entries = || self.value.as_hash().into_iter().flat_map(Hash::iter);
        self.parts.get_or_init(|| RefCell::new(entries().map(|(key, value)| (key.clone(), Node::new(value))).collect()))
    }
}

impl Node {
    fn new(value: &Value) -> Node {
        match value {
            Value::Array(_) => Node::Array(Collection::closed(value)),
            Value::Hash(_) => Node::Hash(Collection::closed(value)),
            scalar => Node::Scalar(scalar.clone()),
        }
    }

    fn array(items: Vec<Node>) -> Node {
        Node::Array(Collection::open(items))
    }

    /// Returns the value if it is a scalar or its parts were never accessed.
    fn closed(&self) -> Option<&Value> {
        match self {
            Node::Scalar(value) => Some(value),
            Node::Array(items) => items.parts.get().is_none().then_some(&items.value),
            Node::Hash(entries) => entries.parts.get().is_none().then_some(&entries.value),
        }
    }

    fn value(&self) -> Value {
        let Ok(value) = self.value_with(&|| Ok::<_, Infallible>(()));
        value
    }

    /// Returns the value, and counts its parts, since the same part may occur many times.
    fn counted_value(&self, budget: &Budget) -> Result<Value, LookupError> {
        self.value_with(&|| budget.spend(1))
    }

    fn value_with<E>(&self, spend: &dyn Fn() -> Result<(), E>) -> Result<Value, E> {
        spend()?;
        if let Some(value) = self.closed() {
            return Ok(value.clone());
        }
        Ok(match self {
            Node::Scalar(value) => value.clone(),
            Node::Array(items) => {
                let items = items.borrow();
                Value::array(items.iter().map(|item| item.value_with(spend)).collect::<Result<_, _>>()?)
            }
            Node::Hash(hash) => {
                let hash = hash.borrow();
                let entries = hash.iter().map(|(key, value)| Ok((key.clone(), value.value_with(spend)?)));
                Value::hash(entries.collect::<Result<_, E>>()?)
            }
        })
    }

    fn is_truthy(&self) -> bool {
        !matches!(self, Node::Scalar(value) if !value.is_truthy())
    }

    fn is_undef(&self) -> bool {
        matches!(self, Node::Scalar(Value::Undef))
    }

    fn is_scalar(&self) -> bool {
        matches!(self, Node::Scalar(_))
    }

    fn is_hash(&self) -> bool {
        matches!(self, Node::Hash(_))
    }

    /// Works like Ruby's `dup`: returns a new collection of the same items.
    fn dup(&self) -> Node {
        match self {
            Node::Scalar(_) => self.clone(),
            Node::Array(items) => Node::array(items.borrow().clone()),
            Node::Hash(hash) => Node::Hash(Collection::open(hash.borrow().clone())),
        }
    }

    /// Returns true if a part of it is an encrypted text that cannot be opened.
    fn is_opaque(&self) -> bool {
        opaque::is_opaque(&self.value())
    }

    fn is_opaque_text(&self) -> bool {
        matches!(self, Node::Scalar(Value::String(text)) if text.secrecy().is_some_and(Secrecy::is_opaque))
    }

    /// Works like Ruby's `==`: as `eql?`, but numbers of different kinds can be equal.
    fn equal(&self, other: &Node) -> bool {
        self.value().equals(&other.value())
    }
}

struct Knockout<'a> {
    prefix: &'a str,
    start: OnceCell<Result<RubyRegex, puppet::Error>>,
}

impl<'a> Knockout<'a> {
    fn new(prefix: &'a str) -> Knockout<'a> {
        Knockout { prefix, start: OnceCell::new() }
    }

    /// Returns true if the prefix matches an item of an array in `value`. A prefix that is not a regular expression
    /// is taken to match.
    fn is_within(&self, value: &Value) -> bool {
        let is_found = |item: &Value| {
            let is_match = |text: &str| self.start().and_then(|start| start.is_match(text)).unwrap_or(true);
            item.as_str().is_some_and(|text| text == self.prefix || is_match(text))
        };
        match value.bare() {
            Value::Array(items) => items.iter().any(|item| is_found(item) || self.is_within(item)),
            Value::Hash(hash) => hash.values().any(|value| self.is_within(value)),
            _ => false,
        }
    }

    /// Returns the regular expression that the gem makes of the prefix when it needs one.
    fn start(&self) -> Result<&RubyRegex, puppet::Error> {
        let compiled = self.start.get_or_init(|| RubyRegex::compile(&format!("^{}", self.prefix)));
        compiled.as_ref().map_err(Clone::clone)
    }

    fn is_prefix(&self, item: &Node) -> bool {
        matches!(item, Node::Scalar(Value::String(text)) if **text == *self.prefix)
    }
}

struct Merge<'a> {
    options: &'a DeepOptions,
    knockout: Option<Knockout<'a>>,
    budget: &'a Budget,
}

type NodeResult = Result<Node, LookupError>;

impl Merge<'_> {
    /// Does the same as `deep_merge!(source, dest)`.
    fn merge(&self, source: &Node, dest: Node) -> NodeResult {
        if source.is_undef() {
            return Ok(dest);
        }
        if !dest.is_truthy() && !self.options.preserve_unmergeables {
            return Ok(source.clone());
        }
        match source {
            Node::Hash(entries) => self.merge_hash(source, entries, dest),
            Node::Array(items) => self.merge_array(source, items, dest),
            Node::Scalar(_) => match &dest {
                Node::Array(target) if self.options.extend_existing_arrays => {
                    target.borrow_mut().push(source.clone());
                    Ok(dest)
                }
                _ => self.overwrite(source, dest),
            },
        }
    }

    fn merge_hash(&self, source: &Node, entries: &RefCell<Entries>, mut dest: Node) -> NodeResult {
        let count = entries.borrow().len();
        for at in 0..count {
            let Some((key, value)) = entries.borrow().get_index(at).map(|(k, v)| (k.clone(), v.clone())) else { break };
            match &dest {
                Node::Hash(target) => {
                    let existing = target.borrow().get(&key).cloned().filter(Node::is_truthy);
                    // Without an existing value the gem merges the value into its own shallow copy.
                    let merged = self.merge(&value, existing.unwrap_or_else(|| value.dup()))?;
                    target.borrow_mut().insert(key, merged);
                }
                Node::Array(target) if self.options.extend_existing_arrays => target.borrow_mut().push(source.clone()),
                _ => dest = self.overwrite(source, dest)?,
            }
        }
        Ok(dest)
    }

    fn merge_array(&self, source: &Node, items: &Rc<Collection<Vec<Node>>>, mut dest: Node) -> NodeResult {
        if self.options.overwrite_arrays {
            return Ok(source.clone());
        }
        let mut items = items.clone();
        if let Some(separator) = &self.options.unpack_arrays {
            let unpacked = unpack(&items.borrow(), separator)?;
            items = Collection::open(unpacked);
            if let Node::Array(target) = dest.clone() {
                dest = Node::array(unpack(&target.borrow(), separator)?);
            }
        }
        if self.knockout.is_some() && items.borrow().iter().any(Node::is_opaque_text) {
            return Err(opaque::depends_on_secret("whether an item is knocked out"));
        }
        if let Some(knockout) = &self.knockout
            && items.borrow().iter().any(|item| knockout.is_prefix(item))
        {
            dest = cleared(dest);
            items.borrow_mut().retain(|item| !knockout.is_prefix(item));
        }
        let Node::Array(target) = &dest else { return self.overwrite(&Node::Array(items), dest) };
        if let Some(knockout) = &self.knockout {
            knock_out(knockout, &items, target, self.budget)?;
        }
        let merged = self.join_arrays(&items, target)?;
        if self.options.sort_merged_arrays {
            sort(&merged)?;
        }
        Ok(Node::Array(merged))
    }

    fn join_arrays(
        &self,
        items: &Rc<Collection<Vec<Node>>>,
        target: &Rc<Collection<Vec<Node>>>,
    ) -> Result<Rc<Collection<Vec<Node>>>, LookupError> {
        let (source, dest) = (items.borrow().clone(), target.borrow().clone());
        if self.options.merge_hash_arrays && source.iter().all(Node::is_hash) && dest.iter().all(Node::is_hash) {
            let mut list = Vec::with_capacity(source.len().max(dest.len()));
            let nothing = Node::new(&Value::hash(Hash::new()));
            for (at, item) in dest.iter().enumerate() {
                list.push(self.merge(source.get(at).unwrap_or(&nothing), item.clone())?);
            }
            list.extend(source.into_iter().skip(dest.len()));
            return Ok(Collection::open(list));
        }
        let values: Vec<Value> = dest.iter().chain(&source).map(Node::value).collect();
        opaque::check_distinct(&values.iter(), self.budget)?;
        let mut seen = Uniq::default();
        let union = dest.into_iter().chain(source).filter(|item| seen.is_new(&item.value())).collect();
        Ok(Collection::open(union))
    }

    /// Does the same as `overwrite_unmergeables`: the source replaces the destination, unless it is knocked out
    /// itself.
    fn overwrite(&self, source: &Node, dest: Node) -> NodeResult {
        if self.options.preserve_unmergeables {
            return Ok(dest);
        }
        let Some(knockout) = &self.knockout else { return Ok(source.clone()) };
        match source {
            Node::Scalar(Value::String(text)) => {
                let is_knocked_out = knockout.start()?.remove_all(text)? != **text;
                Ok(if is_knocked_out { Node::Scalar("".into()) } else { source.clone() })
            }
            Node::Array(items) => {
                // `delete_if` returns the array itself, so that it always equals the source.
                let mut remaining = Vec::new();
                for item in items.borrow().iter() {
                    let is_knocked_out = match item {
                        Node::Scalar(Value::String(text)) => knockout.start()?.is_match(text)?,
                        _ => false,
                    };
                    if !is_knocked_out {
                        remaining.push(item.clone());
                    }
                }
                *items.borrow_mut() = remaining;
                Ok(source.clone())
            }
            _ => Ok(source.clone()),
        }
    }
}

/// Does the same as `clear_or_nil`: strings, arrays and hashes are emptied in place, other values become nil.
fn cleared(dest: Node) -> Node {
    match &dest {
        Node::Array(items) => items.borrow_mut().clear(),
        Node::Hash(hash) => hash.borrow_mut().clear(),
        Node::Scalar(text) if matches!(text.bare(), Value::String(_) | Value::Bytes(_)) => {
            return Node::Scalar("".into());
        }
        Node::Scalar(_) => return Node::Scalar(Value::Undef),
    }
    dest
}

/// Does the same as `source.delete_if`: removes knocked-out items from the destination, and the knock-outs from both.
/// Source and destination may be the same array, which then changes during Ruby's loop as it does here.
fn knock_out(
    knockout: &Knockout<'_>,
    source: &Rc<Collection<Vec<Node>>>,
    dest: &Rc<Collection<Vec<Node>>>,
    budget: &Budget,
) -> Result<(), LookupError> {
    let (mut read, mut written) = (0, 0);
    while read < source.borrow().len() {
        let item = source.borrow()[read].clone();
        let bare = match &item {
            Node::Scalar(Value::String(text)) => {
                let bare = knockout.start()?.remove_all(text)?;
                (bare != **text).then(|| Node::Scalar(bare.into()))
            }
            _ => None,
        };
        if let Some(bare) = bare {
            // Only texts can equal a text.
            budget.spend(dest.borrow().len())?;
            if dest
                .borrow()
                .iter()
                .any(|other| other.is_scalar() && opaque::is_undecided(&other.value(), &bare.value()))
            {
                return Err(opaque::depends_on_secret("whether an item is knocked out"));
            }
            dest.borrow_mut().retain(|other| !(other.is_scalar() && (other.equal(&bare) || other.equal(&item))));
        } else {
            let mut items = source.borrow_mut();
            if written < items.len() {
                items[written] = item;
            } else {
                items.push(item);
            }
            written += 1;
        }
        read += 1;
    }
    // Items that the loop has not read (none) stay; those that it dropped go away.
    let mut items = source.borrow_mut();
    let tail: Vec<Node> = items.get(read..).map(<[Node]>::to_vec).unwrap_or_default();
    items.truncate(written);
    items.extend(tail);
    Ok(())
}

/// Does the same as Ruby's `items.join(separator).split(separator)`.
fn unpack(items: &[Node], separator: &Value) -> Result<Vec<Node>, LookupError> {
    let Some(separator) = separator.as_str() else { return Err(no_separator(items, separator)) };
    if items.iter().any(Node::is_opaque) {
        return Err(opaque::depends_on_secret("how an array is unpacked"));
    }
    let secrecy = items.iter().map(|item| item.value().secrecy()).fold(None, Secrecy::join);
    let joined = joined(items, separator);
    let mut texts: Vec<String> = match separator {
        "" => joined.chars().map(String::from).collect(),
        " " => joined.split_ascii_whitespace().map(str::to_owned).collect(),
        _ => joined.split(separator).map(str::to_owned).collect(),
    };
    while texts.last().is_some_and(String::is_empty) {
        texts.pop();
    }
    Ok(texts.into_iter().map(|text| Node::Scalar(Text::with(text, secrecy).into())).collect())
}

/// Returns Ruby's error for a separator that is not a text.
fn no_separator(items: &[Node], separator: &Value) -> LookupError {
    let class = match separator {
        Value::Boolean(_) => "true".into(),
        Value::Rich(_) | Value::Bytes(_) => return unknown_option("unpack_arrays", separator),
        other => other.class_name(),
    };
    match items {
        [] => LookupError::puppet(format!("wrong argument type {class} (expected Regexp)")),
        _ => LookupError::bare(format!("no implicit conversion of {class} into String")),
    }
}

/// Works like Ruby's `join`, which descends into arrays.
fn joined(items: &[Node], separator: &str) -> String {
    let text = |item: &Node| match item {
        Node::Array(items) => joined(&items.borrow(), separator),
        other => other.value().to_s(),
    };
    items.iter().map(text).collect::<Vec<_>>().join(separator)
}

/// Works like Ruby's `sort!`, with the C library's merge sort, so that the same two items are the first that cannot
/// be compared.
fn sort(items: &RefCell<Vec<Node>>) -> Result<(), LookupError> {
    if items.borrow().len() > 1 && items.borrow().iter().any(Node::is_opaque) {
        return Err(opaque::depends_on_secret("the order of the sorted items"));
    }
    let values: Vec<(Value, Node)> = items.borrow().iter().map(|item| (item.value(), item.clone())).collect();
    *items.borrow_mut() = merge_sort(values)?.into_iter().map(|(_, item)| item).collect();
    Ok(())
}

fn merge_sort(mut items: Vec<(Value, Node)>) -> Result<Vec<(Value, Node)>, LookupError> {
    if items.len() < 2 {
        return Ok(items);
    }
    let second = items.split_off(items.len() / 2);
    let (mut first, mut second) =
        (merge_sort(items)?.into_iter().peekable(), merge_sort(second)?.into_iter().peekable());
    let mut sorted = Vec::new();
    while let (Some((a, _)), Some((b, _))) = (first.peek(), second.peek()) {
        let next = if compare(a, b)? == Ordering::Greater { &mut second } else { &mut first };
        sorted.extend(next.next());
    }
    sorted.extend(first.chain(second));
    Ok(sorted)
}

fn compare(a: &Value, b: &Value) -> Result<Ordering, LookupError> {
    a.compare(b).ok_or_else(|| {
        let shown = match b {
            Value::Undef | Value::Boolean(_) | Value::Integer(_) | Value::Float(_) => b.inspect(),
            _ => b.class_name().into_owned(),
        };
        LookupError::bare(format!("comparison of {} with {shown} failed", a.class_name()))
    })
}
