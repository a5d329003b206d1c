//! Values from events, as Psych's `ToRuby` visitor builds them.
//!
//! Events are fed one at a time; open collections wait in a stack of frames. Only the first fault is kept, and
//! composing goes on after it, so that the keys of a faulty file are still known.

mod entries;
mod omap;

use std::collections::HashMap;
use std::sync::Arc;

use super::event::{Data, Event, Onward, Props};
use super::{MAX_EXPANSION, Psych, Refusal, scalar, tag};
use crate::puppet::document::{Fault, FaultKind, MAX_DEPTH, Marks, Parsed};
use crate::value::Value;

use entries::{Entries, merge_source};
use omap::{Recorded, Recorder};

/// The notation of a node, which decides how `<<` merges it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Scalar,
    Sequence,
    Mapping,
    Alias,
}

/// A finished value.
#[derive(Clone)]
struct Node {
    value: Value,
    marks: Arc<[Marks]>,
    /// The depth of the collections in it, itself included.
    height: usize,
    /// Its size with all aliases expanded.
    weight: usize,
}

/// The key of an entry whose value is still to come.
struct Key {
    value: Value,
    line: u32,
    merges: bool,
}

/// An open collection.
struct Frame<'a> {
    line: u32,
    props: Props<'a>,
    height: usize,
    weight_before: usize,
    body: Body,
    /// A number that no other collection has.
    serial: usize,
}

enum Body {
    List { items: Vec<Value>, marks: Vec<Marks> },
    Map { entries: Entries, key: Option<Key>, becomes: Becomes },
}

/// The value that a mapping becomes once it is closed.
enum Becomes {
    Hash,
    /// A hash from the pairs of a sequence, where `<<` is a key like any other.
    Omap,
    /// The text below the key `str`.
    Text,
    /// Nothing: its keys are names of instance variables.
    Variables,
    /// A refusal that is reported after those of its entries.
    Refused(Refusal),
}

enum Anchor {
    Open(usize),
    Done(Node),
}

/// Composes one document.
pub(super) struct Composer<'a> {
    frames: Vec<Frame<'a>>,
    anchors: HashMap<&'a str, Anchor, foldhash::fast::RandomState>,
    recorder: Option<Recorder<'a>>,
    /// The number of open collections of which only some nodes are read.
    omaps: usize,
    serial: usize,
    /// The size of everything composed so far, and its maximum.
    weight: usize,
    max_weight: usize,
    root: Option<(u32, Node)>,
    fault: Option<Fault>,
    /// Too deep or too large: the rest is not composed.
    given_up: bool,
    refuses_aliases: bool,
    psych: Psych,
    is_entangled: bool,
}

impl<'a> Composer<'a> {
    /// Returns a composer for a text of `len` bytes.
    pub(super) fn new(len: usize) -> Composer<'a> {
        Composer {
            frames: Vec::new(),
            anchors: HashMap::default(),
            recorder: None,
            omaps: 0,
            serial: 0,
            weight: 0,
            max_weight: MAX_EXPANSION + 64 * len,
            root: None,
            fault: None,
            given_up: false,
            refuses_aliases: false,
            psych: Psych::default(),
            is_entangled: false,
        }
    }

    /// Makes the composer refuse every alias as unknown.
    pub(super) fn refusing_aliases(self) -> Composer<'a> {
        Composer { refuses_aliases: true, ..self }
    }

    /// Makes the composer read scalars like `psych`.
    pub(super) fn with_psych(self, psych: Psych) -> Composer<'a> {
        Composer { psych, ..self }
    }

    /// Returns the document after all its events have been fed.
    pub(super) fn finish(self) -> Parsed {
        let mut parsed = Parsed { fault: self.fault, is_entangled: self.is_entangled, ..Parsed::default() };
        if let Some((line, node)) = self.root.filter(|_| !self.given_up) {
            parsed.value = node.value;
            parsed.marks = Marks { line, children: node.marks };
        }
        parsed
    }

    /// Takes the next event. Stops if it gives up.
    pub(super) fn feed(&mut self, event: Event<'a>) -> Onward {
        if self.recorder.is_some() {
            self.record(event);
        } else {
            self.compose(event);
        }
        if self.given_up { Onward::Stop } else { Onward::Next }
    }

    fn compose(&mut self, event: Event<'a>) {
        let line = event.line;
        match event.data {
            Data::Alias(name) => self.alias(name, line),
            Data::Scalar { props, value, text } => self.scalar(&props, &value, text, line),
            Data::Sequence(props) => self.open_sequence(props, line),
            Data::Mapping(props) => self.open_mapping(props, line),
            Data::End => self.close(),
        }
    }

    fn refuse(&mut self, line: u32, refusal: Refusal) {
        let (kind, text) = match refusal {
            Refusal::Class(name) => {
                let kind = if name == "Date" { FaultKind::Date } else { FaultKind::Class };
                (kind, format!("Tried to load unspecified class: {name}"))
            }
            Refusal::Alias(name) => (FaultKind::Alias, format!("Unknown alias: {name}")),
            Refusal::Error(text) => (FaultKind::Exception, text),
            Refusal::Limit(text) => (FaultKind::Limit, text),
        };
        self.fault.get_or_insert(Fault { line, text, kind });
    }

    fn give_up(&mut self, line: u32, why: String) {
        self.refuse(line, Refusal::Limit(why));
        self.given_up = true;
        self.frames.clear();
        self.anchors.clear();
    }

    /// Adds to the size of the document, and gives up if it is too large.
    fn weigh(&mut self, weight: usize, line: u32) {
        self.weight += weight;
        if self.weight > self.max_weight {
            self.give_up(line, format!("aliases make more than {} MiB of the document", MAX_EXPANSION >> 20));
        }
    }

    fn scalar(&mut self, props: &Props<'a>, text: &str, is_text: bool, line: u32) {
        let resolved = match &props.tag {
            _ if is_text => Ok(Value::from(text)),
            None => scalar::resolve(text, self.psych),
            Some(tag) => tag::scalar(tag, text, self.psych),
        };
        let value = resolved.unwrap_or_else(|refusal| {
            self.refuse(line, refusal);
            Value::from(text)
        });
        let node = Node { value, marks: Arc::default(), height: 0, weight: 32 + text.len() };
        self.weigh(node.weight, line);
        if let Some(anchor) = props.anchor {
            self.anchors.insert(anchor, Anchor::Done(node.clone()));
        }
        self.add(node, Origin::Scalar, props.tag.as_deref(), line);
    }

    fn alias(&mut self, name: &str, line: u32) {
        self.is_entangled = true;
        let mut node = Node { value: Value::Undef, marks: Arc::default(), height: 0, weight: 0 };
        if self.refuses_aliases {
            self.refuse(line, Refusal::Alias(name.to_owned()));
        }
        match self.anchors.get(name) {
            Some(Anchor::Done(done)) => node = done.clone(),
            Some(Anchor::Open(serial)) => match self.merged_with_itself(*serial) {
                Some(merged) => node = merged,
                None => self.refuse(line, Refusal::Limit(format!("recursive alias: {name}"))),
            },
            None => self.refuse(line, Refusal::Alias(name.to_owned())),
        }
        if self.frames.len() + node.height > MAX_DEPTH {
            return self.give_up(line, too_deep());
        }
        self.weigh(32 + node.weight, line);
        self.add(node, Origin::Alias, None, line);
    }

    /// Returns the part of an enclosing mapping that `<<: *name` sees: the entries so far.
    fn merged_with_itself(&self, serial: usize) -> Option<Node> {
        let merges = matches!(
            self.frames.last(),
            Some(Frame { body: Body::Map { key: Some(Key { merges: true, .. }), .. }, .. })
        );
        let open = self.frames.iter().find(|frame| frame.serial == serial).filter(|_| merges)?;
        let Body::Map { entries, becomes: Becomes::Hash, .. } = &open.body else { return None };
        let weight = self.weight - open.weight_before;
        Some(Node {
            value: Value::hash(entries.hash.clone()),
            marks: entries.marks.as_slice().into(),
            height: open.height + 1,
            weight,
        })
    }

    fn open_sequence(&mut self, props: Props<'a>, line: u32) {
        match props.tag.as_deref().map_or(Ok(tag::Sequence::List), tag::sequence) {
            Ok(tag::Sequence::List) => {}
            Ok(tag::Sequence::Omap) => {
                self.is_entangled = true;
                self.recorder = Some(Recorder { line, props, kind: Recorded::Omap, depth: 1, events: Vec::new() });
                return;
            }
            Err(refusal) => self.refuse(line, refusal),
        }
        self.open(props, line, Body::List { items: Vec::new(), marks: Vec::new() });
    }

    fn open_mapping(&mut self, props: Props<'a>, line: u32) {
        let becomes = match props.tag.as_deref().map_or(Ok(tag::Mapping::Hash), tag::mapping) {
            Ok(tag::Mapping::Hash) => Becomes::Hash,
            Ok(tag::Mapping::Text) => Becomes::Text,
            Ok(tag::Mapping::WithVariables) => {
                // The anchor of such a mapping is not kept.
                let props = Props { anchor: None, ..props };
                let kind = Recorded::HashWithVariables;
                self.is_entangled = true;
                self.recorder = Some(Recorder { line, props, kind, depth: 1, events: Vec::new() });
                return;
            }
            Ok(tag::Mapping::RefusedLater(refusal)) => Becomes::Refused(refusal),
            Err(refusal) => {
                self.refuse(line, refusal);
                Becomes::Hash
            }
        };
        self.open(props, line, Body::Map { entries: Entries::default(), key: None, becomes });
    }

    fn open(&mut self, props: Props<'a>, line: u32, body: Body) {
        if self.frames.len() >= MAX_DEPTH {
            return self.give_up(line, too_deep());
        }
        self.serial += 1;
        let serial = self.serial;
        if let Some(anchor) = props.anchor {
            self.anchors.insert(anchor, Anchor::Open(serial));
        }
        let weight_before = self.weight;
        self.frames.push(Frame { line, props, height: 0, weight_before, body, serial });
        self.weigh(64, line);
    }

    fn close(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        let (value, marks, origin) = match frame.body {
            Body::List { items, marks } => (Value::array(items), marks.into(), Origin::Sequence),
            Body::Map { entries, becomes, .. } => {
                let origin = if matches!(becomes, Becomes::Omap) { Origin::Sequence } else { Origin::Mapping };
                let (value, marks) = self.closed_mapping(entries, becomes, frame.line);
                (value, marks, origin)
            }
        };
        let node = Node { value, marks, height: frame.height + 1, weight: self.weight - frame.weight_before };
        if let Some(anchor) = frame.props.anchor
            && let Some(slot) = self.anchors.get_mut(anchor)
            && matches!(slot, Anchor::Open(serial) if *serial == frame.serial)
        {
            *slot = Anchor::Done(node.clone());
        }
        self.add(node, origin, frame.props.tag.as_deref(), frame.line);
    }

    fn closed_mapping(&mut self, entries: Entries, becomes: Becomes, line: u32) -> (Value, Arc<[Marks]>) {
        match becomes {
            Becomes::Hash | Becomes::Omap => {}
            Becomes::Refused(refusal) => self.refuse(line, refusal),
            Becomes::Variables => {
                if let Some(refusal) = entries.hash.keys().find_map(tag::refused_variable) {
                    self.refuse(line, refusal);
                }
            }
            Becomes::Text => {
                if let Some(refusal) = tag::refused_text(&entries.hash) {
                    self.refuse(line, refusal);
                }
                let at = entries.hash.index_of_text("str");
                let marks = at.and_then(|at| entries.marks.get(at)).map(|m| m.children.clone());
                return (entries.hash.get("str").cloned().unwrap_or_default(), marks.unwrap_or_default());
            }
        }
        (Value::hash(entries.hash), entries.marks.into())
    }

    /// Puts a finished node into the innermost open collection.
    fn add(&mut self, node: Node, origin: Origin, tag: Option<&str>, line: u32) {
        let Some(frame) = self.frames.last_mut() else {
            if !self.given_up {
                self.root = Some((line, node));
            }
            return;
        };
        frame.height = frame.height.max(node.height);
        match &mut frame.body {
            Body::List { items, marks } => {
                items.push(node.value);
                marks.push(Marks { line, children: node.marks });
            }
            Body::Map { entries, key, becomes } => match key.take() {
                None => {
                    let may_merge = matches!(becomes, Becomes::Hash) && tag != Some(tag::TEXT);
                    let merges = may_merge && node.value.as_str() == Some("<<");
                    *key = Some(Key { value: node.value, line, merges });
                }
                Some(key) => match key.merges.then(|| merge_source(&node, origin)).flatten() {
                    Some((merged, lines)) => {
                        entries.merge(&merged, &lines);
                        self.is_entangled = true;
                        self.weigh(64 * merged.len(), line);
                    }
                    None => entries.insert(key, node),
                },
            },
        }
    }
}

fn too_deep() -> String {
    format!("values are nested more than {MAX_DEPTH} deep")
}
