//! Events from tokens: libyaml's state machine, for one document.

use std::borrow::Cow;
use std::collections::HashMap;
use std::mem;

use super::super::event::{Data, Event, Onward, Props};
use super::input::{Mark, fault};
use super::scanner::Scanner;
use super::token::Kind;
use crate::puppet::document::Fault;
use crate::puppet::server::Notes;

/// The state of the parser: the part that it expects next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    DocumentEnd,
    BlockNode,
    BlockSequenceFirst,
    BlockSequence,
    IndentlessSequence,
    BlockMappingFirst,
    BlockMappingKey,
    BlockMappingValue,
    FlowSequenceFirst,
    FlowSequence,
    PairKey,
    PairValue,
    PairEnd,
    FlowMappingFirst,
    FlowMappingKey,
    FlowMappingValue,
    FlowMappingEmptyValue,
}

/// The events of the first document of a text.
pub(super) struct Parser<'a> {
    scanner: Scanner<'a>,
    state: State,
    /// The states to continue with after the current node.
    states: Vec<State>,
    /// The starts of the open collections.
    starts: Vec<Mark>,
    /// The prefixes of tag handles that were declared.
    prefixes: HashMap<&'a str, String, foldhash::fast::RandomState>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(content: &'a [u8]) -> Parser<'a> {
        Parser {
            scanner: Scanner::new(content),
            state: State::BlockNode,
            states: Vec::new(),
            starts: Vec::new(),
            prefixes: HashMap::default(),
        }
    }

    /// Returns a parser that reads like a Puppet server.
    pub(super) fn of_server(content: &'a [u8]) -> Parser<'a> {
        Parser { scanner: Scanner::of_server(content), ..Parser::new(b"") }
    }

    /// Returns the places that a Puppet server reads differently.
    pub(super) fn into_notes(self) -> Notes {
        self.scanner.notes
    }

    /// Feeds the document's events to `sink`.
    pub(super) fn document(&mut self, sink: &mut impl FnMut(Event<'a>) -> Onward) -> Result<(), Fault> {
        if !self.document_start(sink)? {
            return Ok(());
        }
        loop {
            if self.state == State::DocumentEnd {
                break;
            }
            let event = self.next_event()?;
            if let Onward::Stop = sink(event) {
                return Ok(());
            }
        }
        // Psych has the document only after reading the token that follows it.
        self.scanner.peek().map(|_| ())
    }

    /// Returns true if no other document follows the one that was read.
    pub(super) fn is_at_end(&mut self) -> Result<bool, Fault> {
        while let Kind::DocumentEnd = self.scanner.peek()?.kind {
            self.scanner.skip_token();
        }
        Ok(matches!(self.scanner.peek()?.kind, Kind::StreamEnd))
    }

    /// Reads up to the first node. Returns false if there is no document.
    fn document_start(&mut self, sink: &mut impl FnMut(Event<'a>) -> Onward) -> Result<bool, Fault> {
        match self.scanner.peek()?.kind {
            Kind::StreamEnd => return Ok(false),
            Kind::Version { .. } | Kind::TagDirective { .. } | Kind::DocumentStart => {}
            _ => {
                self.directives()?;
                self.states.push(State::DocumentEnd);
                return Ok(true);
            }
        }
        self.directives()?;
        let token = self.scanner.peek()?;
        if !matches!(token.kind, Kind::DocumentStart) {
            return Err(fault("did not find expected <document start>", token.start, "", Mark::default()));
        }
        self.scanner.skip_token();
        self.states.push(State::DocumentEnd);
        let token = self.scanner.peek()?;
        if matches!(
            token.kind,
            Kind::Version { .. }
                | Kind::TagDirective { .. }
                | Kind::DocumentStart
                | Kind::DocumentEnd
                | Kind::StreamEnd
        ) {
            let event = empty_scalar(token.start);
            self.resume();
            _ = sink(event);
        }
        Ok(true)
    }

    fn directives(&mut self) -> Result<(), Fault> {
        let mut has_version = false;
        loop {
            let token = self.scanner.peek()?;
            let refuse = |problem| Err(fault(problem, token.start, "", Mark::default()));
            match &mut token.kind {
                Kind::Version { .. } if has_version => return refuse("found duplicate %YAML directive"),
                Kind::Version { major: 1, minor: 1 | 2 } => has_version = true,
                Kind::Version { .. } => return refuse("found incompatible YAML document"),
                Kind::TagDirective { handle, .. } if self.prefixes.contains_key(handle) => {
                    return refuse("found duplicate %TAG directive");
                }
                Kind::TagDirective { handle, prefix } => _ = self.prefixes.insert(handle, mem::take(prefix)),
                _ => break,
            }
            self.scanner.skip_token();
        }
        Ok(())
    }

    /// Returns the prefix of a tag handle, declared or YAML's own, or `None` if there is none.
    fn prefix(&self, handle: &str) -> Option<&str> {
        let declared = self.prefixes.get(handle).map(String::as_str);
        declared.or(match handle {
            "!" => Some("!"),
            "!!" => Some("tag:yaml.org,2002:"),
            _ => None,
        })
    }

    /// Returns to the state that follows the node that is done.
    fn resume(&mut self) {
        self.state = self.states.pop().unwrap_or(State::DocumentEnd);
    }

    fn next_event(&mut self) -> Result<Event<'a>, Fault> {
        match self.state {
            State::BlockNode | State::DocumentEnd => self.node(true, false),
            State::BlockSequenceFirst => {
                self.enter()?;
                self.block_sequence()
            }
            State::BlockSequence => self.block_sequence(),
            State::IndentlessSequence => self.indentless_sequence(),
            State::BlockMappingFirst => {
                self.enter()?;
                self.block_mapping_key()
            }
            State::BlockMappingKey => self.block_mapping_key(),
            State::BlockMappingValue => self.block_mapping_value(),
            State::FlowSequenceFirst => {
                self.enter()?;
                self.flow_sequence(true)
            }
            State::FlowSequence => self.flow_sequence(false),
            State::PairKey => self.pair_key(),
            State::PairValue => {
                self.flow_value(State::PairEnd, |kind| matches!(kind, Kind::FlowEntry | Kind::FlowSequenceEnd))
            }
            State::PairEnd => {
                let line = self.scanner.peek()?.start.line_number();
                self.state = State::FlowSequence;
                Ok(Event { line, data: Data::End })
            }
            State::FlowMappingFirst => {
                self.enter()?;
                self.flow_mapping_key(true)
            }
            State::FlowMappingKey => self.flow_mapping_key(false),
            State::FlowMappingValue => {
                self.flow_value(State::FlowMappingKey, |kind| matches!(kind, Kind::FlowEntry | Kind::FlowMappingEnd))
            }
            State::FlowMappingEmptyValue => {
                let mark = self.scanner.peek()?.start;
                self.state = State::FlowMappingKey;
                Ok(empty_scalar(mark))
            }
        }
    }

    /// Takes the token that starts a collection.
    fn enter(&mut self) -> Result<(), Fault> {
        let mark = self.scanner.peek()?.start;
        self.starts.push(mark);
        self.scanner.skip_token();
        Ok(())
    }

    /// Takes the token that ends a collection.
    fn leave(&mut self, mark: Mark) -> Event<'a> {
        self.starts.pop();
        self.scanner.skip_token();
        self.resume();
        Event { line: mark.line_number(), data: Data::End }
    }

    /// Returns a fault within the innermost open collection.
    fn unexpected<T>(&mut self, problem: &str, at: Mark, context: &str) -> Result<T, Fault> {
        Err(fault(problem, at, context, self.starts.pop().unwrap_or_default()))
    }

    /// Returns a node, after which `next` follows.
    fn node_then(&mut self, next: State, block: bool, indentless: bool) -> Result<Event<'a>, Fault> {
        self.states.push(next);
        self.node(block, indentless)
    }

    /// Returns an empty node at `mark`, after which `next` follows.
    fn empty_then(&mut self, next: State, mark: Mark) -> Event<'a> {
        self.state = next;
        empty_scalar(mark)
    }

    fn node(&mut self, block: bool, indentless: bool) -> Result<Event<'a>, Fault> {
        let token = self.scanner.peek()?;
        let mut start = token.start;
        if let Kind::Alias(name) = token.kind {
            self.scanner.skip_token();
            self.resume();
            return Ok(Event { line: start.line_number(), data: Data::Alias(name) });
        }
        let props = self.properties(&mut start)?;
        let token = self.scanner.peek()?;
        let line = start.line_number();
        let next = match &mut token.kind {
            Kind::Scalar { value, plain } => {
                let text = !*plain && props.tag.is_none();
                let data = Data::Scalar { props, value: mem::take(value), text };
                self.scanner.skip_token();
                self.resume();
                return Ok(Event { line, data });
            }
            Kind::BlockEntry if indentless => State::IndentlessSequence,
            Kind::FlowSequenceStart => State::FlowSequenceFirst,
            Kind::FlowMappingStart => State::FlowMappingFirst,
            Kind::BlockSequenceStart if block => State::BlockSequenceFirst,
            Kind::BlockMappingStart if block => State::BlockMappingFirst,
            _ if props != Props::default() => {
                self.resume();
                return Ok(Event { line, data: Data::Scalar { props, value: Cow::Borrowed(""), text: false } });
            }
            _ => {
                let context = if block { "while parsing a block node" } else { "while parsing a flow node" };
                return Err(fault("did not find expected node content", token.start, context, start));
            }
        };
        self.state = next;
        let mapping = matches!(next, State::FlowMappingFirst | State::BlockMappingFirst);
        Ok(Event { line, data: if mapping { Data::Mapping(props) } else { Data::Sequence(props) } })
    }

    /// Returns an anchor and a tag, in any order, at most one of each.
    fn properties(&mut self, start: &mut Mark) -> Result<Props<'a>, Fault> {
        let mut props = Props::default();
        let mut tag: Option<(&'a str, String, Mark)> = None;
        loop {
            let token = self.scanner.peek()?;
            match &mut token.kind {
                Kind::Anchor(name) if props.anchor.is_none() => props.anchor = Some(name),
                Kind::Tag { handle, suffix } if tag.is_none() => tag = Some((handle, mem::take(suffix), token.start)),
                _ => break,
            }
            self.scanner.skip_token();
        }
        if let Some((handle, suffix, at)) = tag {
            props.tag = Some(match self.prefix(handle) {
                _ if handle.is_empty() => suffix.into(),
                Some(prefix) => format!("{prefix}{suffix}").into(),
                None => return Err(fault("found undefined tag handle", at, "while parsing a node", *start)),
            });
        }
        Ok(props)
    }

    fn block_sequence(&mut self) -> Result<Event<'a>, Fault> {
        let token = self.scanner.peek()?;
        let (start, end) = (token.start, token.end);
        match token.kind {
            Kind::BlockEntry => {
                self.scanner.skip_token();
                match self.scanner.peek()?.kind {
                    Kind::BlockEntry | Kind::BlockEnd => Ok(self.empty_then(State::BlockSequence, end)),
                    _ => self.node_then(State::BlockSequence, true, false),
                }
            }
            Kind::BlockEnd => Ok(self.leave(start)),
            _ => self.unexpected("did not find expected '-' indicator", start, "while parsing a block collection"),
        }
    }

    /// Returns a sequence in a mapping, at the mapping's own indentation.
    fn indentless_sequence(&mut self) -> Result<Event<'a>, Fault> {
        let token = self.scanner.peek()?;
        let (start, end) = (token.start, token.end);
        if !matches!(token.kind, Kind::BlockEntry) {
            self.resume();
            return Ok(Event { line: start.line_number(), data: Data::End });
        }
        self.scanner.skip_token();
        match self.scanner.peek()?.kind {
            Kind::BlockEntry | Kind::Key | Kind::Value | Kind::BlockEnd => {
                Ok(self.empty_then(State::IndentlessSequence, end))
            }
            _ => self.node_then(State::IndentlessSequence, true, false),
        }
    }

    fn block_mapping_key(&mut self) -> Result<Event<'a>, Fault> {
        let token = self.scanner.peek()?;
        let (start, end) = (token.start, token.end);
        match token.kind {
            Kind::Key => {
                self.scanner.skip_token();
                self.block_mapping_node(State::BlockMappingValue, end)
            }
            Kind::BlockEnd => Ok(self.leave(start)),
            _ => self.unexpected("did not find expected key", start, "while parsing a block mapping"),
        }
    }

    fn block_mapping_value(&mut self) -> Result<Event<'a>, Fault> {
        let token = self.scanner.peek()?;
        let (start, end) = (token.start, token.end);
        if !matches!(token.kind, Kind::Value) {
            return Ok(self.empty_then(State::BlockMappingKey, start));
        }
        self.scanner.skip_token();
        self.block_mapping_node(State::BlockMappingKey, end)
    }

    /// Parses the node after the indicator of a key or a value, which ends at `mark`.
    fn block_mapping_node(&mut self, next: State, mark: Mark) -> Result<Event<'a>, Fault> {
        match self.scanner.peek()?.kind {
            Kind::Key | Kind::Value | Kind::BlockEnd => Ok(self.empty_then(next, mark)),
            _ => self.node_then(next, true, true),
        }
    }

    fn flow_sequence(&mut self, first: bool) -> Result<Event<'a>, Fault> {
        if !first && !self.flow_separator(|kind| matches!(kind, Kind::FlowSequenceEnd))? {
            let at = self.scanner.peek()?.start;
            return self.unexpected("did not find expected ',' or ']'", at, "while parsing a flow sequence");
        }
        let token = self.scanner.peek()?;
        let start = token.start;
        match token.kind {
            Kind::FlowSequenceEnd => Ok(self.leave(start)),
            Kind::Key => {
                self.scanner.skip_token();
                self.state = State::PairKey;
                Ok(Event { line: start.line_number(), data: Data::Mapping(Props::default()) })
            }
            _ => self.node_then(State::FlowSequence, false, false),
        }
    }

    /// Takes the comma between two items. Returns false if there is neither a comma nor the end.
    fn flow_separator(&mut self, is_end: impl Fn(&Kind<'a>) -> bool) -> Result<bool, Fault> {
        match &self.scanner.peek()?.kind {
            Kind::FlowEntry => self.scanner.skip_token(),
            kind => return Ok(is_end(kind)),
        }
        Ok(true)
    }

    /// Returns the key of a pair in a sequence: `[a: b]`.
    fn pair_key(&mut self) -> Result<Event<'a>, Fault> {
        let token = self.scanner.peek()?;
        if matches!(token.kind, Kind::Value | Kind::FlowEntry | Kind::FlowSequenceEnd) {
            let mark = token.end;
            self.scanner.skip_token();
            return Ok(self.empty_then(State::PairValue, mark));
        }
        self.node_then(State::PairValue, false, false)
    }

    /// Returns the value after a `:` in a flow collection, which may be missing.
    fn flow_value(&mut self, next: State, is_end: impl Fn(&Kind<'a>) -> bool) -> Result<Event<'a>, Fault> {
        if matches!(self.scanner.peek()?.kind, Kind::Value) {
            self.scanner.skip_token();
            if !is_end(&self.scanner.peek()?.kind) {
                return self.node_then(next, false, false);
            }
        }
        let mark = self.scanner.peek()?.start;
        Ok(self.empty_then(next, mark))
    }

    fn flow_mapping_key(&mut self, first: bool) -> Result<Event<'a>, Fault> {
        if !first && !self.flow_separator(|kind| matches!(kind, Kind::FlowMappingEnd))? {
            let at = self.scanner.peek()?.start;
            return self.unexpected("did not find expected ',' or '}'", at, "while parsing a flow mapping");
        }
        let token = self.scanner.peek()?;
        let start = token.start;
        match token.kind {
            Kind::FlowMappingEnd => Ok(self.leave(start)),
            Kind::Key => {
                self.scanner.skip_token();
                let token = self.scanner.peek()?;
                let mark = token.start;
                match token.kind {
                    Kind::Value | Kind::FlowEntry | Kind::FlowMappingEnd => {
                        Ok(self.empty_then(State::FlowMappingValue, mark))
                    }
                    _ => self.node_then(State::FlowMappingValue, false, false),
                }
            }
            _ => self.node_then(State::FlowMappingEmptyValue, false, false),
        }
    }
}

fn empty_scalar(mark: Mark) -> Event<'static> {
    let data = Data::Scalar { props: Props::default(), value: Cow::Borrowed(""), text: false };
    Event { line: mark.line_number(), data }
}
