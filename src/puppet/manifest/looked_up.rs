//! Variables that a manifest takes from the data before anything else: `$role = lookup('role')`.

use super::function::Function;
use super::literal::{Expression, arguments};
use super::site::{ends_with, is_assigned};
use super::tokens::{Token, Word, closing, peek, tokens};
use super::values::Values;
use crate::value::Value;

/// A variable of the top scope that is set to the result of looking up a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookedUp {
    /// The variable.
    pub variable: String,
    /// The key.
    pub key: String,
}

/// Returns the variables that a manifest sets exactly once, outside of any block, to a plain lookup: one of a single
/// key, without a default and without a strategy.
pub fn looked_up(text: &str) -> Vec<LookedUp> {
    let words = tokens(text);
    let (mut found, mut depth) = (Vec::<(String, Option<String>)>::new(), 0usize);
    for (at, word) in words.iter().enumerate() {
        match &word.token {
            Token::Sign('{' | '(' | '[') => depth += 1,
            Token::Sign('}' | ')' | ']') => depth = depth.saturating_sub(1),
            Token::Variable(name) if is_assigned(&words[at + 1..]) => {
                let name = name.trim_start_matches("::");
                let key = plain_lookup(&words[at + 2..]).filter(|_| depth == 0);
                match found.iter_mut().find(|(known, _)| known == name) {
                    Some((_, known)) => *known = None,
                    None => found.push((name.to_owned(), key)),
                }
            }
            _ => {}
        }
    }
    found.into_iter().filter_map(|(variable, key)| Some(LookedUp { variable, key: key? })).collect()
}

/// Returns the key of an expression that consists only of a lookup.
fn plain_lookup(words: &[Word]) -> Option<String> {
    let Some(Token::Name(name)) = peek(words) else { return None };
    let function =
        Function::named(name).filter(|function| matches!(function, Function::Lookup | Function::Hiera("first")))?;
    let arguments = arguments(&words[1..])?;
    // The second argument of `lookup` may be a type.
    let is_type = |argument: &Expression| matches!(argument.literal(), Some(Value::String(_)));
    let is_plain = match &arguments[..] {
        [_] => true,
        [_, kind] => matches!(function, Function::Lookup) && is_type(kind),
        _ => false,
    };
    let end = closing(words, 1);
    let is_all = ends_with(words.get(end)?, words.get(end + 1));
    let keys = function.keys(&arguments, &Values::default());
    let [name] = &keys[..] else { return None };
    let is_safe = |key: &str| !key.is_empty() && !key.contains(['\'', '"', '%', '}']);
    name.whole().filter(|key| is_plain && is_all && is_safe(key)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_lookups_outside_of_blocks_count() {
        let text = r#"
$role = lookup('role')
$::site = hiera("site::name")
$typed = lookup('typed', String)
$next = lookup('a.b') $other = lookup("c")
if $role =~ /^web/ and $role == 'db' { }
$listed = lookup('listed')
[$a, $b] = [1, 2]
node default { $inner = lookup('no') }
if true { $maybe = lookup('no') }
$default = lookup('no', undef, undef, 'base')
$hiera = hiera('no', 'base')
$options = lookup('no', {default_value => 1})
$all = lookup('no', Array, 'unique')
$part = lookup('no')['x']
$chained = lookup('no').upcase
$sum = lookup('no') + 1
$test = lookup('no') == 'a'
$twice = lookup('no')
$twice = lookup('twice')
$merged = hiera_hash('no')
$made = lookup("no${x}")
$quoted = lookup("it's")
$empty = lookup('')
$bracket = lookup('a}b')
notice($role == lookup('no'))
include roles
"#;
        let lookups: Vec<String> =
            looked_up(text).into_iter().map(|LookedUp { variable, key }| format!("{variable} {key}")).collect();
        assert_eq!(lookups, ["role role", "site site::name", "typed typed", "next a.b", "other c", "listed listed"]);
        for broken in ["$a = lookup(", "$a = lookup", "$a =", "$a = lookup('", "$a = lookup('b'"] {
            assert_eq!(looked_up(broken), [], "{broken}");
        }
    }
}
