//! The lookups of a manifest, and the parameters of classes, which Puppet looks up by itself.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::literal::{Expression, arguments, leading};
use super::tokens::{Token, Word, tokens};
use super::top_scope::TopScope;
use crate::value::{Hash, Value};

/// The strategies that are tried where one is not known.
const ANY: [&str; 4] = ["first", "deep", "hash", "unique"];

/// The lookups of a manifest.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lookups {
    /// The calls, in their order.
    pub calls: Vec<LookupCall>,
    /// The names of its classes.
    pub classes: BTreeSet<String>,
    /// Their parameters, by the keys that Puppet looks up for them: `CLASS::PARAMETER`.
    pub parameters: BTreeSet<String>,
    /// The variables that it sets outside of any block; `None` if it was not read.
    pub top_scope: Option<TopScope>,
}

/// A lookup.
#[derive(Debug, Clone, PartialEq)]
pub struct LookupCall {
    /// The key.
    pub key: KeyText,
    /// The strategy.
    pub merge: CallMerge,
    /// The line of the function's name, counted from 1.
    pub line: u32,
}

/// The text of a key in a call: its pieces, with something unknown between any two.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyText(Vec<String>);

/// The merge strategy of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallMerge {
    /// None is named: that of `lookup_options` counts.
    ByData,
    /// This one, as the `merge` of `lookup_options` has it: a name, or a hash with `strategy`.
    Named(Value),
    /// Perhaps one of these: it is decided at run time.
    Perhaps(Vec<Value>),
}

impl KeyText {
    /// Returns the key, if all of it is known.
    pub fn whole(&self) -> Option<&str> {
        if let [key] = &self.0[..] { Some(key) } else { None }
    }

    /// Returns a key of which nothing is known.
    fn any() -> KeyText {
        KeyText(vec![String::new(); 2])
    }

    /// Returns true if nothing of it is known.
    pub fn is_any(&self) -> bool {
        self.0.iter().all(String::is_empty)
    }

    /// Returns the part in front of the first dot: the key of the data, where nothing is quoted.
    #[must_use]
    pub fn root(&self) -> KeyText {
        let mut pieces = Vec::new();
        for piece in &self.0 {
            match piece.split_once('.') {
                Some((before, _)) => {
                    pieces.push(before.to_owned());
                    break;
                }
                None => pieces.push(piece.clone()),
            }
        }
        KeyText(pieces)
    }

    /// Returns its pieces.
    pub fn pieces(&self) -> &[String] {
        &self.0
    }
}

impl CallMerge {
    /// Returns that of which nothing is known.
    fn any() -> CallMerge {
        CallMerge::Perhaps(ANY.map(Value::from).to_vec())
    }

    /// Returns the strategies that it may be.
    pub fn possible(&self) -> &[Value] {
        match self {
            CallMerge::ByData => &[],
            CallMerge::Named(merge) => std::slice::from_ref(merge),
            CallMerge::Perhaps(merges) => merges,
        }
    }
}

impl Lookups {
    /// Reads the text of a manifest. It takes time in proportion to its length.
    pub fn of(text: &str) -> Lookups {
        let words = tokens(text);
        let values = Values::of(&words);
        let (mut lookups, mut class) = (Lookups { top_scope: Some(TopScope::of(&words)), ..Lookups::default() }, None);
        for (at, word) in words.iter().enumerate() {
            class = match &word.token {
                Token::Name(name) if name == "class" => lookups.class(&words[at + 1..]),
                token => class.and_then(|open: Class| lookups.parameter(open, token)),
            };
            lookups.calls.extend(calls_at(&words, at, &values, MOST_NESTED));
        }
        lookups
    }

    /// Adds a class whose name follows. Returns it if its parameters do; a resource `class { ... }` has no name here.
    fn class(&mut self, words: &[Word]) -> Option<Class> {
        let Token::Name(name) = &words.first()?.token else { return None };
        let name = name.trim_start_matches("::").to_owned();
        self.classes.insert(name.clone());
        let has_parameters = words.get(1).is_some_and(|word| word.token == Token::Sign('('));
        has_parameters.then_some(Class { name, depth: 0, is_in_default: false })
    }

    /// Adds the parameter that a word among those of a class is. Returns the class if more may follow.
    fn parameter(&mut self, mut class: Class, token: &Token) -> Option<Class> {
        match token {
            Token::Sign('(' | '[' | '{') => class.depth += 1,
            Token::Sign(')' | ']' | '}') => class.depth = class.depth.checked_sub(1).filter(|depth| *depth > 0)?,
            Token::Sign('=') if class.depth == 1 => class.is_in_default = true,
            Token::Sign(',') if class.depth == 1 => class.is_in_default = false,
            Token::Variable(name) if class.depth == 1 && !class.is_in_default => {
                self.parameters.insert(format!("{}::{name}", class.name));
            }
            _ => {}
        }
        Some(class)
    }
}

/// The deepest nesting of strings in the expressions of strings; a call that is deeper may be about anything.
const MOST_NESTED: usize = 8;

/// Returns the calls that the word at a place begins, or that the expressions in it make, at most so deep.
fn calls_at(words: &[Word], at: usize, values: &Values, depth: usize) -> Vec<LookupCall> {
    let line = words[at].line;
    match &words[at].token {
        Token::Name(name) => {
            let Some(function) = Function::named(name) else { return Vec::new() };
            let Some(arguments) = all_arguments(words, at) else { return Vec::new() };
            let merge = function.merge(&arguments, values);
            let call = |key| LookupCall { key, merge: merge.clone(), line };
            function.keys(&arguments, values).into_iter().map(call).collect()
        }
        Token::Template(template) => {
            let inner = template.between.iter().filter(|inner| inner.contains(['(', '.']));
            inner.flat_map(|inner| calls_within(inner, line, values, depth)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the calls of an expression in a string that begins on a line.
fn calls_within(inner: &str, line: u32, values: &Values, depth: usize) -> Vec<LookupCall> {
    let Some(depth) = depth.checked_sub(1) else {
        return vec![LookupCall { key: KeyText::any(), merge: CallMerge::any(), line }];
    };
    let words = tokens(inner);
    let calls = (0..words.len()).flat_map(|at| calls_at(&words, at, values, depth));
    calls.map(|call| LookupCall { line: line + call.line - 1, ..call }).collect()
}

/// A class whose parameters are read.
struct Class {
    name: String,
    /// The number of brackets that are open; none before the first.
    depth: usize,
    is_in_default: bool,
}

/// The literals that a manifest sets variables to, or gives them as defaults.
#[derive(Default)]
pub(super) struct Values {
    known: HashMap<String, Vec<Value>>,
    /// The variables that are set to a hash that is no literal.
    options: HashSet<String>,
}

/// The most literals of one variable that are told apart, and the most items of one: with more it is not known.
const MOST_VALUES: usize = 20;

impl Values {
    fn of(words: &[Word]) -> Values {
        let mut values = Values::default();
        for (at, pair) in words.windows(2).enumerate() {
            let (Token::Variable(name), Token::Sign('=')) = (&pair[0].token, &pair[1].token) else { continue };
            let known = values.known.entry(name.clone()).or_default();
            let value = leading(first(&words[at + 2..]));
            if value.is_none() && words.get(at + 2).is_some_and(|word| word.token == Token::Sign('{')) {
                values.options.insert(name.clone());
            }
            if known.len() <= MOST_VALUES {
                known.extend(value.map(|(value, _)| value));
            }
        }
        values.known.retain(|_, known| known.len() <= MOST_VALUES && known.iter().all(is_short));
        values
    }

    /// Returns true for a variable that may be the options of a lookup, its key among them.
    fn may_be_options(&self, name: &str) -> bool {
        self.options.contains(name) || self.get(name).iter().any(|value| value.as_hash().is_some())
    }

    fn get(&self, name: &str) -> &[Value] {
        self.known.get(name).map_or(&[], Vec::as_slice)
    }
}

fn is_short(value: &Value) -> bool {
    value.as_array().is_none_or(|items| items.len() <= MOST_VALUES)
}

/// The most words that are read of a call, or of a value.
const MOST_WORDS: usize = 500;

/// Returns the words that are read at a place.
fn first(words: &[Word]) -> &[Word] {
    &words[..words.len().min(MOST_WORDS)]
}

/// Returns the arguments of a call of the function at a place; of a method the first one is before the dot.
/// One that is too long may be about anything.
fn all_arguments(words: &[Word], at: usize) -> Option<Vec<Expression>> {
    let rest = &words[at + 1..];
    let is_call = rest.first().is_some_and(|word| word.token == Token::Sign('('));
    let whole = arguments(first(rest));
    let mut arguments = match whole {
        None if is_call && rest.len() > MOST_WORDS => vec![Expression::Other; 3],
        whole => whole?,
    };
    if at > 0 && words[at - 1].token == Token::Sign('.') {
        let subject = match words[..at - 1].last().map(|word| &word.token) {
            Some(Token::Text(text)) => Expression::Literal(text.as_str().into()),
            Some(Token::Template(template)) => Expression::Template(template.pieces.clone()),
            _ => Expression::Other,
        };
        arguments.insert(0, subject);
    }
    Some(arguments)
}

/// The functions that look something up.
#[derive(Clone, Copy)]
pub(super) enum Function {
    Lookup,
    /// One of Hiera 3's, which always merges like this.
    Hiera(&'static str),
}

impl Function {
    pub(super) fn named(name: &str) -> Option<Function> {
        match name.trim_start_matches("::") {
            "lookup" => Some(Function::Lookup),
            "hiera" => Some(Function::Hiera("first")),
            "hiera_array" | "hiera_include" => Some(Function::Hiera("unique")),
            "hiera_hash" => Some(Function::Hiera("hash")),
            _ => None,
        }
    }

    /// Returns the keys that are looked up, as far as they are known, with the `values` of variables that stand for
    /// one.
    pub(super) fn keys(self, arguments: &[Expression], values: &Values) -> Vec<KeyText> {
        let Some(first) = arguments.first() else { return Vec::new() };
        let name = first.entry("name");
        match name.as_ref().unwrap_or(first) {
            Expression::Literal(name) => self.named_by(name),
            Expression::Template(pieces) => vec![KeyText(pieces.clone())],
            Expression::Variable(name) => match values.get(name) {
                _ if values.options.contains(name) => vec![KeyText::any()],
                [] => vec![KeyText::any()],
                known => known.iter().flat_map(|value| self.named_by(value)).collect(),
            },
            Expression::Options(_) => Vec::new(),
            Expression::Other => vec![KeyText::any()],
        }
    }

    fn named_by(self, name: &Value) -> Vec<KeyText> {
        match name {
            Value::String(name) => vec![KeyText(vec![name.to_string()])],
            Value::Array(names) if matches!(self, Function::Lookup) => {
                names.iter().filter_map(Value::as_str).map(|name| KeyText(vec![name.to_owned()])).collect()
            }
            Value::Hash(options) => options.get("name").map_or_else(Vec::new, |name| self.named_by(name)),
            _ => Vec::new(),
        }
    }

    /// Returns the strategy that the call names: `lookup(NAME, TYPE, MERGE, ...)`, or an option in the last or only
    /// argument. `values` are those of variables.
    fn merge(self, arguments: &[Expression], values: &Values) -> CallMerge {
        if let Function::Hiera(strategy) = self {
            return CallMerge::Named(strategy.into());
        }
        let of_options = |options: &Expression| options.entry("merge");
        let named = match arguments {
            [_, _, merge, ..] if of_options(merge).is_none() => Some(merge.clone()),
            [_, options @ Expression::Variable(_)] => Some(options.clone()),
            [options @ Expression::Variable(name)] if values.may_be_options(name) => Some(options.clone()),
            [options] => of_options(options),
            [_, rest @ ..] => rest.iter().rev().find_map(of_options),
            [] => None,
        };
        match named {
            Some(Expression::Literal(merge)) if is_strategy(&merge) => CallMerge::Named(merge),
            None | Some(Expression::Literal(_)) => CallMerge::ByData,
            Some(Expression::Variable(name)) => CallMerge::Perhaps(strategies_of(&name, values)),
            Some(_) => CallMerge::any(),
        }
    }
}

/// Returns the strategies that a variable may stand for.
fn strategies_of(name: &str, values: &Values) -> Vec<Value> {
    let strategy = |value: Value| value.as_hash().and_then(|options| options.get("merge").cloned()).unwrap_or(value);
    let values: Vec<Value> = values.get(name).iter().cloned().map(strategy).filter(is_strategy).collect();
    if values.is_empty() { ANY.map(Value::from).to_vec() } else { values }
}

fn is_strategy(merge: &Value) -> bool {
    match merge {
        Value::String(_) => true,
        Value::Hash(options) => has_strategy(options),
        _ => false,
    }
}

fn has_strategy(options: &Hash) -> bool {
    options.get("strategy").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the calls in one line each: line, key, strategy.
    fn told(text: &str) -> Vec<String> {
        let tell = |LookupCall { key, merge, line }: LookupCall| {
            let merge = match merge {
                CallMerge::ByData => "-".to_owned(),
                CallMerge::Named(merge) => merge.inspect(),
                CallMerge::Perhaps(merges) => format!("{}?", Value::Array(merges.into()).inspect()),
            };
            format!("{line} {} {merge}", key.0.join("*"))
        };
        Lookups::of(text).calls.into_iter().map(tell).collect()
    }

    #[test]
    fn all_ways_to_name_a_strategy() {
        let text = r#"
$a = lookup('files', {merge => deep})
$b = lookup('b', Hash, 'deep', {})
$c = lookup({ 'name' => 'c', 'merge' => { 'strategy' => 'deep', 'knockout_prefix' => '--' } })
$d = lookup(['d', "e"], Array[String], 'unique', []).map |$x| { $x }
$f = lookup('f', default_value => {}, merge => 'hash')
class { 'x': y => hiera_hash('g', {}), z => hiera_array("h") }
hiera_include 'classes'
$i = 'i'.lookup(Hash, 'deep') + ::lookup('j', undef, first, undef)
$k = lookup('k'); lookup('l', String); hiera('m', 'x'); lookup('n', {default_value => {merge => deep}})
$o = lookup('o', Hash, undef, {})
"#;
        let expected = [
            "2 files \"deep\"",
            "3 b \"deep\"",
            "4 c {\"strategy\"=>\"deep\", \"knockout_prefix\"=>\"--\"}",
            "5 d \"unique\"",
            "5 e \"unique\"",
            "6 f \"hash\"",
            "7 g \"hash\"",
            "7 h \"unique\"",
            "8 classes \"unique\"",
            "9 i \"deep\"",
            "9 j \"first\"",
            "10 k -",
            "10 l -",
            "10 m \"first\"",
            "10 n -",
            "11 o -",
        ];
        assert_eq!(told(text), expected);
    }

    #[test]
    fn what_is_known_in_part_is_told() {
        let text = r#"
class p($strategy = 'hash', $other) {
  lookup("include.${::runmode}", Array, 'deep')
  lookup("users_$role", {merge => $strategy})
  $list = ['x', 'y']
  lookup($list, Hash, $other)
  lookup($name, Hash, 'deep')
  lookup('z', $options)
  lookup('v', { merge => $other, default_value => $x })
  lookup("a\tb${c["d"]}e:$f::g:h", Hash, if $x { 'deep' } else { 'hash' })
  $x.lookup('no')
}
"#;
        let expected = [
            "3 include.* \"deep\"",
            "4 users_* [\"hash\"]?",
            "6 x [\"first\", \"deep\", \"hash\", \"unique\"]?",
            "6 y [\"first\", \"deep\", \"hash\", \"unique\"]?",
            "7 * \"deep\"",
            "8 z [\"first\", \"deep\", \"hash\", \"unique\"]?",
            "9 v [\"first\", \"deep\", \"hash\", \"unique\"]?",
            "10 a*b*e:*:h [\"first\", \"deep\", \"hash\", \"unique\"]?",
            "11 * -",
        ];
        assert_eq!(told(text), expected);
    }

    #[test]
    fn calls_in_strings_and_options_in_variables_are_told() {
        let text = r#"
$a = "x${lookup('a', Hash, 'deep')}"
$b = "y: ${hiera_hash("b")["c"]} and ${ 'c'.lookup({merge => unique}) }"
$d = "
  ${join(["${lookup("d${x}", Array, 'unique')}"], ',')}"
$o = {name => 'o', merge => deep}
$p = lookup($o)
$q = {name => $x, merge => deep}
$r = lookup($q)
$s = "lookup('no', Hash, 'deep') \${lookup('no', Hash, 'deep')} $lookup('no')"
$t = 't'
$u = lookup($t)
"#;
        let expected = [
            "2 a \"deep\"",
            "3 b \"hash\"",
            "3 c \"unique\"",
            "4 d* \"unique\"",
            "7 o [\"deep\"]?",
            "9 * [\"first\", \"deep\", \"hash\", \"unique\"]?",
            "12 t -",
        ];
        assert_eq!(told(text), expected);
        let deep = format!("{}lookup('x'){}", "\"${f(".repeat(100_000), ")}\"".repeat(100_000));
        assert_eq!(told(&deep), ["1 * [\"first\", \"deep\", \"hash\", \"unique\"]?"]);
    }

    #[test]
    fn what_is_no_call_is_passed_over() {
        let text = r#"
# lookup('a', {merge => deep})
/* lookup('b', {merge => deep}) */
$x = "lookup('c', {merge => deep})"
$y = @("END"/L)
  lookup('d', {merge => deep}) it's
  | END
$z = $v =~ /it's "/ ? { default => 1 }
notify { 'lookup': message => 10 / 2 }
lookup('last', {'merge' => 'deep'})
"#;
        assert_eq!(told(text), ["10 last \"deep\""]);
        for broken in
            ["lookup(", "lookup('a', {", "'", "\"${", "@(", "@(\"X\")\nx", "/* ", "lookup('a', [[[[{merge =>", "$"]
        {
            assert_eq!(told(broken), Vec::<String>::new(), "{broken}");
        }
        // What is too long to be read may be about any key.
        assert_eq!(
            told(&format!("lookup({}", "[".repeat(100_000))),
            ["1 * [\"first\", \"deep\", \"hash\", \"unique\"]?"]
        );
        assert_eq!(told(&"lookup(".repeat(1000)).len(), 750);
    }

    #[test]
    fn the_root_of_a_key_ends_with_its_first_dot() {
        let key = |pieces: &[&str]| KeyText(pieces.iter().map(|piece| (*piece).to_owned()).collect());
        assert_eq!(key(&["include.", ""]).root(), key(&["include"]));
        assert_eq!(key(&["a", "b.c", "d"]).root(), key(&["a", "b"]));
        assert!(key(&["", ""]).is_any() && !key(&["", "x"]).is_any());
    }

    #[test]
    fn parameters_of_classes_are_told() {
        let text = r"
class a::b (
  String $x,
  Hash[String, Array[$t]] $y = { 'k' => $z, 'l' => f($q, $r) },
  $w = $v,
) inherits a { class { 'no': p => $o } class c($d) {} }
class ::e { $f = 1 }
define g($h) { }
";
        let lookups = Lookups::of(text);
        assert_eq!(Vec::from_iter(&lookups.classes), ["a::b", "c", "e"]);
        assert_eq!(Vec::from_iter(&lookups.parameters), ["a::b::w", "a::b::x", "a::b::y", "c::d"]);
        for broken in ["class", "class a", "class a(", "class a($b", "class a($b = [", "class a)", "class a(]"] {
            assert!(Lookups::of(broken).parameters.len() <= 1, "{broken}");
        }
    }
}
