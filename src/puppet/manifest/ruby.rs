//! The lookups of code in Ruby, in functions and in templates of ERB.
//!
//! Finds only calls that name a function, and knows only arguments that are literals: apart from the arguments of
//! such calls, Ruby is not parsed.
//!
//! Source: Puppet's `parser/scope.rb` (`call_function`), `pops/functions/function.rb`, `pops/lookup.rb`. Puppet 3 has
//! `function_NAME`.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::call::LookupCall;
use super::function::Function;
use super::given::Fed;
use super::literal::{Expression, list};
use super::tokens::{Lexer, Token, Word, is_word, peek, takes};
use super::values::Values;

/// The maximum length, in bytes, of the arguments of a call; a call with longer ones may look up any key.
const MAX_ARGUMENTS_LENGTH: usize = 1000;

/// Returns the lookups of code that begins on `line`.
pub(super) fn lookups(code: &str, mut line: u32) -> Vec<LookupCall> {
    /// The beginnings of calls: `call_function`, methods of Puppet's classes, functions by their names, functions
    /// whose names are put together, and ways into Puppet's own code by which anything may be looked up.
    static CALL_START: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"(?x) \b(?: (call_function)\b | (Pops::Lookup\.lookup|HieraPuppet\.lookup)\b
            | function_(lookup|hiera(?:_array|_hash|_include)?)\b | function_(hiera_?)?(?:\#\{|%|['\x22]\s*(?:\+|<<|%))
            | (LookupAdapter\b | EvaluatingParser\b | evaluate_string\b | Pops::Lookup\.search_and_merge\b
              | load(?:_typed)?\b[(\s]*:function,\s*['\x22:](?:::)?(?:lookup|hiera)) )",
        )
        .ok()
    });
    /// A literal that may be the name of a lookup function, and be passed to code that calls it.
    static NAME_LITERAL: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"(?:['":]|%[wi].*)(?:::)?(?:lookup|hiera(?:_array|_hash|_include)?)\b"#).ok());
    let mut names_any = None;
    let mut names_any =
        || *names_any.get_or_insert_with(|| NAME_LITERAL.as_ref().is_some_and(|literal| literal.is_match(code)));
    let (mut found, mut last, mut start) = (Vec::new(), 0, 0);
    for name in CALL_START.iter().flat_map(|name| name.captures_iter(code)) {
        let Some(whole) = name.get(0) else { continue };
        for (at, _) in code[last..whole.start()].match_indices('\n') {
            line += 1;
            start = last + at + 1;
        }
        last = whole.start();
        let is_comment = code[start..last].trim_start().starts_with('#');
        if is_comment || code[..last].ends_with("def ") {
            continue;
        }
        let call = Call { before: &code[..last], after: &code[whole.end()..], line };
        if name.get(5).is_some() {
            found.push(LookupCall::any_key(line));
            continue;
        }
        found.extend(match (name.get(1), name.get(2), name.get(3)) {
            (Some(_), ..) => call.lookups_by_name(&mut names_any),
            (_, Some(_), _) => call.lookups_of_class(whole.as_str().starts_with("Pops")),
            (.., Some(function)) => call.lookups_by(Function::named(function.as_str())),
            _ => call.lookups_by(Some(Function::Any).filter(|_| name.get(4).is_some() || names_any())),
        });
    }
    found
}

/// Returns the functions that code calls by their names: their arguments may be options of a lookup.
pub(super) fn called(code: &str) -> BTreeSet<Fed> {
    static CALL: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\bcall_function\W{1,8}(\w+(?:::\w+)*)|\bfunction_(\w+)").ok());
    let names = CALL.iter().flat_map(|call| call.captures_iter(code)).filter_map(|call| call.get(1).or(call.get(2)));
    let fed = |name: &str| Fed { to: name.to_ascii_lowercase(), by: None };
    names.map(|name| name.as_str()).filter(|name| Function::named(name).is_none()).map(fed).collect()
}

/// A call: the code before and after its name.
struct Call<'c> {
    before: &'c str,
    after: &'c str,
    line: u32,
}

impl Call<'_> {
    /// Returns the lookups of a function; its name may be an argument of another that calls it, such as `send`.
    fn lookups_by(&self, function: Option<Function>) -> Vec<LookupCall> {
        let words = self.arguments().map(|arguments| words(arguments, self.line));
        words.map_or_else(Vec::new, |words| lookups_of(function, words.as_deref(), self.line))
    }

    /// Returns the code that begins with the arguments, or `None` if it only asks whether the function exists. If the
    /// name is passed to other code, that may call it with any arguments.
    fn arguments(&self) -> Option<&str> {
        if !self.before.ends_with([':', '\'', '"']) {
            return Some(self.after);
        }
        let after_name = self.after.trim_start_matches(is_name_char).trim_start_matches(['\'', '"']).trim_start();
        let by = self.before.trim_end_matches([':', '\'', '"', '(', ' ']);
        let is_asked = by.ends_with("respond_to?") || by.ends_with("method_defined?");
        (!is_asked).then(|| after_name.strip_prefix(',').unwrap_or("(*arguments)"))
    }

    /// Returns the lookups of the function that the first argument names. `names_any` returns true if the code names
    /// lookup functions elsewhere, so that an unknown name may be one of them.
    fn lookups_by_name(&self, names_any: &mut impl FnMut() -> bool) -> Vec<LookupCall> {
        let Some(arguments) = self.arguments() else { return Vec::new() };
        let Some(words) = words(arguments, self.line) else {
            return lookups_of(Some(Function::Any).filter(|_| names_any()), None, self.line);
        };
        let mut rest = without_brackets(&words);
        takes(&mut rest, ':');
        let name = match peek(rest) {
            Some(Token::Text(name) | Token::Variable(name)) => name.to_ascii_lowercase(),
            Some(Token::Template(template)) => template.pieces[0].to_ascii_lowercase(),
            _ => String::new(),
        };
        // The name is in an array that is not known.
        let is_any = peek(rest) == Some(&Token::Sign('*'));
        let is_literal = rest.len() < without_brackets(&words).len() || matches!(peek(rest), Some(Token::Text(_)));
        let is_whole = matches!(rest.get(1).map(|word| &word.token), None | Some(Token::Sign(',')));
        let function = match Function::named(&name) {
            // These call whatever their arguments name.
            _ if is_literal && is_whole && name == "inline_epp" => return vec![LookupCall::any_key(self.line)],
            _ if is_literal && is_whole && name == "call" && names_any() => {
                return vec![LookupCall::any_key(self.line)];
            }
            function if is_literal && is_whole => function,
            _ => Some(Function::Any).filter(|_| is_any || names_any() || begins_name(&name)),
        };
        let comma = rest.iter().position(|word| word.token == Token::Sign(','));
        let arguments = comma.map(|comma| &rest[comma + 1..]);
        let has_all = rest.is_empty() || is_literal && is_whole;
        lookups_of(function, arguments.or_else(|| has_all.then_some(&[])), self.line)
    }

    /// Returns the lookups of methods of classes: `Puppet::Pops::Lookup.lookup(NAME, TYPE, DEFAULT, HAS_DEFAULT,
    /// MERGE, ...)`, or another, whose strategies are not texts.
    fn lookups_of_class(&self, is_pops: bool) -> Vec<LookupCall> {
        let words = words(self.after, self.line);
        let arguments = words.as_deref().and_then(|words| list(without_brackets(words)));
        let merge = arguments.as_ref().and_then(|arguments| arguments.get(4)).filter(|_| is_pops).cloned();
        let Some(key) = arguments.into_iter().flatten().next() else { return Vec::new() };
        let arguments = vec![key, Expression::Other, merge.unwrap_or(Expression::Other)];
        Function::Lookup.lookups(arguments, &Values::default(), self.line)
    }
}

/// Returns the lookups of a function with the words of its arguments: several, or one array of them.
fn lookups_of(function: Option<Function>, words: Option<&[Word]>, line: u32) -> Vec<LookupCall> {
    let Some(function) = function else { return Vec::new() };
    let arguments = words.and_then(|words| {
        let inner = without_brackets(words);
        let in_array = match inner {
            [open, items @ .., close] if (&open.token, &close.token) == (&Token::Sign('['), &Token::Sign(']')) => {
                list(items)
            }
            _ => None,
        };
        // An array of names is a single argument.
        let all = list(inner)?;
        let is_names = matches!(function, Function::Lookup) && all.iter().all(is_array_of_names);
        in_array.filter(|_| !is_names).or(Some(all))
    });
    let mut arguments = arguments.unwrap_or_else(|| vec![Expression::Other; 3]);
    let count = arguments.len();
    for (at, argument) in arguments.iter_mut().enumerate() {
        match argument {
            // It may be an array of all arguments.
            Expression::Variable(_) | Expression::Other if count == 1 => {
                *argument = Expression::Splat(Box::new(Expression::Other));
            }
            // It may be options.
            Expression::Other if at > 0 => *argument = Expression::Variable(String::new()),
            _ => {}
        }
    }
    function.lookups(arguments, &Values::default(), line)
}

/// Returns true if the name of a lookup function begins with `text`.
fn begins_name(text: &str) -> bool {
    text.len() > 1 && ["lookup", "hiera_include", "hiera_array", "hiera_hash"].iter().any(|name| name.starts_with(text))
}

fn is_array_of_names(argument: &Expression) -> bool {
    let items = argument.literal().and_then(|value| value.as_array());
    items.is_some_and(|items| items.iter().all(|item| item.as_str().is_some()))
}

fn is_name_char(sign: char) -> bool {
    is_word(sign) || matches!(sign, '{' | '}')
}

/// Returns words without the brackets around all of them.
fn without_brackets(words: &[Word]) -> &[Word] {
    match words {
        [open, inner @ .., close] if (&open.token, &close.token) == (&Token::Sign('('), &Token::Sign(')')) => inner,
        words => words,
    }
}

/// Returns the words of the arguments at the beginning of a text, in the form of a manifest's words; `None` if their
/// end is not found.
fn words(text: &str, line: u32) -> Option<Vec<Word>> {
    let text = text.get(..text.floor_char_boundary(MAX_ARGUMENTS_LENGTH)).unwrap_or(text);
    let mut lexer = Lexer::new(text, line, '#');
    let (mut depth, is_in_brackets) = (0_usize, text.trim_start().starts_with('('));
    while let Some((at, sign)) = lexer.next() {
        let goes_on = depth > 0 || lexer.words.last().is_some_and(|word| word.token == Token::Sign(','));
        match sign {
            '\n' | ';' if !goes_on => return Some(lexer.words),
            '#' => lexer.skip_line(),
            '\'' => lexer.single_quoted(),
            '"' => {
                let token = lexer.interpolated(Some('"'))?;
                lexer.push(token);
            }
            '=' if lexer.peek() == Some('>') => {
                lexer.next();
                lexer.push(Token::Arrow);
            }
            ')' | ']' | '}' if depth == 0 => return Some(lexer.words),
            sign if is_word(sign) => {
                let end = lexer.word_end(at);
                let name = text[at..end].to_owned();
                if depth == 0 && ENDING_WORDS.contains(&&*name) {
                    return Some(lexer.words);
                }
                lexer.push(name_token(name));
            }
            sign if sign.is_whitespace() => lexer.is_joined = false,
            sign => {
                depth = match sign {
                    '(' | '[' | '{' => depth + 1,
                    ')' | ']' | '}' => depth - 1,
                    _ => depth,
                };
                lexer.push(Token::Sign(sign));
                if depth == 0 && is_in_brackets {
                    return Some(lexer.words);
                }
            }
        }
    }
    (text.len() < MAX_ARGUMENTS_LENGTH && depth == 0).then_some(lexer.words)
}

/// The words that end arguments without brackets.
const ENDING_WORDS: [&str; 7] = ["if", "unless", "rescue", "do", "and", "or", "then"];

fn name_token(name: String) -> Token {
    match &*name {
        "nil" => Token::Name("undef".to_owned()),
        "true" | "false" => Token::Name(name),
        _ if name.starts_with(|first: char| first.is_ascii_digit()) => Token::Name(name),
        _ => Token::Variable(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puppet::manifest::CallMerge;

    fn described_calls(code: &str) -> Vec<String> {
        let describe = |LookupCall { key, merge, line, .. }: LookupCall| {
            let merge = match merge {
                CallMerge::ByData => "-".to_owned(),
                CallMerge::Named(merge) => merge.inspect(),
                CallMerge::Perhaps(_) => "?".to_owned(),
            };
            format!("{line} {} {merge}", key.pieces().join("*"))
        };
        lookups(code, 1).into_iter().map(describe).collect()
    }

    #[test]
    fn calls_with_literals_are_known() {
        let code = r#"
call_function('lookup', 'a')
x = scope.call_function("lookup", ['b', Hash, 'deep', {}])['c'] # call_function
scope.call_function(:hiera_hash, [ 'c',
  { 'x' => 1 } ])
function_hiera(['d', nil]); self.function_hiera_array ["e"] if x
scope().send(:function_hiera_hash, ['f'])
call_function('lookup', ['g', 'h'])
call_function 'lookup', 'i', 'merge' => 'hash'
call_function('lookup', { 'name' => 'j', 'merge' => { 'strategy' => 'deep' } })
scope.function_hiera('k', 'none') or call_function("::Lookup", "l#{x}", { 'default_value' => x })
Puppet::Pops::Lookup.lookup('m', nil, nil, false, 'unique', invocation)
respond_to?(:function_hiera) and defined? call_function
"#;
        let expected = [
            "2 a -",
            "3 b \"deep\"",
            "4 c \"hash\"",
            "6 d \"first\"",
            "6 e \"unique\"",
            "7 f \"hash\"",
            "8 g -",
            "8 h -",
            "9 i \"hash\"",
            "10 j {\"strategy\"=>\"deep\"}",
            "11 k \"first\"",
            "11 l* -",
            "12 m \"unique\"",
        ];
        assert_eq!(described_calls(code), expected);
    }

    #[test]
    fn what_is_no_literal_is_not_known() {
        for (code, expected) in [
            ("call_function('lookup', key)", "1 * ?"),
            ("call_function('lookup', key, options)", "1 * ?"),
            ("call_function('lookup', 'a', options.merge(x))", "1 a ?"),
            ("call_function('lookup', ['a', Hash, merge])", "1 a ?"),
            ("call_function('lookup', *args)", "1 * ?"),
            ("call_function('lookup', ['a'] + rest)", "1 * ?"),
            ("call_function('lookup', 'a', *args)", "1 a ?"),
            ("call_function('lookup', key, { 'default_value' => x })", "1 * -"),
            ("function_hiera_hash(args)", "1 * \"hash\""),
            ("call_function(m ? 'hiera_hash' : 'hiera', ['a'])", "1 a ?"),
            ("f = :hiera\ncall_function(f, ['a'])", "2 a ?"),
            ("t = 'hiera'\nsend(\"function_#{t}\", ['a'])", "2 a ?"),
            ("HieraPuppet.lookup('a', nil, self, nil, :hash)", "1 a ?"),
            ("call_function('lookup', 'a', {", "1 * ?"),
        ] {
            assert_eq!(described_calls(code), [expected], "{code}");
        }
        let long = format!("call_function('lookup', '{}')", "a".repeat(2000));
        assert_eq!(described_calls(&long), ["1 * ?"]);
    }

    #[test]
    fn what_is_no_lookup_is_passed_over() {
        for code in [
            "# call_function('lookup', 'a')",
            "def call_function(name)",
            "call_function('include', 'a')",
            "call_function(name, 'a')",
            "scope.lookupvar('a')",
            "Puppet.lookup(:environments)",
            "x.call_functions('lookup', 'a')",
            "send(\"function_#{name}\", ['a'])",
            "call_function",
            "call_function(",
            "function_hiera()",
        ] {
            assert_eq!(described_calls(code), Vec::<String>::new(), "{code}");
        }
    }
}
