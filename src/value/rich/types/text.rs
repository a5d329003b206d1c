//! Writes types, and the values inside of them, as Puppet does.
//!
//! Source: `pops/types/type_formatter.rb`, `puppet_quote` in `string_converter.rb`.

use std::fmt::{self, Display, Write};

use super::{Alias, Callable, Element, Range, Texts, TimeRange, Type};
use crate::value::Value;
use crate::value::rich::{Rich, regexp, timespan, timestamp};

impl Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&type_text(self, false))
    }
}

impl Type {
    /// Returns its text, with aliases replaced by the types that they stand for.
    pub fn expanded(&self) -> String {
        type_text(self, true)
    }
}

fn type_text(kind: &Type, expanded: bool) -> String {
    let mut writer = Writer { out: String::new(), expanded };
    writer.kind(kind);
    writer.out
}

struct Writer {
    out: String,
    expanded: bool,
}

impl Writer {
    fn kind(&mut self, kind: &Type) {
        let name = kind.simple_name();
        match kind {
            Type::Integer(range) | Type::Float(range) => self.parts(name, bounds(Some(range))),
            Type::String(texts) => self.parts(name, texts_bounds(texts)),
            Type::Collection(size) => self.parts(name, bounds(size.as_ref())),
            Type::Enum(values, any_case) => {
                let mut parts: Vec<String> = values.iter().map(|value| puppet_quote(value, false)).collect();
                parts.extend(any_case.then(|| "true".into()));
                self.parts(name, parts);
            }
            Type::Pattern(patterns) => {
                self.parts(name, patterns.iter().map(|p| regexp::slashed(p.as_deref().unwrap_or_default())).collect());
            }
            Type::Regexp(pattern) => self.parts(name, pattern.iter().map(|p| regexp::slashed(p)).collect()),
            Type::Boolean(value) => self.parts(name, value.iter().map(ToString::to_string).collect()),
            Type::SemVer(ranges) => self.parts(name, ranges.iter().map(|range| format!("'{range}'")).collect()),
            Type::Timestamp(range) => self.parts(name, times(*range, timestamp::text)),
            Type::Timespan(range) => self.parts(name, times(*range, timespan::text)),
            Type::Class(class) => self.parts(name, class.iter().map(ToString::to_string).collect()),
            Type::Resource(Some(resource), title) => {
                let title = title.iter().map(|title| puppet_quote(title, false)).collect();
                self.parts(&capitalized(resource), title);
            }
            Type::Reference(text) => self.parts(name, vec![puppet_quote(text, false)]),
            Type::Alias(alias) => self.alias(alias),
            Type::TypeSet => self.out.push_str(TYPE_SET),
            _ => self.composed(kind),
        }
    }

    /// The types that hold other types or values.
    fn composed(&mut self, kind: &Type) {
        let name = kind.simple_name();
        match kind {
            Type::Array(items, size) => self.array(items, size.as_ref()),
            Type::Hash(entry, size) => self.hash(&entry.0, &entry.1, size.as_ref()),
            Type::Tuple(types, size) => {
                let mut parts = self.format_types(types);
                let bounds = if types.is_empty() { Vec::new() } else { bounds(size.as_ref()) };
                parts.extend(bounds);
                self.parts(name, parts);
            }
            Type::Struct(elements) => self.record(elements),
            Type::Variant(types) => {
                let parts = self.format_types(types);
                self.parts(name, parts);
            }
            Type::Optional(inner) | Type::NotUndef(inner) => {
                let inner = inner.as_deref().filter(|i| !matches!((kind, i), (Type::NotUndef(_), Type::Any)));
                let part = inner.map(|inner| match inner {
                    Type::String(Texts::Value(text)) => puppet_quote(text, false),
                    inner => self.format_type(inner),
                });
                self.parts(name, part.into_iter().collect());
            }
            Type::Sensitive(inner) => {
                let part =
                    Some(&**inner).filter(|inner| !matches!(inner, Type::Any)).map(|inner| self.format_type(inner));
                self.parts(name, part.into_iter().collect());
            }
            Type::Init(inner, args) => {
                let mut parts: Vec<String> = inner.iter().map(|inner| self.format_type(inner)).collect();
                parts.extend(args.iter().map(|arg| self.format_value(arg)));
                self.parts(name, parts);
            }
            Type::Uri(parameters) => {
                let part = parameters.as_ref().map(|hash| self.format_value(&Value::Hash(hash.clone())));
                self.parts(name, part.into_iter().collect());
            }
            Type::Callable(callable) => match callable {
                Some(callable) => self.callable(callable),
                None => self.out.push_str(name),
            },
            Type::Runtime(runtime, runtime_name) => {
                let has_parameters = runtime.is_some() || runtime_name.is_some();
                let runtime_name =
                    runtime_name.as_ref().map_or_else(|| "undef".into(), |name| puppet_quote(name, false));
                let runtime = runtime.as_ref().map_or_else(|| "undef".into(), ToString::to_string);
                self.parts(name, if has_parameters { vec![runtime, runtime_name] } else { Vec::new() });
            }
            _ => {
                let part = kind.contained().map(|inner| self.format_type(inner));
                self.parts(name, part.into_iter().collect());
            }
        }
    }

    /// `Name[part, part]`, or the name alone.
    #[expect(clippy::needless_pass_by_value, reason = "every caller builds a new Vec")]
    fn parts(&mut self, name: &str, parts: Vec<String>) {
        self.out.push_str(name);
        if !parts.is_empty() {
            _ = write!(self.out, "[{}]", parts.join(", "));
        }
    }

    fn format_type(&self, kind: &Type) -> String {
        type_text(kind, self.expanded)
    }

    fn format_types(&self, kinds: &[Type]) -> Vec<String> {
        kinds.iter().map(|kind| self.format_type(kind)).collect()
    }

    fn format_value(&self, value: &Value) -> String {
        let mut writer = Writer { out: String::new(), expanded: self.expanded };
        writer.value(value);
        writer.out
    }

    fn alias(&mut self, alias: &Alias) {
        self.out.push_str(alias.name());
        if let (true, Alias::Local(_)) = (self.expanded, alias) {
            self.out.push_str(" = ");
            self.kind(alias.resolved());
        }
    }

    fn array(&mut self, items: &Type, size: Option<&Range>) {
        if size.is_some_and(Range::is_zero) {
            return self.out.push_str("Array[0, 0]");
        }
        let all = matches!((items, size), (Type::Any, None));
        let mut parts = vec![self.format_type(items)];
        parts.extend(bounds(size));
        self.parts("Array", if all { Vec::new() } else { parts });
    }

    fn hash(&mut self, key: &Type, value: &Type, size: Option<&Range>) {
        if size.is_some_and(Range::is_zero) {
            return self.out.push_str("Hash[0, 0]");
        }
        let all = matches!((key, value, size), (Type::Any, Type::Any, None));
        let mut parts = vec![self.format_type(key), self.format_type(value)];
        parts.extend(bounds(size));
        self.parts("Hash", if all { Vec::new() } else { parts });
    }

    fn record(&mut self, elements: &[Element]) {
        let entry = |element: &Element| {
            let undef = element.value.accepts_undef();
            let name = puppet_quote(element.name(), false);
            let key = match (&element.key, undef) {
                (Type::Optional(_), false) => format!("Optional[{name}]"),
                (Type::Optional(_), true) | (_, false) => name,
                (_, true) => format!("NotUndef[{name}]"),
            };
            format!("{key} => {}", self.format_type(&element.value))
        };
        let entries: Vec<String> = elements.iter().map(entry).collect();
        self.parts("Struct", if entries.is_empty() { entries } else { vec![format!("{{{}}}", entries.join(", "))] });
    }

    fn callable(&mut self, callable: &Callable) {
        let parameters = self.callable_parameters(callable);
        match &callable.result {
            None => self.parts("Callable", parameters),
            Some(result) => {
                let result = self.format_type(result);
                self.parts("Callable", vec![format!("[{}]", parameters.join(", ")), result]);
            }
        }
    }

    fn callable_parameters(&self, callable: &Callable) -> Vec<String> {
        let Some(Type::Tuple(types, size)) = &callable.parameters else { return Vec::new() };
        let shown = types.iter().filter(|kind| !matches!(kind, Type::Unit));
        let mut parts: Vec<String> = shown.map(|kind| self.format_type(kind)).collect();
        if types.is_empty() {
            parts.extend(["0".into(), "0".into()]);
        } else {
            parts.extend(bounds(size.as_ref()));
        }
        parts.extend(callable.block.iter().map(|block| self.format_type(block)));
        parts
    }

    /// A value among the parameters of a type.
    fn value(&mut self, value: &Value) {
        match value.bare() {
            Value::Undef => self.out.push_str("undef"),
            Value::String(text) => self.out.push_str(&puppet_quote(text, false)),
            Value::Symbol(name) => self.out.push_str(name),
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.format_value(item)).collect();
                _ = write!(self.out, "[{}]", items.join(", "));
            }
            Value::Hash(hash) => {
                let entry = |(k, v): (&Value, &Value)| format!("{} => {}", self.format_value(k), self.format_value(v));
                let entries: Vec<String> = hash.iter().map(entry).collect();
                _ = write!(self.out, "{{{}}}", entries.join(", "));
            }
            Value::Rich(rich) => self.rich(rich),
            other => self.out.push_str(&other.to_s()),
        }
    }

    fn rich(&mut self, rich: &Rich) {
        match rich {
            Rich::Type(kind) => self.kind(kind),
            Rich::Regexp(pattern) => self.out.push_str(&regexp::slashed(pattern)),
            Rich::Uri(uri) => _ = write!(self.out, "URI({})", puppet_quote(&uri.to_string(), false)),
            Rich::Binary(_) | Rich::Sensitive(_) | Rich::Hidden(_) => {
                _ = write!(self.out, "Instance of {}", rich.type_name());
            }
            other => _ = write!(self.out, "'{}'", other.to_text()),
        }
    }
}

/// Puppet's text of a `TypeSet` without parameters.
const TYPE_SET: &str = "TypeSet[{pcore_uri => 'http://puppet.com/2016.1/pcore', pcore_version => '1.0.0', \
    name_authority => 'http://puppet.com/2016.1/runtime', name => 'DefaultTypeSet', version => '0.0.0'}]";

fn bounds(range: Option<&Range>) -> Vec<String> {
    let Some(range) = range.filter(|range| !range.is_all()) else { return Vec::new() };
    let lower = range.lower().map_or_else(|| "default".into(), Value::to_s);
    [lower].into_iter().chain(range.upper().map(Value::to_s)).collect()
}

fn texts_bounds(texts: &Texts) -> Vec<String> {
    match texts {
        Texts::Size(size) => bounds(Some(size)),
        _ => Vec::new(),
    }
}

fn times(range: TimeRange, text: impl Fn(i128) -> String) -> Vec<String> {
    let quoted = |time: i128| format!("'{}'", text(time));
    match (range.from, range.to) {
        (None, None) => Vec::new(),
        (from, None) => from.map(quoted).into_iter().collect(),
        (None, Some(to)) => vec!["default".into(), quoted(to)],
        (Some(from), Some(to)) if from == to => vec![quoted(from)],
        (Some(from), Some(to)) => vec![quoted(from), quoted(to)],
    }
}

/// Returns the name of a resource type with its parts capitalized, if they are not.
fn capitalized(name: &str) -> String {
    if name.lines().any(|line| line.starts_with(|c: char| c.is_ascii_uppercase())) {
        return name.to_owned();
    }
    let part = |part: &str| {
        let mut chars = part.chars();
        chars.next().map(|first| first.to_uppercase().chain(chars.flat_map(char::to_lowercase)).collect::<String>())
    };
    name.split("::").map(|p| part(p).unwrap_or_default()).collect::<Vec<_>>().join("::")
}

/// Returns a text as a literal of Puppet's language: in single quotes if possible, or in double ones.
pub fn puppet_quote(text: &str, double: bool) -> String {
    if double || text.chars().any(|c| c < ' ') {
        return double_quoted(text);
    }
    let mut out = String::from("'");
    let mut escaped = false;
    for c in text.chars() {
        match c {
            c if escaped => {
                out.push('\\');
                out.push(c);
                escaped = false;
            }
            '\'' => out.push_str("\\'"),
            '\\' => escaped = true,
            c => out.push(c),
        }
    }
    if escaped {
        out.push('\\');
    }
    out.push('\'');
    out
}

fn double_quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '"' => out.push_str("\\\""),
            '$' => out.push_str("\\$"),
            '\\' => out.push_str("\\\\"),
            c if c < ' ' => _ = write!(out, "\\u{{{:X}}}", u32::from(c)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
