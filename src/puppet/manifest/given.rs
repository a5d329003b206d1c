//! Options of a lookup that reach it from elsewhere: `function f($options) { lookup($options) }`.
//!
//! Callers set a parameter, perhaps in other files. So each file reports which functions, defined types and variables
//! it may pass options to, and on whose parameters or values its own lookups depend. A parameter whose type allows no
//! hashes carries no options. Parameters of classes may have any value, since data sets them.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::literal::MAKING_TEXTS;
use super::site::is_assigned;
use super::tokens::{MOST_WORDS, Token, Word, closing, first, tokens_from};

/// A recipient of options: a function or a defined type by its name, a variable by its name with the `$`, or
/// [`ANYTHING`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fed {
    /// Its name.
    pub to: String,
    /// The function, defined type or variable that the options come from, so that they are passed on only if it is
    /// given some; `None` if they are passed in any case.
    pub by: Option<String>,
}

/// The name that stands for any recipient, if the called one is not known.
pub const ANYTHING: &str = "*";

/// Returns true for a variable that is or may be set to options, or to a value that contains some.
pub(super) type HasOptions<'v> = &'v dyn Fn(&str) -> bool;

/// The origin of a value that may be the options of a lookup.
#[derive(Debug, Clone, Default)]
pub(super) struct Source {
    /// True if it may be options whatever callers pass.
    pub(super) is_any: bool,
    /// The functions and defined types of which it may be a parameter, and the variables of which it may be the
    /// value.
    pub(super) origins: BTreeSet<String>,
}

/// The options in a file that come from elsewhere, and those that it passes on.
#[derive(Default)]
pub(super) struct Given {
    sources: HashMap<String, Source>,
    /// The variables that the file sets, and its parameters.
    assigned: HashSet<String>,
    /// The recipients that it gives options in any case.
    certain: HashSet<String>,
    pub(super) fed: BTreeSet<Fed>,
}

/// The maximum depth to which strings inside the expressions of strings are read.
const MAX_NESTING: usize = 8;

/// The maximum number of recipients of one file; a file with more may give options to anything.
const MAX_FED: usize = 2000;

/// The maximum number of words that are read of an array that is assigned to: variables and commas.
const MAX_ARRAY_WORDS: usize = 50;

impl Given {
    /// Reads the words of a file.
    pub(super) fn of(words: &[Word], has_options: HasOptions<'_>) -> Given {
        let mut given = Given::default();
        for (at, word) in words.iter().enumerate() {
            match &word.token {
                Token::Variable(name) if is_assigned(&words[at + 1..]) => drop(given.assigned.insert(name.clone())),
                Token::Sign(']') if is_assigned(&words[at + 1..]) => given.note_array_assignment(&words[..at]),
                _ => {}
            }
        }
        given.read(words, has_options, MAX_NESTING);
        for name in given.assigned.clone() {
            let source = given.source(&name, has_options);
            given.feed(&format!("${name}"), &source);
        }
        given
    }

    /// Returns the source of the options that a variable may hold.
    pub(super) fn source(&self, name: &str, has_options: HasOptions<'_>) -> Source {
        if has_options(name) {
            return Source { is_any: true, ..Source::default() };
        }
        match self.sources.get(name) {
            Some(source) => source.clone(),
            None if self.assigned.contains(name) || name.is_empty() => Source::default(),
            None => Source {
                origins: [format!("${}", name.rsplit("::").next().unwrap_or(name))].into(),
                ..Source::default()
            },
        }
    }

    /// Notes the variables of an array that is assigned to. The words end before its `]`.
    fn note_array_assignment(&mut self, words: &[Word]) {
        for word in words.iter().rev().take(MAX_ARRAY_WORDS) {
            match &word.token {
                Token::Variable(name) => {
                    self.assigned.insert(name.clone());
                    self.sources.entry(name.clone()).or_default().is_any = true;
                }
                Token::Sign(',' | ']') => {}
                _ => return,
            }
        }
    }

    fn read(&mut self, words: &[Word], has_options: HasOptions<'_>, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let (mut open, mut is_block) = (None::<Parameters>, false);
        for (at, word) in words.iter().enumerate() {
            if let Some(parameters) = open.take() {
                open = self.parameter(parameters, &word.token);
            }
            match &word.token {
                Token::Sign('|') => {
                    is_block = !is_block;
                    let is_collector = at > 0 && words[at - 1].token == Token::Sign('<');
                    if is_block && !is_collector {
                        open = Some(Parameters::of(self.before(&words[..at], has_options), false));
                    }
                }
                Token::Name(kind) if ["class", "define", "function", "plan"].contains(&&**kind) => {
                    open = Parameters::named(kind, &words[at + 1..]).or(open);
                }
                Token::Name(name) => self.call(words, at, name, has_options),
                Token::Variable(name) if is_assigned(&words[at + 1..]) => {
                    let source = self.literal(first(&words[at + 2..]), has_options);
                    self.add(name, &source);
                }
                Token::Template(template) => {
                    for inner in template.between.iter().filter(|inner| inner.contains(['(', '.'])) {
                        self.read(&tokens_from(inner, word.line), has_options, depth);
                    }
                }
                _ => {}
            }
        }
    }

    fn add(&mut self, name: &str, source: &Source) {
        self.assigned.insert(name.to_owned());
        if source.is_any || !source.origins.is_empty() {
            self.sources.entry(name.to_owned()).or_default().join(source.clone());
        }
    }

    /// Notes that `to` is given options from `source`.
    fn feed(&mut self, to: &str, source: &Source) {
        if source.is_any && !self.certain.insert(to.to_owned()) {
            return;
        }
        let by = source.origins.iter().filter(|_| !source.is_any).cloned().map(Some);
        let by = by.chain(source.is_any.then_some(None)).filter(|by| by.as_deref() != Some(to));
        let fed: Vec<Fed> = by.map(|by| Fed { to: to.to_owned(), by }).collect();
        self.fed.extend(fed);
        if self.fed.len() > MAX_FED {
            self.fed = [Fed { to: ANYTHING.to_owned(), by: None }].into();
        }
    }

    /// Reads a word of a parameter list. Returns the list if it goes on.
    fn parameter(&mut self, mut open: Parameters, token: &Token) -> Option<Parameters> {
        if std::mem::take(&mut open.is_bare) && *token != Token::Sign('[') {
            open.is_text = Some(false);
        }
        match token {
            Token::Sign('(' | '[' | '{') => open.depth += 1,
            Token::Sign(')' | ']' | '}') => open.depth = open.depth.checked_sub(1).filter(|depth| *depth > 0)?,
            Token::Sign('|') if open.depth == 1 => return None,
            Token::Sign('=') if open.depth == 1 => open.is_default = true,
            Token::Sign(',') if open.depth == 1 => (open.is_default, open.is_text) = (false, None),
            Token::Name(name) if open.depth > 0 && !open.is_default => {
                let is_text = WITHOUT_HASHES.contains(&&**name) || name.starts_with(|sign: char| sign.is_ascii_digit());
                open.is_text = Some(open.is_text != Some(false) && is_text);
                open.is_bare = WITH_TYPES.contains(&&**name);
            }
            Token::Variable(name) if open.depth == 1 && !open.is_default => {
                self.assigned.insert(name.clone());
                if open.is_text != Some(true) {
                    self.add(name, &open.source);
                }
            }
            _ => {}
        }
        Some(open)
    }

    /// Notes the options that are passed to the call or the resource that begins with a name.
    fn call(&mut self, words: &[Word], at: usize, name: &str, has_options: HasOptions<'_>) {
        let sign = |at: usize| words.get(at).map(|word| &word.token);
        let is_method = at > 0 && sign(at - 1) == Some(&Token::Sign('.'));
        let is_open = matches!(sign(at + 1), Some(Token::Sign('(' | '{' | '[' | '<')));
        if (!is_open && !is_method) || passes_on(name) {
            return;
        }
        let is_type = name.trim_start_matches("::").starts_with(|sign: char| sign.is_ascii_uppercase());
        let rest = first(&words[at + 1..]);
        let open = at
            + 1
            + match sign(at + 1) {
                // `Type['title'] { ... }`
                Some(Token::Sign('[')) if is_type => closing(rest, 0) + 1,
                // `Type <| ... |> { ... }`
                Some(Token::Sign('<')) if is_type => {
                    rest.iter().position(|word| word.token == Token::Sign('{')).unwrap_or_default()
                }
                _ => 0,
            };
        let is_given = match sign(open) {
            _ if follows_kind(words, at) => false,
            Some(Token::Sign('(')) => open == at + 1 && (!is_type || BY_NAME.contains(&name)),
            Some(Token::Sign('{')) => !is_method && !BLOCKS.contains(&name),
            _ => false,
        };
        let is_known = || !BY_NAME.contains(&name) && self.certain.contains(name);
        if (!is_given && !is_method) || is_known() {
            return;
        }
        let mut source = Source::default();
        if is_method {
            source.join(self.before(&words[..at - 1], has_options));
        }
        let inner = if is_given { inner(&words[open..]) } else { Some(&[][..]) };
        source.join(
            inner.map_or_else(|| Source { is_any: true, ..Source::default() }, |all| self.within(all, has_options)),
        );
        if !BY_NAME.contains(&name) {
            return self.feed(&name.trim_start_matches("::").to_ascii_lowercase(), &source);
        }
        // The function or the type is an argument.
        let before = if is_method { &words[at.saturating_sub(2)..at] } else { &[] };
        let mut is_named = false;
        for word in before.iter().chain(inner.unwrap_or_default()) {
            if let Token::Text(name) = &word.token {
                is_named = true;
                self.feed(&name.trim_start_matches("::").to_ascii_lowercase(), &source);
            }
        }
        if !is_named {
            self.feed(ANYTHING, &source);
        }
    }

    /// Returns the source of the expression at the end of some words: a value with its methods, or a call.
    fn before(&self, words: &[Word], has_options: HasOptions<'_>) -> Source {
        let last = &words[words.len().saturating_sub(MOST_WORDS)..];
        let start = expression_start(last);
        // The parameters of a template have no expression before them: they come from anywhere, too.
        let is_any = start == last.len() || start == 0 && last.len() < words.len();
        if is_any { Source { is_any, ..Source::default() } } else { self.within(&last[start..], has_options) }
    }

    /// Returns the source of the variable, array or hash that words begin with.
    fn literal(&self, words: &[Word], has_options: HasOptions<'_>) -> Source {
        match words.first().map(|word| &word.token) {
            Some(Token::Sign('[' | '{')) => {
                inner(words).map_or_else(Source::default, |all| self.within(all, has_options))
            }
            Some(Token::Variable(name)) => self.source(name, has_options),
            _ => Source::default(),
        }
    }

    /// Returns the source of all options among words.
    fn within(&self, words: &[Word], has_options: HasOptions<'_>) -> Source {
        let mut source = Source::default();
        for (at, word) in words.iter().enumerate() {
            let next = words.get(at + 1);
            let is_next = |sign: char| next.is_some_and(|next| next.token == Token::Sign(sign));
            let is_entry = next.is_some_and(|next| next.token == Token::Arrow);
            let is_method = at > 0 && words[at - 1].token == Token::Sign('.');
            source.is_any = match &word.token {
                Token::Name(name) | Token::Text(name) if is_entry => name == "merge",
                Token::Template(_) | Token::Variable(_) if is_entry => true,
                Token::Name(name) => (is_next('(') || is_method) && !passes_on(name),
                Token::Variable(_) if is_next('[') && next.is_some_and(|next| next.is_joined) => true,
                Token::Variable(name) => {
                    source.join(self.source(name, has_options));
                    source.is_any
                }
                _ => false,
            };
            if source.is_any {
                break;
            }
        }
        source
    }
}

impl Source {
    fn join(&mut self, other: Source) {
        self.is_any |= other.is_any;
        self.origins.extend(other.origins);
    }
}

/// A parameter list that is being read.
struct Parameters {
    source: Source,
    /// The number of open brackets, including the one around the parameters; 0 before that.
    depth: usize,
    is_default: bool,
    /// True if the type allows no hashes, false if it may; `None` without a type.
    is_text: Option<bool>,
    /// True directly after one of the [`WITH_TYPES`], whose bracket may follow.
    is_bare: bool,
}

impl Parameters {
    fn of(source: Source, is_named: bool) -> Parameters {
        Parameters { source, depth: usize::from(!is_named), is_default: false, is_text: None, is_bare: false }
    }

    /// Returns the parameters of the class, function or defined type whose name follows, if it has any.
    fn named(kind: &str, words: &[Word]) -> Option<Parameters> {
        let [Word { token: Token::Name(name), .. }, Word { token: Token::Sign('('), .. }, ..] = words else {
            return None;
        };
        let origins = BTreeSet::from([name.trim_start_matches("::").to_owned()]);
        let source = Source { is_any: kind == "class", origins };
        Some(Parameters::of(source, true))
    }
}

/// The types whose values are not hashes, and the [`WITH_TYPES`].
const WITHOUT_HASHES: [&str; 15] = [
    "String",
    "Pattern",
    "Enum",
    "Array",
    "Optional",
    "NotUndef",
    "Variant",
    "Undef",
    "Integer",
    "Float",
    "Numeric",
    "Boolean",
    "Scalar",
    "ScalarData",
    "default",
];

/// The types whose values depend on the types between their brackets.
const WITH_TYPES: [&str; 4] = ["Array", "Optional", "NotUndef", "Variant"];

/// Functions that pass on only what they are given.
const ITERATING: [&str; 22] = [
    "each",
    "map",
    "filter",
    "reduce",
    "with",
    "then",
    "lest",
    "any",
    "all",
    "slice",
    "flatten",
    "unique",
    "sort",
    "keys",
    "values",
    "reverse_each",
    "step",
    "tree_each",
    "split",
    "String",
    "Integer",
    "length",
];

/// Functions that pass arguments to a function or a type that another argument names.
const BY_NAME: [&str; 6] = ["call", "Deferred", "new", "create_resources", "ensure_resource", "ensure_resources"];

/// Words before a block.
const BLOCKS: [&str; 4] = ["else", "default", "unless", "case"];

fn passes_on(name: &str) -> bool {
    ITERATING.contains(&name) || MAKING_TEXTS.contains(&name)
}

/// Returns true if the word before a place says what kind of thing is named there.
fn follows_kind(words: &[Word], at: usize) -> bool {
    const KINDS: [&str; 6] = ["class", "define", "function", "plan", "node", "inherits"];
    at > 0 && matches!(&words[at - 1].token, Token::Name(kind) if KINDS.contains(&&**kind))
}

/// Returns the words inside the bracket that `words` begin with, or `None` if its end is too far away.
fn inner(words: &[Word]) -> Option<&[Word]> {
    let words = first(words);
    let end = closing(words, 0);
    (end < words.len()).then(|| &words[1..end])
}

/// Returns the place where the expression at the end of some words begins: a value with its methods, or a call.
fn expression_start(words: &[Word]) -> usize {
    let mut at = words.len();
    while let Some(last) = at.checked_sub(1) {
        at = match words[last].token {
            Token::Sign(')' | ']' | '}') => opening(words, last),
            Token::Sign(_) | Token::Arrow | Token::Regex(_) => return at,
            _ => last,
        };
        let before = |back: usize| at.checked_sub(back).map(|at| &words[at].token);
        match (before(1), &words[at].token) {
            (Some(Token::Sign('.')), _) => at -= 1,
            (Some(Token::Name(_)), Token::Sign('(')) => {}
            (Some(Token::Variable(_) | Token::Sign(')' | ']')), Token::Sign('[')) if words[at].is_joined => {}
            // A block, with its parameters.
            (Some(Token::Sign('|')), Token::Sign('{')) => {
                at = words[..at - 1].iter().rposition(|word| word.token == Token::Sign('|')).unwrap_or_default();
            }
            _ => return at,
        }
    }
    at
}

/// Returns the place of the bracket that the one at `close` closes, or 0 if there is none.
fn opening(words: &[Word], close: usize) -> usize {
    let mut depth = 0usize;
    for (at, word) in words[..=close].iter().enumerate().rev() {
        match word.token {
            Token::Sign('}' | ')' | ']') => depth += 1,
            Token::Sign('{' | '(' | '[') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    0
}
