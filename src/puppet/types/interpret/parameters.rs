//! The parameters of types, in brackets.
//!
//! Source: `pops/types/type_factory.rb`.

use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use super::{Parsed, no_type};
use crate::puppet::regex::RubyRegex;
use crate::puppet::types::describe::describe_mismatch;
use crate::puppet::types::inference::generalize::{changes_init, generalize, has_init};
use crate::puppet::types::inference::infer::{infer, infer_set};
use crate::puppet::types::inference::normalize::{NO_NEW_INIT, enumeration, merge_versions};
use crate::puppet::types::record::element;
use crate::puppet::types::syntax::Node;
use crate::puppet::types::uri::parts;
use crate::puppet::types::{is_instance, parse};
use crate::puppet::{Error, ruby, semver, uri};
use crate::value::rich::Rich;
use crate::value::rich::types::{Callable, Range, Texts, TimeRange};
use crate::value::{Hash, Type, Value};

/// The parameters of a type, and the expression that contains them.
pub(super) struct Parameters<'n, 't> {
    pub(super) node: &'n Node<'t>,
    pub(super) values: Vec<Value>,
}

impl Parameters<'_, '_> {
    pub(super) fn only_value(&self, name: &str, required: &str) -> Parsed<&Value> {
        match self.values.as_slice() {
            [one] => Ok(one),
            many => Err(wrong_count(name, required, many.len())),
        }
    }

    pub(super) fn only_type(&self, name: &str, required: &str) -> Parsed<Type> {
        self.kind(self.only_value(name, required)?)
    }

    fn kind(&self, value: &Value) -> Parsed<Type> {
        value.as_type().cloned().ok_or_else(|| no_type(self.node))
    }

    pub(super) fn types(&self, values: &[Value]) -> Parsed<Vec<Type>> {
        values.iter().map(|value| self.kind(value)).collect()
    }

    pub(super) fn variant(&self) -> Parsed<Type> {
        let types = self.types(&self.values)?;
        let is_doubled = |(at, kind): (usize, &Type)| has_time(kind) && types[..at].contains(kind);
        if types.iter().enumerate().any(is_doubled) {
            // To Puppet, they are not equal.
            return Err(Error::unknown("alternatives with the same bounds of time"));
        }
        Ok(Type::variant(types))
    }

    /// Reads a type, or a text, which stands for the type of this text alone.
    pub(super) fn text_or_type(&self, name: &str, required: &str) -> Parsed<Type> {
        match self.only_value(name, required)? {
            Value::String(text) => Ok(Type::String(Texts::Value(text.clone()))),
            other => self.kind(other),
        }
    }

    fn range(&self, from: &Value, to: &Value) -> Parsed<Range> {
        if !is_bound(from) || !is_bound(to) {
            return Err(no_type(self.node));
        }
        range(from, to)
    }

    /// Reads a size: a type, a minimum, or a minimum and a maximum.
    pub(super) fn size(&self, name: &str, values: &[Value]) -> Parsed<Range> {
        match values {
            [one] => match one.as_type() {
                Some(Type::Integer(range)) => Ok(range.clone()),
                _ => self.range(one, &Value::Symbol("default".into())),
            },
            [from, to] => self.range(from, to),
            many => Err(wrong_count(name, "1 to 2", many.len())),
        }
    }

    pub(super) fn array(&self) -> Parsed<Type> {
        match self.values.as_slice() {
            [items] => Ok(Type::array(self.kind(items)?, None)),
            [items, rest] if items.as_type().is_some() => {
                Ok(Type::array(self.kind(items)?, Some(self.size("Array", std::slice::from_ref(rest))?)))
            }
            [from, to] => Ok(Type::array(Type::Default, Some(self.range(from, to)?))),
            [items, from, to] => Ok(Type::array(self.kind(items)?, Some(self.range(from, to)?))),
            many => Err(wrong_count("Array", "1 to 3", many.len())),
        }
    }

    pub(super) fn hash(&self) -> Parsed<Type> {
        match self.values.as_slice() {
            [key, value] => match (key.as_type(), value.as_type()) {
                (Some(key), Some(value)) => Ok(Type::hash(key.clone(), value.clone(), None)),
                _ => Ok(Type::hash(Type::Default, Type::Default, Some(self.range(key, value)?))),
            },
            [key, value, rest @ ..] if matches!(rest.len(), 1 | 2) => {
                if let [from, to] = rest
                    && (!is_bound(from) || !is_bound(to))
                {
                    return Err(no_type(self.node));
                }
                let size = || self.size("Hash", rest);
                let size_alone = if rest.len() == 1 { Some(size()?) } else { None };
                let (key, value) = (self.kind(key)?, self.kind(value)?);
                Ok(Type::hash(key, value, Some(size_alone.map_or_else(size, Ok)?)))
            }
            many => Err(wrong_count("Hash", "2 to 4", many.len())),
        }
    }

    pub(super) fn tuple(&self) -> Parsed<Type> {
        let lower_bound = |value: &Value| {
            let open = is_default(value) || value.as_str() == Some("default");
            if open { Value::Integer(0) } else { value.clone() }
        };
        let (types, size) = match self.values.as_slice() {
            [types @ .., from, to] if is_bound(from) => (types, Some(self.range(&lower_bound(from), to)?)),
            [types @ .., from] if is_bound(from) => (types, Some(range(&lower_bound(from), &Value::Undef)?)),
            types => (types, None),
        };
        Ok(Type::Tuple(types.iter().map(type_of).collect::<Parsed<_>>()?, size.map(Range::to_size)))
    }

    pub(super) fn record(&self) -> Parsed<Type> {
        let Value::Hash(hash) = self.only_value("Struct", "1")? else { return Err(no_type(self.node)) };
        hash.iter()
            .map(|(key, value)| element(key, type_of(value)?))
            .collect::<Parsed<Vec<_>>>()
            .map(|elements| Type::Struct(elements.into()))
    }

    /// Returns true for the only parameter of `Integer` or `Float` if it is no bound.
    pub(super) fn is_nothing(&self, name: &str) -> bool {
        let is_bound = |value: &Value| is_default(value) || is_integer(value) || name == "float" && is_float(value);
        matches!(self.values.as_slice(), [one] if !is_bound(one))
    }

    pub(super) fn integer(&self) -> Parsed<Type> {
        match self.values.as_slice() {
            [one] if is_default(one) => Ok(Type::Integer(Range::ALL)),
            [one] => range(one, &Value::Undef).map(Type::Integer),
            [from, to] => range(from, to).map(Type::Integer),
            many => Err(wrong_count("Integer", "1 or 2", many.len())),
        }
    }

    pub(super) fn float(&self) -> Parsed<Type> {
        let bound = |value: &Value| match value {
            value if is_default(value) || value.is_undef() => Ok(Value::Undef),
            value => ruby::float(value).map(Value::Float),
        };
        match self.values.as_slice() {
            [one] if is_default(one) => Ok(Type::Float(Range::ALL)),
            [one] => range(&bound(one)?, &Value::Undef).map(Type::Float),
            [from, to] => range(&bound(from)?, &bound(to)?).map(Type::Float),
            many => Err(wrong_count("Float", "1 or 2", many.len())),
        }
    }

    pub(super) fn boolean(&self) -> Parsed<Type> {
        match self.only_value("Boolean", "1")? {
            Value::Boolean(value) => Ok(Type::Boolean(Some(*value))),
            _ => Err(Error::puppet("Boolean parameter must be true or false")),
        }
    }

    pub(super) fn enumeration(&self) -> Parsed<Type> {
        let (values, any_case) = match self.values.as_slice() {
            [values @ .., Value::Boolean(any_case)] => (values, *any_case),
            values => (values, false),
        };
        if values.is_empty() {
            return Err(wrong_count("Enum", "1 or more", 0));
        }
        let text = |value: &Value| match value {
            Value::String(text) => Ok(text.clone()),
            _ => Err(Error::puppet("Enum parameters must be identifiers or strings")),
        };
        Ok(enumeration(values.iter().map(text).collect::<Parsed<_>>()?, any_case))
    }

    pub(super) fn pattern(&self) -> Parsed<Type> {
        let mut patterns: Vec<Option<Arc<str>>> = Vec::new();
        for value in &self.values {
            match value {
                Value::String(text) => {
                    RubyRegex::compile(text)?;
                    patterns.push(Some(text.to_arc()));
                }
                Value::Rich(rich) => match &**rich {
                    Rich::Regexp(pattern) | Rich::Type(Type::Regexp(Some(pattern))) => {
                        patterns.push(Some(pattern.clone()));
                    }
                    Rich::Type(Type::Regexp(None)) => patterns.push(None),
                    Rich::Type(Type::Pattern(more)) => patterns.extend(more.iter().cloned()),
                    _ => return Err(no_pattern(value)),
                },
                other => return Err(no_pattern(other)),
            }
        }
        let mut unique: Vec<Option<Arc<str>>> = Vec::new();
        for pattern in patterns {
            if !unique.contains(&pattern) {
                unique.push(pattern);
            }
        }
        Ok(Type::Pattern(unique.into()))
    }

    pub(super) fn regexp(&self) -> Parsed<Type> {
        match self.only_value("Regexp", "1")? {
            Value::String(text) => {
                // Puppet compiles it on first use, and fails only then.
                RubyRegex::compile(text).map_err(|error| Error::unknown(error.text.as_str()))?;
                Ok(Type::Regexp(Some(text.to_arc())))
            }
            Value::Undef | Value::Boolean(false) => Ok(Type::Regexp(None)),
            Value::Rich(rich) if let Rich::Regexp(pattern) = &**rich => Ok(Type::Regexp(Some(pattern.clone()))),
            other => {
                let class = other.class_name();
                Err(Error::bare(format!("no implicit conversion of {class} into String")))
            }
        }
    }

    /// Reads the type of a secret; `is_vague` if a type was written with parameters that say nothing.
    pub(super) fn sensitive(&self, is_vague: bool) -> Parsed<Type> {
        let inner = self.only_type("Sensitive", "0 to 1")?;
        if changes_init(&inner) {
            return Err(Error::bare(NO_NEW_INIT));
        }
        if is_vague && has_init(&inner) {
            return Err(Error::unknown(format!("whether Puppet can make a Sensitive of {inner}")));
        }
        Ok(Type::Sensitive(generalize(&inner).into()))
    }

    pub(super) fn init(&self) -> Parsed<(Type, &[Value])> {
        let (first, args) = self.values.split_first().ok_or_else(|| no_type(self.node))?;
        Ok((self.kind(first)?, args))
    }

    pub(super) fn callable(&self) -> Parsed<Type> {
        let (values, result) = match self.values.as_slice() {
            [Value::Array(values), result] => (values.as_slice(), Some(type_of(result)?)),
            [Value::Array(_), ..] if self.values.len() > 1 => {
                return Err(wrong_count("callable", "2 when first parameter is an array", self.values.len()));
            }
            values => (values, None),
        };
        let is_block = |value: &Value| value.as_type().is_some_and(is_callable);
        let (values, block) = match values {
            [values @ .., last] if is_block(last) => (values, last.as_type().cloned()),
            values => (values, None),
        };
        let (types, size) = match values {
            [types @ .., from, to] if is_bound(from) && is_bound(to) => (types, Some(range(from, to)?)),
            [types @ .., from] if is_bound(from) => (types, Some(range(from, &Value::Undef)?)),
            types => (types, None),
        };
        let mut types = types.iter().map(type_of).collect::<Parsed<Vec<Type>>>()?;
        let has_room = |size: &Range| size.to.compare(&Value::Integer(0)) == Some(Ordering::Greater);
        if types.is_empty() && size.as_ref().is_some_and(has_room) {
            types.push(Type::Unit);
        }
        let parameters = Some(Type::Tuple(types.into(), size.map(Range::to_size)));
        let result = result.filter(|result| !matches!(result, Type::Any));
        Ok(Type::Callable(Some(Arc::new(Callable { parameters, block, result }))))
    }

    pub(super) fn versions(&self) -> Parsed<Type> {
        let range = |value: &Value| match value {
            Value::String(text) => semver::range(text).map_err(Error::puppet),
            other => {
                let (shown, class) = (other.inspect(), other.class_name());
                Err(Error::bare(format!("undefined method `gsub' for {shown}:{class}")))
            }
        };
        let ranges = self.values.iter().map(range).collect::<Parsed<Vec<_>>>()?;
        Ok(Type::SemVer(merge_versions(ranges)?.into()))
    }

    pub(super) fn times(&self, name: &str, bound: impl Fn(&Value) -> Parsed<Option<i128>>) -> Parsed<TimeRange> {
        let text = |time: i128| match name {
            "Timestamp" => Rich::Timestamp(time).to_text(),
            _ => Rich::Timespan(time).to_text(),
        };
        let (from, to) = match self.values.as_slice() {
            [from] => (bound(from)?, None),
            [from, to] => (bound(from)?, bound(to)?),
            many => return Err(wrong_count(name, "0 to 2", many.len())),
        };
        match (from, to) {
            (Some(from), Some(to)) if from > to => {
                Err(Error::puppet(format!("'from' must be less or equal to 'to'. Got ({}, {}", text(from), text(to))))
            }
            (from, to) => Ok(TimeRange { from, to }),
        }
    }

    pub(super) fn uri(&self) -> Parsed<Type> {
        match self.only_value("URI", "1")? {
            Value::String(text) if !has_scheme(text) => {
                Err(Error::unknown(format!("the type of a URI without a scheme: '{}'", &**text)))
            }
            Value::String(text) => {
                let uri = uri::parse(text).map_err(Error::puppet)?;
                let parts = parts(&uri);
                Ok(Type::Uri(Some(parts).filter(|parts| !parts.is_empty()).map(Arc::new)))
            }
            Value::Hash(hash) => {
                check_uri(hash)?;
                Ok(Type::Uri(Some(hash.clone()).filter(|hash| !hash.is_empty())))
            }
            _ => Ok(Type::Uri(None)),
        }
    }

    pub(super) fn class(&self) -> Parsed<Type> {
        match self.only_value("Class", "1")? {
            Value::String(text) => Ok(Type::Class(Some(text.strip_prefix("::").unwrap_or(text).into()))),
            other => {
                let (shown, class) = (other.inspect(), other.class_name());
                Err(Error::bare(format!("undefined method `sub' for {shown}:{class}")))
            }
        }
    }

    pub(super) fn resource(&self) -> Parsed<Type> {
        let [name, rest @ ..] = self.values.as_slice() else { return Err(no_type(self.node)) };
        if rest.len() > 1 {
            return Err(wrong_count("Resource", "1 or 2", self.values.len()));
        }
        let title = match rest.first() {
            None | Some(Value::Undef) => None,
            Some(Value::String(title)) => Some(title.to_arc()),
            Some(_) => return Err(Error::unknown("a resource whose title is no text")),
        };
        match (name, name.as_type()) {
            (_, Some(Type::Resource(name, _))) => Ok(Type::Resource(name.clone(), title)),
            (Value::String(name), _) => {
                let shown = Type::Resource(Some(name.to_arc()), None).to_string();
                let legal = shown.split("::").all(|part| {
                    part.starts_with(|c: char| c.is_ascii_uppercase())
                        && part.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
                });
                if !legal {
                    return Err(Error::puppet(format!("Illegal type name '{shown}'")));
                }
                Ok(Type::Resource(Some(shown.into()), title))
            }
            (other, _) => Err(Error::puppet(format!("The type name cannot be a {}", other.class_name()))),
        }
    }

    pub(super) fn runtime(&self) -> Parsed<Type> {
        match self.values.as_slice() {
            [Value::String(runtime), Value::String(name)] if !name.is_empty() => {
                Ok(Type::Runtime(Some(runtime.to_arc()), Some(name.to_arc())))
            }
            [_, _] => Err(Error::unknown("a 'Runtime' type of a pattern is not supported")),
            many => Err(wrong_count("Runtime", "2", many.len())),
        }
    }
}

/// Returns true for the type of a block, which may be optional.
fn is_callable(kind: &Type) -> bool {
    match kind {
        Type::Callable(_) => true,
        Type::Optional(Some(inner)) => is_callable(inner),
        Type::Variant(types) => types.iter().all(is_callable),
        Type::Alias(alias) => is_callable(alias.resolved()),
        _ => false,
    }
}

fn no_pattern(value: &Value) -> Error {
    let class = value.class_name();
    Error::puppet(format!("Only String, Regexp, Pattern-Type, and Regexp-Type are allowed: got '{class}"))
}

/// Returns true if there is a bound of time in a type.
fn has_time(kind: &Type) -> bool {
    match kind {
        Type::Timestamp(range) | Type::Timespan(range) => *range != TimeRange::default(),
        kind => kind.parts().into_iter().any(has_time),
    }
}

/// Returns true for a text with a scheme in it, which is all that Puppet demands of the text of a URI's type.
fn has_scheme(text: &str) -> bool {
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "-+.".contains(c);
    let ends_in_scheme = |part: &str| part.chars().rev().take_while(|c| is_scheme(*c)).any(|c| c.is_ascii_alphabetic());
    text.rsplit_once(':').is_some_and(|(before, _)| before.split(':').any(ends_in_scheme))
}

/// Returns the type that a value stands for as a parameter.
fn type_of(value: &Value) -> Parsed<Type> {
    Ok(match (value, value.as_type()) {
        (Value::String(text), _) => Type::Runtime(Some("ruby".into()), Some(text.to_arc())),
        (_, Some(kind)) => kind.clone(),
        (value, None) => generalize(&infer(value)?),
    })
}

/// Returns a range; the bounds may be anything that Ruby can compare.
fn range(from: &Value, to: &Value) -> Parsed<Range> {
    if from.as_str() == Some("default") {
        return Err(Error::bare("undefined method `>' for false:FalseClass"));
    }
    let open = |bound: &Value| is_default(bound) || bound.is_undef() || bound.as_str() == Some("default");
    let from = if open(from) { Range::ALL.from } else { from.clone() };
    let to = if open(to) { Range::ALL.to } else { to.clone() };
    match from.compare(&to) {
        Some(Ordering::Greater) => {
            let (from, to) = (from.to_s(), to.to_s());
            Err(Error::puppet(format!("'from' must be less or equal to 'to'. Got ({from}, {to}")))
        }
        Some(_) if !matches!(from, Value::String(_)) => Ok(Range { from, to }),
        _ => Err(incomparable(&from, &to)),
    }
}

/// Returns Ruby's error for the bounds of a range that it cannot compare.
fn incomparable(from: &Value, to: &Value) -> Error {
    let (shown, class) = (from.inspect(), from.class_name());
    match (from, to) {
        // Puppet compares these, and fails with some values.
        (Value::String(_), Value::String(_)) => Error::unknown("a range of texts"),
        (Value::Hash(_) | Value::Rich(_), _) | (_, Value::Rich(_)) => Error::unknown("a range of no numbers"),
        (Value::Boolean(_) | Value::Array(_), _) => Error::bare(format!("undefined method `>' for {shown}:{class}")),
        (_, Value::String(_) | Value::Array(_) | Value::Hash(_)) => {
            Error::bare(format!("comparison of {class} with {} failed", to.class_name()))
        }
        _ => Error::bare(format!("comparison of {class} with {} failed", to.inspect())),
    }
}

fn wrong_count(name: &str, required: &str, given: usize) -> Error {
    let text = format!("Invalid number of type parameters specified: {name} requires {required}, {given} provided");
    Error::puppet(text)
}

fn is_default(value: &Value) -> bool {
    matches!(value, Value::Symbol(name) if &**name == "default")
}

fn is_integer(value: &Value) -> bool {
    matches!(value, Value::Integer(_) | Value::BigInteger(_))
}

fn is_float(value: &Value) -> bool {
    matches!(value, Value::Float(_))
}

fn is_bound(value: &Value) -> bool {
    is_integer(value) || is_default(value) || value.as_str() == Some("default")
}

/// Refuses a hash that does not have the parameters of a URI type.
fn check_uri(hash: &Hash) -> Result<(), Error> {
    static PARAMETERS: LazyLock<Result<Type, Error>> = LazyLock::new(|| {
        let text = "Optional[Variant[String[1], Regexp, Type[Pattern], Type[Enum], Type[NotUndef], Type[Undef]]]";
        let port = "Optional[Variant[Integer[0], Type[NotUndef], Type[Undef]]]";
        let names = ["scheme", "userinfo", "host", "port", "path", "query", "fragment", "opaque"];
        let entry = |name| format!("Optional[{name}] => {}", if name == "port" { port } else { text });
        parse(&format!("Variant[String[1], Struct[{{{}}}]]", names.map(entry).join(", ")))
    });
    let parameters = PARAMETERS.as_ref().map_err(Clone::clone)?;
    let value = Value::hash(hash.clone());
    if is_instance(parameters, &value)? {
        return Ok(());
    }
    let text = describe_mismatch("URI-Type parameter has wrong type,", parameters, &infer_set(&value)?);
    Err(Error::puppet(text))
}
