//! The symbols that Ruby shows without quotes.
//!
//! This is `rb_enc_symname_type` of Ruby 3.1, bugs included: `:"1="` passes for an assignment, although its name is
//! not valid.

/// The kind of thing that a symbol's text could name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An operator, or a name ending in `?` or `!`.
    Other,
    /// `name`
    Local,
    /// `Name`
    Constant,
    /// `@name`
    Instance,
    /// `@@name`
    Class,
    /// `$name`
    Global,
    /// `name=`
    Assignment,
}

/// Returns the kind of thing that `name` can name in Ruby, or `None` if it must be quoted.
pub fn kind(name: &str) -> Option<Kind> {
    let rest = |n: usize| &name[n..];
    let operator = |operators: &[&str]| operators.contains(&name).then_some(Kind::Other);
    match name.bytes().next()? {
        b'$' if is_special_global(rest(1)) => Some(Kind::Global),
        b'$' => identifier(name, rest(1), Kind::Global),
        b'@' if name.starts_with("@@") => identifier(name, rest(2), Kind::Class),
        b'@' => identifier(name, rest(1), Kind::Instance),
        b'<' => operator(&["<", "<<", "<=", "<=>"]),
        b'>' => operator(&[">", ">>", ">="]),
        b'=' => operator(&["=~", "==", "==="]),
        b'*' => operator(&["*", "**"]),
        b'+' => operator(&["+", "+@"]),
        b'-' => operator(&["-", "-@"]),
        b'|' | b'^' | b'&' | b'/' | b'%' | b'~' | b'`' => (name.len() == 1).then_some(Kind::Other),
        b'[' if name.starts_with("[]") => operator(&["[]", "[]="]),
        b'!' => operator(&["!", "!=", "!~"]),
        _ if name.starts_with(char::is_uppercase) => identifier(name, name, Kind::Constant),
        _ => identifier(name, name, Kind::Local),
    }
}

/// Returns true if Ruby 3.4 writes the symbol `name` without quotes before a colon, as a key of a hash.
///
/// Source: `symbol_key_needs_quote` in `hash.c`.
pub fn is_label(name: &str) -> bool {
    let (first, last) = (name.as_bytes().first(), name.as_bytes().last());
    kind(name).is_some()
        && !matches!(first, Some(b'@' | b'$' | b'!'))
        && !last.is_some_and(|last| b"+-*/`%^&|]<=>~@".contains(last))
}

/// Returns the kind of `name` if `rest`, the part after the sigil, is an identifier; `kind_of_name` if nothing
/// follows it.
fn identifier(name: &str, rest: &str, kind_of_name: Kind) -> Option<Kind> {
    if !rest.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic() || !c.is_ascii()) {
        let assigned = name.strip_suffix('=').filter(|n| !n.is_empty())?;
        return (kind(assigned) != Some(Kind::Assignment)).then_some(Kind::Assignment);
    }
    match rest.trim_start_matches(is_name_char) {
        "" => Some(kind_of_name),
        "!" | "?" if matches!(kind_of_name, Kind::Local | Kind::Constant) => Some(Kind::Other),
        "=" if matches!(kind_of_name, Kind::Local | Kind::Constant) => Some(Kind::Assignment),
        _ => None,
    }
}

fn is_name_char(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric() || !c.is_ascii()
}

/// Returns true if `name`, after a `$`, is a variable that Ruby itself sets.
fn is_special_global(name: &str) -> bool {
    const SIGNS: &str = "~*$?!@/\\;,.=:<>\"&`'+";
    let mut chars = name.chars();
    match (chars.next(), chars.as_str()) {
        (Some('0'), rest) => rest.is_empty(),
        (Some('1'..='9'), rest) => rest.bytes().all(|b| b.is_ascii_digit()),
        (Some('-'), rest) => rest.chars().count() == 1 && rest.chars().all(is_name_char),
        (Some(c), rest) => rest.is_empty() && SIGNS.contains(c),
        (None, _) => false,
    }
}
