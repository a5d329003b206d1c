//! Tags, as Psych reads them when Puppet permits only the class `Symbol`.

use super::{Psych, Refusal, number, scalar};
use crate::puppet::ruby;
use crate::value::{Hash, Rich, Value, symbol};

/// `!!str`, the only tag that keeps the key `<<` from merging.
pub(super) const TEXT: &str = "tag:yaml.org,2002:str";

/// The value that a tagged sequence becomes.
pub(super) enum Sequence {
    /// An array.
    List,
    /// A hash, from a sequence of pairs.
    Omap,
}

/// The value that a tagged mapping becomes.
pub(super) enum Mapping {
    /// A hash.
    Hash,
    /// The text below its key `str`.
    Text,
    /// The hash below its key `elements`; those of `ivars` are instance variables.
    WithVariables,
    /// Nothing: it is refused, but only after its entries were read.
    RefusedLater(Refusal),
}

/// Returns the value of a tagged scalar.
pub(super) fn scalar(tag: &str, text: &str, psych: Psych) -> Result<Value, Refusal> {
    check_utf8(tag)?;
    if tag == TEXT || class_of(tag, &["!str", "!ruby/string"]).is_some() {
        return match class_of(tag, &["!str", "!ruby/string"]) {
            Some(name) if !name.is_empty() => Err(refused_class(name)),
            _ => Ok(Value::from(text)),
        };
    }
    match tag {
        "!binary" | "tag:yaml.org,2002:binary" => Ok(Value::binary(ruby::unpack(text.as_bytes()))),
        "!ruby/object:BigDecimal" | "!ruby/object:DateTime" | "!ruby/object:Complex" | "!ruby/object:Rational" => {
            Err(Refusal::Class(tag["!ruby/object:".len()..].into()))
        }
        "!ruby/regexp" => Err(Refusal::Class("Regexp".into())),
        "!ruby/range" => Err(Refusal::Class("Range".into())),
        "!ruby/encoding" => encoding(text),
        "!ruby/class" | "!ruby/module" if text.is_empty() => Ok(Value::Undef),
        "!ruby/class" | "!ruby/module" if text == "Symbol" => Ok(ruby_object("Class", text)),
        "!ruby/class" | "!ruby/module" => Err(Refusal::Class(text.into())),
        "!float" | "tag:yaml.org,2002:float" => float(text, psych),
        _ if after_prefix(tag, "!ruby/sym").is_some() => Ok(Value::Symbol(text.into())),
        _ => scalar::resolve(text, psych),
    }
}

/// The encodings that Ruby knows, except those in [`NUMBERED_ENCODINGS`].
const ENCODINGS: &str = "locale external filesystem ASCII US-ASCII ANSI_X3.4-1968 646 ASCII-8BIT BINARY UTF-7 UTF-8 UTF-8-HFS UTF-8-MAC UTF8-MAC
    UTF8-DoCoMo UTF8-KDDI UTF8-SoftBank UTF-16 UTF-16BE UTF-16LE UTF-32 UTF-32BE UTF-32LE UCS-2BE UCS-4BE UCS-4LE CESU-8 Big5 Big5-HKSCS
    Big5-HKSCS:2008 Big5-UAO csWindows31J ebcdic-cp-us Emacs-Mule EUC-CN EUC-JIS-2004 EUC-JISX0213 EUC-JP euc-jp-ms EUC-KR EUC-TW eucCN eucJP
    eucJP-ms eucKR eucTW GB12345 GB18030 GB1988 GB2312 GBK ISO-2022-JP ISO-2022-JP-2 ISO-2022-JP-KDDI ISO2022-JP ISO2022-JP2 KOI8-R KOI8-U
    macCentEuro macCroatian macCyrillic macGreek macIceland MacJapan MacJapanese macRoman macRomania macThai macTurkish macUkraine PCK Shift_JIS
    SJIS SJIS-DoCoMo SJIS-KDDI SJIS-SoftBank stateless-ISO-2022-JP stateless-ISO-2022-JP-KDDI TIS-620 Windows-31J IBM037";

/// Families of encodings whose names are a prefix and a number.
const NUMBERED_ENCODINGS: [(&[&str], &str); 4] = [
    (&["ISO-8859-", "ISO8859-"], "1 2 3 4 5 6 7 8 9 10 11 13 14 15 16"),
    (&["CP", "Windows-"], "1250 1251 1252 1253 1254 1255 1256 1257 1258 874"),
    (&["CP", "IBM"], "437 720 737 775 850 852 855 857 860 861 862 863 864 865 866 869"),
    (&["CP"], "50220 50221 51932 65000 65001 878 932 936 949 950 951"),
];

/// Returns the encoding that Ruby finds by a name; there is no internal one by default.
fn encoding(name: &str) -> Result<Value, Refusal> {
    let is = |known: &str| known.eq_ignore_ascii_case(name);
    let numbered = |prefixes: &[&str], numbers: &str| {
        numbers.split(' ').any(|number| prefixes.iter().any(|prefix| is(&format!("{prefix}{number}"))))
    };
    if is("internal") {
        return Ok(Value::Undef);
    }
    if ENCODINGS.split_whitespace().any(is)
        || NUMBERED_ENCODINGS.iter().any(|(prefixes, numbers)| numbered(prefixes, numbers))
    {
        return Ok(ruby_object("Encoding", name));
    }
    Err(Refusal::Error(format!("unknown encoding name - {name}")))
}

fn ruby_object(class: &'static str, name: &str) -> Value {
    Value::Rich(Rich::Ruby(class, name.into()).into())
}

/// Fails for a tag that was not valid UTF-8 (the scanner makes it a NUL), as Ruby's regular expressions do.
fn check_utf8(tag: &str) -> Result<(), Refusal> {
    if tag.contains('\0') { Err(Refusal::Error("invalid byte sequence in UTF-8".into())) } else { Ok(()) }
}

fn float(text: &str, psych: Psych) -> Result<Value, Refusal> {
    let refused = |what: &str| Err(Refusal::Error(format!("can't convert {what} into Float")));
    match scalar::resolve(text, psych)? {
        Value::Undef => refused("nil"),
        Value::Boolean(true) => refused("true"),
        Value::Boolean(false) => refused("false"),
        Value::Symbol(_) => refused("Symbol"),
        Value::String(s) => number::to_float(&s).map(Value::Float),
        #[expect(clippy::cast_precision_loss, reason = "as Ruby does")]
        Value::Integer(n) => Ok(Value::Float(n as f64)),
        Value::BigInteger(n) => Ok(Value::Float(n.to_string().parse().unwrap_or(f64::INFINITY))),
        other => Ok(other),
    }
}

/// Finds out what a tagged sequence becomes.
pub(super) fn sequence(tag: &str) -> Result<Sequence, Refusal> {
    check_utf8(tag)?;
    if matches!(tag, "!omap" | "tag:yaml.org,2002:omap") {
        return Ok(Sequence::Omap);
    }
    match after_prefix(tag, "!seq:").or_else(|| after_prefix(tag, "!ruby/array:")) {
        Some(name) => Err(refused_class(name)),
        None => Ok(Sequence::List),
    }
}

/// Finds out what a tagged mapping becomes.
pub(super) fn mapping(tag: &str) -> Result<Mapping, Refusal> {
    check_utf8(tag)?;
    if let Some(name) = after_prefix(tag, "!ruby/struct") {
        return Err(refused_class_or(name, "Struct"));
    }
    if let Some(name) = after_prefix(tag, "!ruby/object") {
        let name = name.strip_prefix(':').unwrap_or(name);
        return if name == "Hash" { Ok(Mapping::Hash) } else { Err(refused_class_or(name, "Object")) };
    }
    if tag == TEXT {
        return Ok(Mapping::Text);
    }
    if let Some(name) = class_of(tag, &["!str", "!ruby/string"]) {
        return if name.is_empty() { Ok(Mapping::Text) } else { Err(refused_class(name)) };
    }
    if let Some(name) = after_prefix(tag, "!ruby/array:") {
        return Err(refused_class(name));
    }
    if let Some(name) = after_prefix(tag, "!ruby/exception") {
        return Ok(Mapping::RefusedLater(refused_class_or(name, "Exception")));
    }
    match tag {
        "!ruby/range" => return Err(Refusal::Class("Range".into())),
        "!set" | "tag:yaml.org,2002:set" => return Err(Refusal::Class("Psych::Set".into())),
        "!omap" | "tag:yaml.org,2002:omap" => return Err(Refusal::Class("Psych::Omap".into())),
        _ => {}
    }
    if let Some(name) = after_prefix(tag, "!ruby/hash-with-ivars:") {
        return Err(refused_class(name));
    }
    if class_of(tag, &["!ruby/hash-with-ivars"]).is_some() {
        return Ok(Mapping::WithVariables);
    }
    match ["!map:", "!ruby/hash:", "!ruby/marshalable:"].iter().find_map(|prefix| after_prefix(tag, prefix)) {
        Some(name) => Err(refused_class(name)),
        None => Ok(Mapping::Hash),
    }
}

/// Returns the reason why a key cannot be the name of an instance variable, or `None` if it can.
pub(super) fn refused_variable(key: &Value) -> Option<Refusal> {
    let text = match key {
        Value::String(_) | Value::Symbol(_) | Value::Bytes(_) => key.to_s(),
        other => return Some(Refusal::Error(format!("{} is not a symbol nor a string", other.inspect()))),
    };
    let is_allowed = symbol::kind(&text) == Some(symbol::Kind::Instance);
    (!is_allowed).then(|| Refusal::Error(format!("`{text}' is not allowed as an instance variable name")))
}

/// Returns the reason why a mapping of a text and its instance variables is refused, or `None` if it is not.
pub(super) fn refused_text(entries: &Hash) -> Option<Refusal> {
    let variable = |key: &Value| {
        let key = key.to_s();
        format!("@{}", key.strip_prefix('@').unwrap_or(&key))
    };
    let mut variables = entries.keys().filter(|key| key.as_str() != Some("str")).map(variable).peekable();
    variables.peek()?;
    let text = entries.get("str").unwrap_or(&Value::Undef);
    let class = match text {
        Value::Undef => "NilClass",
        Value::Boolean(true) => "TrueClass",
        Value::Boolean(false) => "FalseClass",
        Value::Integer(_) | Value::BigInteger(_) => "Integer",
        Value::Float(_) => "Float",
        Value::Symbol(_) => "Symbol",
        _ => "",
    };
    let refused = |name: String| {
        if symbol::kind(&name) != Some(symbol::Kind::Instance) {
            Some(format!("`{name}' is not allowed as an instance variable name"))
        } else if class.is_empty() {
            None
        } else {
            Some(format!("can't modify frozen {class}: {}", text.inspect()))
        }
    };
    variables.find_map(refused).map(Refusal::Error)
}

/// Returns the refusal of the class `name`. Even `Symbol`, which is permitted, cannot be instantiated.
fn refused_class(name: &str) -> Refusal {
    match name {
        "" => Refusal::Error("undefined method `allocate' for nil:NilClass".into()),
        "Symbol" => Refusal::Error("allocator undefined for Symbol".into()),
        name => Refusal::Class(name.into()),
    }
}

/// Returns the refusal of the class named after a colon, or of `default` if the tag names none.
fn refused_class_or(name: &str, default: &str) -> Refusal {
    match name.strip_prefix(':').unwrap_or(name) {
        "" => Refusal::Class(default.into()),
        name => refused_class(name),
    }
}

/// Returns the rest of the first line of `tag` that starts with `prefix`, since Ruby's `^` matches at each line.
fn after_prefix<'a>(tag: &'a str, prefix: &str) -> Option<&'a str> {
    tag.split('\n').find_map(|line| line.strip_prefix(prefix))
}

/// Returns the class in `PREFIX:class`, empty for the prefix alone.
fn class_of<'a>(tag: &'a str, prefixes: &[&str]) -> Option<&'a str> {
    let of_line = |line: &'a str| {
        let rest = prefixes
            .iter()
            .find_map(|prefix| line.strip_prefix(prefix).filter(|r| r.is_empty() || r.starts_with(':')))?;
        Some(rest.strip_prefix(':').unwrap_or(rest))
    };
    tag.split('\n').find_map(of_line)
}
