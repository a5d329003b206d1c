//! The lookups of a manifest, a template or a function, and the parameters of classes, which Puppet looks up by itself.

use std::collections::BTreeSet;

use super::call::LookupCall;
use super::function::lookups_at;
use super::given::Fed;
use super::tokens::{Token, Word, tokens, tokens_from};
use super::top_scope::TopScope;
use super::values::Values;
use super::{ruby, template};

/// The languages of files that look something up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// A manifest.
    Manifest,
    /// A template in the language of manifests.
    Epp,
    /// A template in Ruby.
    Erb,
    /// A template in one of the two languages, depending on what evaluates it.
    Template,
    /// Functions in Ruby.
    Ruby,
}

impl Language {
    /// Returns the language of the file at `path`, if it may look something up.
    pub fn of(path: &str) -> Option<Language> {
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let is_in = |folder: &str| folders.split('/').any(|name| name == folder);
        match name.rsplit_once('.').map_or("", |(_, end)| end) {
            "pp" => Some(Language::Manifest),
            "epp" => Some(Language::Epp),
            "erb" => Some(Language::Erb),
            _ if is_in("templates") => Some(Language::Template),
            // Facts are evaluated on agents, which have no data.
            "rb" if is_in("lib") && !folders.ends_with("lib/facter") => Some(Language::Ruby),
            _ => None,
        }
    }
}

/// The lookups of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lookups {
    /// The calls, in their order.
    pub calls: Vec<LookupCall>,
    /// The names of its classes.
    pub classes: BTreeSet<String>,
    /// Their parameters, by the keys that Puppet looks up for them: `CLASS::PARAMETER`.
    pub parameters: BTreeSet<String>,
    /// The recipients to which it may pass options.
    pub fed: BTreeSet<Fed>,
    /// The variables that it sets outside of any block; `None` if it was not read.
    pub top_scope: Option<TopScope>,
}

impl Lookups {
    /// Returns a measure of its size: the number of calls, classes and parameters, and a quarter of that of
    /// recipients, which are small.
    pub fn size(&self) -> usize {
        self.calls.len() + self.classes.len() + self.parameters.len() + self.fed.len() / 4
    }

    /// Reads a text in a language. It takes time in proportion to its length.
    pub fn of(text: &str, language: Language) -> Lookups {
        let calls = match language {
            Language::Manifest => return Lookups::of_manifest(text),
            _ if !LOOKUP_WORDS.iter().any(|name| text.contains(name)) => Vec::new(),
            Language::Ruby => ruby::lookups(text, 1),
            Language::Epp | Language::Erb | Language::Template => template_calls(text, 1, language, MOST_NESTED),
        };
        let mut fed = if language == Language::Epp { BTreeSet::new() } else { ruby::called(text) };
        if matches!(language, Language::Epp | Language::Template) {
            fed.extend(Values::of(&template::words(&template::code(text, 1))).given.fed);
        }
        Lookups { calls, fed, ..Lookups::default() }
    }

    fn of_manifest(text: &str) -> Lookups {
        let words = tokens(text);
        let values = Values::of(&words);
        let (mut lookups, mut class) = (Lookups { top_scope: Some(TopScope::of(&words)), ..Lookups::default() }, None);
        for (at, word) in words.iter().enumerate() {
            class = match &word.token {
                Token::Name(name) if name == "class" => lookups.add_class(&words[at + 1..]),
                token => class.and_then(|open: Class| lookups.add_parameter(open, token)),
            };
            lookups.calls.extend(calls_at(&words, at, &values, MOST_NESTED));
        }
        lookups.fed = values.given.fed;
        lookups
    }

    /// Adds the class whose name follows. Returns it if it has parameters. A resource `class { ... }` has no name
    /// here.
    fn add_class(&mut self, words: &[Word]) -> Option<Class> {
        let Token::Name(name) = &words.first()?.token else { return None };
        let name = name.trim_start_matches("::").to_owned();
        self.classes.insert(name.clone());
        let has_parameters = words.get(1).is_some_and(|word| word.token == Token::Sign('('));
        has_parameters.then_some(Class { name, depth: 0, is_in_default: false })
    }

    /// Adds the parameter of a class, if `token` is one. Returns the class if more may follow.
    fn add_parameter(&mut self, mut class: Class, token: &Token) -> Option<Class> {
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

/// Words of which each template or Ruby file that looks something up contains at least one.
const LOOKUP_WORDS: [&str; 6] = ["lookup", "Lookup", "hiera", "call_function", "EvaluatingParser", "evaluate_string"];

/// The maximum depth of strings inside the expressions of strings; a deeper call may look up any key.
const MOST_NESTED: usize = 8;

/// Returns the calls that begin at a word, or that expressions inside it make, down to a depth.
fn calls_at(words: &[Word], at: usize, values: &Values, depth: usize) -> Vec<LookupCall> {
    let line = words[at].line;
    match &words[at].token {
        Token::Name(name) => lookups_at(words, at, name, values),
        Token::Text(text) => template_calls(text, line, Language::Template, depth),
        Token::Template(template) => {
            let inner = template.between.iter().filter(|inner| inner.contains(['(', '.']));
            let mut calls: Vec<LookupCall> = inner.flat_map(|inner| calls_within(inner, line, values, depth)).collect();
            calls.extend(template_calls(&template.text(), line, Language::Template, depth));
            calls
        }
        _ => Vec::new(),
    }
}

/// Returns the calls of an expression in a string that begins on `line`.
fn calls_within(inner: &str, line: u32, values: &Values, depth: usize) -> Vec<LookupCall> {
    let Some(depth) = depth.checked_sub(1) else { return vec![LookupCall::any_key(line)] };
    let words = tokens_from(inner, line);
    (0..words.len()).flat_map(|at| calls_at(&words, at, values, depth)).collect()
}

/// Returns the calls of a template that begins on `line`.
fn template_calls(text: &str, line: u32, language: Language, depth: usize) -> Vec<LookupCall> {
    let code = template::code(text, line);
    let Some(first) = code.first() else { return Vec::new() };
    let Some(depth) = depth.checked_sub(1) else { return vec![LookupCall::any_key(first.line)] };
    let mut calls = Vec::new();
    if language != Language::Erb {
        let words = template::words(&code);
        let values = Values::of(&words);
        calls.extend((0..words.len()).flat_map(|at| calls_at(&words, at, &values, depth)));
    }
    if language != Language::Epp {
        calls.extend(code.iter().flat_map(|code| ruby::lookups(code.text, code.line)));
    }
    calls
}

/// A class whose parameters are read.
struct Class {
    name: String,
    /// The number of open brackets; 0 before the first.
    depth: usize,
    is_in_default: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puppet::manifest::CallMerge;
    use crate::value::Value;

    /// Returns the calls, one per line: line, key, strategy.
    fn described_calls(text: &str) -> Vec<String> {
        let describe = |LookupCall { key, merge, line, .. }: LookupCall| {
            let merge = match merge {
                CallMerge::ByData => "-".to_owned(),
                CallMerge::Named(merge) => merge.inspect(),
                CallMerge::Perhaps(merges) => format!("{}?", Value::Array(merges.into()).inspect()),
            };
            format!("{line} {} {merge}", key.pieces().join("*"))
        };
        Lookups::of(text, Language::Manifest).calls.into_iter().map(describe).collect()
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
        assert_eq!(described_calls(text), expected);
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
        assert_eq!(described_calls(text), expected);
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
        assert_eq!(described_calls(text), expected);
        let deep = format!("{}lookup('x'){}", "\"${f(".repeat(100_000), ")}\"".repeat(100_000));
        assert_eq!(described_calls(&deep), ["1 * [\"first\", \"deep\", \"hash\", \"unique\"]?"]);
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
        assert_eq!(described_calls(text), ["10 last \"deep\""]);
        for broken in
            ["lookup(", "lookup('a', {", "'", "\"${", "@(", "@(\"X\")\nx", "/* ", "lookup('a', [[[[{merge =>", "$"]
        {
            assert_eq!(described_calls(broken), Vec::<String>::new(), "{broken}");
        }
        // A text that is too long to read may look up any key.
        assert_eq!(
            described_calls(&format!("lookup({}", "[".repeat(100_000))),
            ["1 * [\"first\", \"deep\", \"hash\", \"unique\"]?"]
        );
        assert_eq!(described_calls(&"lookup(".repeat(1000)).len(), 750);
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
        let lookups = Lookups::of(text, Language::Manifest);
        assert_eq!(Vec::from_iter(&lookups.classes), ["a::b", "c", "e"]);
        assert_eq!(Vec::from_iter(&lookups.parameters), ["a::b::w", "a::b::x", "a::b::y", "c::d"]);
        for broken in ["class", "class a", "class a(", "class a($b", "class a($b = [", "class a)", "class a(]"] {
            assert!(Lookups::of(broken, Language::Manifest).parameters.len() <= 1, "{broken}");
        }
    }
}
