//! The lookups in Puppet manifests that name a merge strategy of their own, or that set a variable of the top scope;
//! and node blocks, with what they set.
//!
//! A strategy that a manifest passes to `lookup` wins over `lookup_options`, so that data alone does not say what a
//! node gets. Nothing is evaluated: a [`LookupCall`] counts if its name and its strategy are written as literals.
//!
//! Source: `puppet/functions/lookup.rb`, `hiera.rb`, `hiera_array.rb`, `hiera_hash.rb`, `hiera_include.rb`.

mod literal;
mod looked_up;
mod site;
mod tokens;

use crate::value::{Hash, Value};

use literal::arguments;
use tokens::{Token, tokens};

pub use looked_up::{LookedUp, looked_up};
pub use site::{Assignment, CallPattern, NodeBlock, NodeBlocks};

/// A lookup with a merge strategy of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct LookupCall {
    /// The key.
    pub key: String,
    /// The strategy, as the `merge` of `lookup_options` has it: a name, or a hash with `strategy`.
    pub merge: Value,
    /// The line of the function's name, counted from 1.
    pub line: u32,
}

/// Returns the lookups in the text of a manifest that name a merge strategy, in their order.
pub fn lookup_calls(text: &str) -> Vec<LookupCall> {
    let tokens = tokens(text);
    let mut calls = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Token::Name(name) = &token.token else { continue };
        // A method's first argument is before the dot.
        if at > 0 && tokens[at - 1].token == Token::Sign('.') {
            continue;
        }
        let Some(function) = Function::named(name) else { continue };
        let Some(arguments) = arguments(&tokens[at + 1..]) else { continue };
        let keys = function.keys(&arguments);
        let Some(merge) = function.merge(&arguments) else { continue };
        calls.extend(keys.into_iter().map(|key| LookupCall { key, merge: merge.clone(), line: token.line }));
    }
    calls
}

/// The functions that look something up with a strategy of their own.
#[derive(Clone, Copy)]
enum Function {
    Lookup,
    /// One of Hiera 3's, which always merges like this.
    Hiera(&'static str),
}

impl Function {
    fn named(name: &str) -> Option<Function> {
        match name.trim_start_matches("::") {
            "lookup" => Some(Function::Lookup),
            "hiera" => Some(Function::Hiera("first")),
            "hiera_array" | "hiera_include" => Some(Function::Hiera("unique")),
            "hiera_hash" => Some(Function::Hiera("hash")),
            _ => None,
        }
    }

    /// Returns the keys that are looked up; none if that is decided at run time.
    fn keys(self, arguments: &[Option<Value>]) -> Vec<String> {
        let name = match arguments.first() {
            Some(Some(Value::Hash(options))) => options.get("name"),
            Some(Some(name)) => Some(name),
            _ => None,
        };
        match name {
            Some(Value::String(name)) => vec![name.to_string()],
            Some(Value::Array(names)) if matches!(self, Function::Lookup) => {
                names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the strategy that the call names: `lookup(NAME, TYPE, MERGE, ...)`, or an option in the last or only
    /// argument.
    fn merge(self, arguments: &[Option<Value>]) -> Option<Value> {
        if let Function::Hiera(strategy) = self {
            return Some(strategy.into());
        }
        let of_options = |options: &Hash| options.get("merge").cloned();
        match arguments {
            [_, _, Some(merge), ..] if is_strategy(merge) => Some(merge.clone()),
            [_, rest @ ..] if !rest.is_empty() => {
                rest.iter().rev().flatten().find_map(Value::as_hash).and_then(of_options)
            }
            [Some(Value::Hash(options))] => of_options(options),
            _ => None,
        }
        .filter(is_strategy)
    }
}

fn is_strategy(merge: &Value) -> bool {
    match merge {
        Value::String(_) => true,
        // A strategy that is no literal is not known.
        Value::Hash(options) => options.get("strategy").is_some() && !options.values().any(Value::is_undef),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the calls in one line each: line, key, strategy.
    fn told(text: &str) -> Vec<String> {
        let tell = |call: LookupCall| format!("{} {} {}", call.line, call.key, call.merge.inspect());
        lookup_calls(text).into_iter().map(tell).collect()
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
$i = $facts['i'].lookup('no') + ::lookup('j', undef, first, undef)
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
            "9 j \"first\"",
        ];
        assert_eq!(told(text), expected);
    }

    #[test]
    fn what_is_no_literal_or_no_call_is_passed_over() {
        let text = r#"
# lookup('a', {merge => deep})
/* lookup('b', {merge => deep}) */
$x = "lookup('c', {merge => deep})"
$y = @("END"/L)
  lookup('d', {merge => deep}) it's
  | END
$z = $v =~ /it's "/ ? { true => lookup($k, {merge => deep}), default => lookup("e${v}", {merge => deep}) }
lookup('f'); lookup('g', {default_value => {merge => deep}}); lookup('h', String, $merge)
notify { 'lookup': message => 10 / 2 }
lookup('last', {'merge' => 'deep'})
"#;
        assert_eq!(told(text), ["11 last \"deep\""]);
        for broken in
            ["lookup(", "lookup('a', {", "'", "\"${", "@(", "@(\"X\")\nx", "/* ", "lookup('a', [[[[{merge =>", "$"]
        {
            assert_eq!(told(broken), Vec::<String>::new(), "{broken}");
        }
        assert_eq!(told(&format!("lookup({}", "[".repeat(100_000))), Vec::<String>::new());
    }
}
