//! Node blocks of a manifest such as `site.pp`, and the variables that they set to literals.
//!
//! Source: `resource/type_collection.rb` (`node`), `parser/compiler.rb` (`evaluate_ast_node`).

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::str::FromStr;

use super::literal::leading;
use super::tokens::{Token, Word, closing, tokens};
use crate::puppet::regex::RubyRegex;
use crate::value::Value;

/// Words that are not values, although they look like names.
pub(super) const KEYWORDS: [&str; 14] = [
    "if", "unless", "case", "else", "elsif", "and", "or", "in", "node", "class", "define", "function", "default",
    "inherits",
];

/// Words that are followed by names of classes.
const CLASS_STATEMENTS: [&str; 4] = ["include", "contain", "require", "class"];

/// The node blocks of a manifest.
#[derive(Debug, Default)]
pub struct NodeBlocks {
    blocks: Vec<NodeBlock>,
    exact: HashMap<String, usize>,
    patterns: Vec<(Option<RubyRegex>, usize)>,
    default: Option<usize>,
}

/// A node block.
#[derive(Debug)]
pub struct NodeBlock {
    /// The line that it begins on, counted from 1.
    pub line: u32,
    /// The variables that it sets, each once.
    pub assignments: Vec<Assignment>,
}

/// A variable that a node block sets.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// Its name.
    pub name: String,
    /// The value; `None` if it is not a literal, or is not always set.
    pub value: Option<Value>,
    /// The line, counted from 1.
    pub line: u32,
}

/// A call that stands for a variable, with the variable in the place of its argument: `role($role)`, or
/// `include role::$role`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPattern {
    /// The variable.
    pub variable: String,
    call: Call,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Call {
    /// A function of this name.
    Function(String),
    /// A class whose name begins like this.
    Include(String),
}

impl FromStr for CallPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<CallPattern, String> {
        let usage = || format!("must be a call such as 'role($role)' or 'include role::$role', not '{text}'");
        let (before, after) = text.trim().split_once('$').ok_or_else(usage)?;
        let end = after.find(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_').unwrap_or(after.len());
        let (variable, rest) = after.split_at(end);
        let call = match (before.strip_suffix('('), before.strip_prefix("include "), rest) {
            (Some(function), None, ")") if !function.is_empty() => Call::Function(function.trim().to_owned()),
            (None, Some(prefix), "") => Call::Include(prefix.trim().trim_start_matches("::").to_owned()),
            _ => return Err(usage()),
        };
        if variable.is_empty() { Err(usage()) } else { Ok(CallPattern { variable: variable.to_owned(), call }) }
    }
}

impl fmt::Display for CallPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.call {
            Call::Function(name) => write!(f, "{name}(${})", self.variable),
            Call::Include(prefix) => write!(f, "include {prefix}${}", self.variable),
        }
    }
}

impl CallPattern {
    /// Returns the calls with a literal in the node blocks of a manifest, each once, with `variable` in place of the
    /// part that differs. These calls may stand for the variable.
    pub fn in_blocks(text: &str, variable: &str) -> Vec<CallPattern> {
        let words = tokens(text);
        let mut calls = BTreeSet::new();
        for (_, body) in heads_and_bodies(&words) {
            for (at, word) in body.iter().enumerate() {
                if let Token::Name(name) = &word.token {
                    calls.extend(literal_calls(name, &body[at + 1..]));
                }
            }
        }
        calls.into_iter().map(|call| CallPattern { variable: variable.to_owned(), call }).collect()
    }
}

/// Returns the calls that begin with a name.
fn literal_calls(name: &str, rest: &[Word]) -> Vec<Call> {
    if KEYWORDS.contains(&name) && name != "class" {
        return Vec::new();
    }
    if CLASS_STATEMENTS.contains(&name) {
        let prefix = |class: &str| class.split_once("::").map(|(first, _)| Call::Include(format!("{first}::")));
        let classes = included_classes(rest, "", name == "class").into_iter().flatten();
        return classes.filter_map(|class| prefix(class.as_str()?)).collect();
    }
    match rest {
        [open, argument, close, ..]
            if open.token == Token::Sign('(') && close.token == Token::Sign(')') && class_name(argument).is_some() =>
        {
            vec![Call::Function(name.to_owned())]
        }
        _ => Vec::new(),
    }
}

impl NodeBlocks {
    /// Reads the node blocks of a manifest. Calls that match `call` set its variable, too.
    pub fn parse(text: &str, call: Option<&CallPattern>) -> NodeBlocks {
        let words = tokens(text);
        let mut found = NodeBlocks::default();
        for (head, body) in heads_and_bodies(&words) {
            found.add(head, body, call);
        }
        found
    }

    /// Returns all blocks, in their order.
    pub fn blocks(&self) -> &[NodeBlock] {
        &self.blocks
    }

    /// Returns the block of a node, or `None` if it has none: the one that names it, or else the first whose pattern
    /// matches, or else the default. If a pattern cannot be tried, fails with its block's line.
    pub fn block_for(&self, node: &str) -> Result<Option<&NodeBlock>, u32> {
        let node = node.to_lowercase();
        if let Some(number) = self.exact.get(&node) {
            return Ok(self.blocks.get(*number));
        }
        for (pattern, number) in &self.patterns {
            let is_match = pattern.as_ref().and_then(|pattern| pattern.is_match(&node).ok());
            let block = self.blocks.get(*number);
            if is_match.ok_or_else(|| block.map_or(0, |block| block.line))? {
                return Ok(block);
            }
        }
        Ok(self.default.and_then(|number| self.blocks.get(number)))
    }

    /// Adds the block with this head and body.
    fn add(&mut self, head: &[Word], body: &[Word], call: Option<&CallPattern>) {
        let number = self.blocks.len();
        let line = head.first().map_or(0, |word| word.line);
        for names in head.get(1..).unwrap_or_default().split(|word| word.token == Token::Sign(',')) {
            match names {
                [Word { token: Token::Regex(pattern), .. }] => {
                    self.patterns.push((RubyRegex::compile(pattern).ok(), number));
                }
                [Word { token: Token::Name(name), .. }] if name == "default" => self.default = Some(number),
                names => _ = self.exact.entry(name_text(names).to_lowercase()).or_insert(number),
            }
        }
        self.blocks.push(NodeBlock { line, assignments: Body { words: body, call }.assignments() });
    }
}

/// Returns the words before and between the brackets of each node block.
fn heads_and_bodies(words: &[Word]) -> Vec<(&[Word], &[Word])> {
    let (mut found, mut depth, mut at) = (Vec::new(), 0usize, 0);
    while at < words.len() {
        match &words[at].token {
            Token::Sign('{' | '(' | '[') => depth += 1,
            Token::Sign('}' | ')' | ']') => depth = depth.saturating_sub(1),
            Token::Name(name) if name == "node" && depth == 0 => {
                let open = words[at..].iter().position(|word| word.token == Token::Sign('{'));
                let Some(open) = open.map(|open| at + open) else { break };
                let close = closing(words, open);
                found.push((&words[at..open], words.get(open + 1..close).unwrap_or_default()));
                at = close;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Returns the text of a name, with or without quotes.
fn name_text(words: &[Word]) -> String {
    let text = |word: &Word| match &word.token {
        Token::Name(text) | Token::Text(text) => text.clone(),
        Token::Sign(sign) => sign.to_string(),
        _ => String::new(),
    };
    words.iter().map(text).collect()
}

/// The body of a node block.
struct Body<'w> {
    words: &'w [Word],
    call: Option<&'w CallPattern>,
}

impl Body<'_> {
    /// Returns the variables that the body sets. One that is set more than once has no known value.
    fn assignments(&self) -> Vec<Assignment> {
        let (mut all, mut depth) = (Vec::<Assignment>::new(), 0usize);
        for (at, word) in self.words.iter().enumerate() {
            match &word.token {
                Token::Sign('{' | '(' | '[') => depth += 1,
                Token::Sign('}' | ')' | ']') => depth = depth.saturating_sub(1),
                _ => {}
            }
            for (name, value) in self.assignments_at(at) {
                let value = value.filter(|_| depth == 0 && begins_statement(self.words, at));
                match all.iter_mut().find(|known| known.name == name) {
                    Some(known) => known.value = None,
                    None => all.push(Assignment { name, value, line: word.line }),
                }
            }
        }
        all
    }

    /// Returns the variables that the word at a place sets, with their values.
    fn assignments_at(&self, at: usize) -> Vec<(String, Option<Value>)> {
        let rest = &self.words[at + 1..];
        match &self.words[at].token {
            Token::Variable(name) if is_assigned(rest) => vec![(name.clone(), whole_literal(&rest[1..]))],
            Token::Sign(']') if is_assigned(rest) => {
                variables_before(self.words, at).map(|name| (name.to_owned(), None)).collect()
            }
            Token::Name(name) => self.assignment_by_call(name, rest).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the variable that a call sets.
    fn assignment_by_call(&self, name: &str, rest: &[Word]) -> Option<(String, Option<Value>)> {
        let CallPattern { variable, call } = self.call?;
        let value = match call {
            Call::Function(function) if function == name => match rest {
                [open, argument, close, ..] if open.token == Token::Sign('(') && close.token == Token::Sign(')') => {
                    class_name(argument).map(Value::from)
                }
                _ => None,
            },
            Call::Include(prefix) if CLASS_STATEMENTS.contains(&name) => {
                match &included_classes(rest, prefix, name == "class")[..] {
                    [] => return None,
                    [one] => one.clone(),
                    _ => None,
                }
            }
            _ => return None,
        };
        Some((variable.clone(), value))
    }
}

/// Returns the variables of an array that ends at a place, including those of nested arrays.
pub(super) fn variables_before(words: &[Word], at: usize) -> impl Iterator<Item = &str> {
    let mut depth = 1;
    let array = words[..at].iter().rev().take_while(move |word| {
        match word.token {
            Token::Sign(']') => depth += 1,
            Token::Sign('[') => depth -= 1,
            // Anything else ends the array, so that no word is visited again for each of many `]`.
            Token::Sign(',') | Token::Variable(_) => {}
            _ => depth = 0,
        }
        depth > 0
    });
    array.filter_map(|word| if let Token::Variable(name) = &word.token { Some(&**name) } else { None })
}

/// Returns true if a statement may begin at a place.
pub(super) fn begins_statement(words: &[Word], at: usize) -> bool {
    match at.checked_sub(1).map(|before| &words[before].token) {
        None | Some(Token::Sign('}' | ')' | ']' | ';')) => true,
        Some(Token::Sign(_) | Token::Arrow) => false,
        Some(Token::Name(name)) => !KEYWORDS.contains(&&**name),
        Some(_) => true,
    }
}

/// Returns true if these words begin by assigning to what is before them.
pub(super) fn is_assigned(rest: &[Word]) -> bool {
    let sign = |at: usize| rest.get(at).map(|word| &word.token);
    sign(0) == Some(&Token::Sign('=')) && !matches!(sign(1), Some(Token::Sign('=' | '~')))
}

/// Returns true if an expression ends with its `last` word, and the `next` one begins a statement.
pub(super) fn ends_with(last: &Word, next: Option<&Word>) -> bool {
    let Some(next) = next else { return true };
    match &next.token {
        Token::Sign(';' | '@') | Token::Variable(_) => true,
        // On a new line, the bracket begins a list, and is no access to the value before it.
        Token::Sign('[') => last.line < next.line,
        Token::Name(name) => !matches!(&**name, "and" | "or" | "in"),
        _ => false,
    }
}

/// Returns the literal that words begin with, if the statement ends with it.
fn whole_literal(words: &[Word]) -> Option<Value> {
    let (value, length) = leading(words)?;
    let (literal, rest) = words.split_at(length);
    if !literal.iter().all(|word| is_plain(&word.token)) {
        return None;
    }
    // A bare word may be a function whose argument follows.
    let is_word = |name: &str| {
        !matches!(name, "true" | "false" | "undef") && !name.starts_with(|first: char| first.is_ascii_digit())
    };
    let is_name = matches!(literal, [Word { token: Token::Name(name), .. }] if is_word(name));
    let (last, next) = (literal.last()?, rest.first());
    let is_last = next.is_none_or(|next| last.line < next.line);
    Some(value).filter(|_| ends_with(last, next) && (is_last || !is_name))
}

/// Returns true for the words of literals.
pub(super) fn is_plain(token: &Token) -> bool {
    match token {
        Token::Text(_) | Token::Arrow | Token::Sign('[' | ']' | '{' | '}' | ',') => true,
        Token::Name(name) if name.starts_with(|first: char| first.is_ascii_digit()) => {
            (name == "0" || !name.starts_with('0')) && name.parse::<i64>().is_ok()
        }
        Token::Name(name) => {
            !KEYWORDS.contains(&&**name) && !name.split("::").any(|part| part.starts_with(char::is_uppercase))
        }
        _ => false,
    }
}

/// Returns the name of a class, without its leading `::`.
fn class_name(word: &Word) -> Option<String> {
    match &word.token {
        Token::Name(name) | Token::Text(name) => Some(name.trim_start_matches("::").to_owned()),
        _ => None,
    }
}

/// Returns what follows `prefix` in the names of included classes, leaving out names that begin differently; `None`
/// for an unknown name.
fn included_classes(rest: &[Word], prefix: &str, is_resource: bool) -> Vec<Option<Value>> {
    let is_open = |word: &Word| matches!(word.token, Token::Sign('(' | '[' | '{'));
    if is_resource && !rest.first().is_some_and(is_open) {
        return Vec::new();
    }
    let mut names = Vec::new();
    let mut words = rest.iter().skip_while(|word| is_open(word));
    while let Some(word) = words.next() {
        names.push(class_name(word));
        if words.next().is_none_or(|next| next.token != Token::Sign(',')) || is_resource {
            break;
        }
    }
    let fits = |name: &Option<String>| name.as_ref().is_none_or(|name| name.starts_with(prefix));
    names.into_iter().filter(fits).map(|name| name.map(|name| Value::from(&name[prefix.len()..]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the variables that the block of a node sets, one per line.
    fn assigned(text: &str, call: &str, node: &str) -> Vec<String> {
        let call: CallPattern = call.parse().unwrap();
        let blocks = NodeBlocks::parse(text, Some(&call));
        let Some(block) = blocks.block_for(node).unwrap() else { return vec!["no block".to_owned()] };
        let value = |value: &Option<Value>| value.as_ref().map_or("unknown".to_owned(), Value::inspect);
        block.assignments.iter().map(|set| format!("{} {}={}", set.line, set.name, value(&set.value))).collect()
    }

    #[test]
    fn blocks_are_found_as_puppet_finds_them() {
        let text = "class x { node => 1 }\nnode /^web/, 'Db.example.com' { role(one) }\nnode /1\\.example\\/*/ { role(two) }\n\
                    node web2.example-a.com { role('three') }\nnode default { role(four) }\n";
        for (node, role) in [
            ("web1.example.com", "one"),
            ("WEB9", "one"),
            ("db.example.com", "one"),
            ("a1.example", "two"),
            ("web2.example-a.com", "three"),
            ("other", "four"),
        ] {
            assert!(assigned(text, "role($r)", node)[0].ends_with(&format!("r=\"{role}\"")), "{node}");
        }
        assert_eq!(assigned("node a { }", "role($r)", "b"), ["no block"]);
        assert_eq!(NodeBlocks::parse("node /(/ { }", None).block_for("a").err(), Some(1));
    }

    #[test]
    fn literals_are_values() {
        let text = "node default {\n  $a = 'x'\n  $b = 12 $c = true\n  $d = [1, 'y']\n  $e = {k => v, 'l' => [undef]}\n  $f = bare::word\n\
                    \x20 include ::role::web # role\n  notify { 'x': message => \"$a\" }\n}\n";
        let expected = [
            "2 a=\"x\"",
            "3 b=12",
            "3 c=true",
            "4 d=[1, \"y\"]",
            "5 e={\"k\"=>\"v\", \"l\"=>[nil]}",
            "6 f=\"bare::word\"",
            "7 r=\"web\"",
        ];
        assert_eq!(assigned(text, "include role::$r", "n"), expected);
        // A list on a new line is no access to the value before it.
        assert_eq!(assigned("node default { $g = 7\n[$h, $i] = [1, 2] }", "role($r)", "n")[0], "1 g=7");
        let of_class = "node default { class { '::role::db::main': x => $y } }";
        assert_eq!(assigned(of_class, "include role::$r", "n"), ["1 r=\"db::main\""]);
    }

    #[test]
    fn what_is_no_literal_is_unknown() {
        for statement in [
            "$a = \"$b\"",
            "$a = 'x' + 'y'",
            "$a = 'x'\n + 'y'",
            "$a = lookup('x')",
            "$a = Foo",
            "$a = 010",
            "$a = 1.5",
            "$a = -1",
            "$a = [Foo]",
            "$a = {x => $y}",
            "$a = $b",
            "if $x { $a = 1 }",
            "[$a] = [1]",
            "$a = 1\n$a = 1",
            "$a = $x ? { default => 1 }",
            "$a = if $x { 1 }",
            "$x and $a = 1",
            "$a = include foo",
            "role($x)",
            "role('x', 'y')",
            "role(\"x$y\")",
            "role('x') role('y')",
            "if $x { role(y) }",
        ] {
            let found = assigned(&format!("node default {{\n{statement}\n}}"), "role($a)", "n");
            assert!(found[0].ends_with("a=unknown"), "{statement}: {found:?}");
        }
        for statement in ["include $x", "include role::a, role::b", "if $x { include role::a }", "include \"role::$x\""]
        {
            let found = assigned(&format!("node default {{ {statement} }}"), "include role::$a", "n");
            assert_eq!(found, ["1 a=unknown"], "{statement}");
        }
        assert_eq!(assigned("node default { include base, role::x }", "include role::$a", "n"), ["1 a=\"x\""]);
        assert_eq!(assigned("node default { $x == 1 include base }", "include role::$a", "n"), [""; 0]);
    }

    #[test]
    fn calls_in_blocks_are_found() {
        let text = "class x { outside(a) }\nnode a { role(one) role('two') f($x) g(1, 2) if h(x) {}\n include base, role::web\n\
                    class { '::profile::x': } notify { 'y': } }\nnode b { unless { role(three) } }";
        let found = CallPattern::in_blocks(text, "r");
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["h($r)", "role($r)", "include profile::$r", "include role::$r"]);
        let parsed = found.iter().map(|text| text.parse::<CallPattern>().unwrap().to_string());
        assert_eq!(parsed.collect::<Vec<_>>(), found);
    }

    #[test]
    fn patterns_are_calls_with_one_variable() {
        for text in ["role($role)", "include role::$role"] {
            assert_eq!(text.parse::<CallPattern>().unwrap().to_string(), text);
        }
        for text in ["", "role", "role()", "role($)", "($x)", "include role::x", "role($a, $b)"] {
            assert!(text.parse::<CallPattern>().is_err(), "{text}");
        }
    }
}
