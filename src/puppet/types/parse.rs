//! What type an expression is.
//!
//! Source: `pops/types/type_parser.rb`, `type_factory.rb`.

use std::cell::Cell;
use std::cmp::Ordering;
use std::sync::Arc;

use super::infer;
use super::names::{RESOURCES, plain};
use super::record::element;
use super::syntax::{self, Kind, Node};
use crate::puppet::new::{init, time};
use crate::puppet::regex::RubyRegex;
use crate::puppet::{Error, semver, uri};
use crate::value::rich::Rich;
use crate::value::rich::types::{Alias, Callable, OwnAlias, Range, Texts, TimeRange};
use crate::value::{Hash, Text, Type, Value};

type Parsed<T> = Result<T, Error>;

/// The type that `text` is an expression of.
pub fn parse(text: &str) -> Parsed<Type> {
    parse_among(text, &Names::All(&[]))
}

/// The type of the flag `--type`, of which `puppet lookup` knows fewer.
pub fn parse_flag(text: &str) -> Parsed<Type> {
    parse_among(text, &Names::BuiltIn)
}

/// The type that `text` is, where some names are known that Puppet itself does not have.
pub(crate) fn parse_with(text: &str, local: &[(&'static str, Type)]) -> Parsed<Type> {
    parse_among(text, &Names::All(local))
}

fn parse_among(text: &str, names: &Names<'_>) -> Parsed<Type> {
    if text == "Array[1]" {
        return Ok(Type::array(Type::Any, Some(Range::at_least(1)))); // one of the texts that Puppet does not parse
    }
    let node = syntax::parse(text)?;
    let parser = Parser { names, unusable: Cell::new(0) };
    let value = parser.value(&node);
    let is_init = matches!(&value, Ok(value) if matches!(value.as_type(), Some(Type::Init(..))));
    if parser.unusable.get() > usize::from(is_init) {
        // Puppet fails as soon as it looks into such a type, which may be at once or never.
        return Err(Error::unknown("an Init of a type that nothing can be made of, inside of another type"));
    }
    value?.as_type().cloned().ok_or_else(|| no_type(&node))
}

fn no_type(node: &Node<'_>) -> Error {
    Error::puppet(format!("The expression <{}> is not a valid type specification.", node.text))
}

fn wrong_count(name: &str, required: &str, given: usize) -> Error {
    let text = format!("Invalid number of type parameters specified: {name} requires {required}, {given} provided");
    Error::puppet(text)
}

fn type_value(kind: Type) -> Value {
    Value::Rich(Arc::new(Rich::Type(kind)))
}

fn is_default(value: &Value) -> bool {
    matches!(value, Value::Symbol(name) if &**name == "default")
}

fn is_integer(value: &Value) -> bool {
    matches!(value, Value::Integer(_) | Value::BigInteger(_))
}

fn is_bound(value: &Value) -> bool {
    is_integer(value) || is_default(value) || value.as_str() == Some("default")
}

/// The names that have a meaning.
enum Names<'l> {
    /// Those that Puppet has, and some more.
    All(&'l [(&'static str, Type)]),
    /// Those that Puppet's parser has without asking a loader: no aliases, no resource types.
    BuiltIn,
}

struct Parser<'l> {
    names: &'l Names<'l>,
    /// How many an `Init` there is of a type that has no `new`.
    unusable: Cell<usize>,
}

/// A type's parameters, and the expression that they stand in.
struct Parameters<'n, 't> {
    node: &'n Node<'t>,
    values: Vec<Value>,
}

impl Parser<'_> {
    fn value(&self, node: &Node<'_>) -> Parsed<Value> {
        match &node.kind {
            Kind::Reference(name) => self.named(name).map(type_value),
            Kind::Access(left, parameters) => self.access(node, left, parameters).map(type_value),
            Kind::Literal(value) => Ok(value.clone()),
            Kind::Regex(pattern) => {
                RubyRegex::compile(pattern)?;
                Ok(Value::Rich(Arc::new(Rich::Regexp(pattern.as_str().into()))))
            }
            Kind::List(nodes) => nodes.iter().map(|node| self.value(node)).collect(),
            Kind::Hash(entries) => {
                let mut hash = Hash::new();
                for (key, value) in entries {
                    hash.insert(self.value(key)?, self.value(value)?);
                }
                Ok(Value::hash(hash))
            }
            Kind::Minus(inner) => match self.value(inner)? {
                Value::Integer(n) => Ok(Value::big(-num_bigint::BigInt::from(n))),
                Value::BigInteger(n) => Ok(Value::big(-(*n).clone())),
                Value::Float(f) => Ok(Value::Float(-f)),
                // Ruby's minus of a text is the text.
                text @ Value::String(_) => Ok(text),
                other => Err(Error::puppet(format!("undefined method `-@' for {}", other.inspect()))),
            },
            Kind::Other => Err(no_type(node)),
        }
    }

    fn named(&self, cased: &str) -> Parsed<Type> {
        let Names::All(local) = self.names else { return plain(&cased.to_ascii_lowercase()).ok_or_else(no_loader) };
        let name = cased.strip_prefix("::").unwrap_or(cased).to_ascii_lowercase();
        if let Some((_, kind)) = local.iter().find(|(local, _)| local.eq_ignore_ascii_case(&name)) {
            return Ok(kind.clone());
        }
        let alias = OwnAlias::ALL.into_iter().find(|alias| alias.name().eq_ignore_ascii_case(&name));
        if let Some(alias) = alias {
            return Ok(Type::Alias(Alias::Own(alias)));
        }
        let resource = RESOURCES.iter().find(|resource| resource.eq_ignore_ascii_case(&name));
        if let Some(resource) = resource {
            return Ok(Type::Resource(Some((*resource).into()), None));
        }
        plain(&name).ok_or_else(|| unknown(cased))
    }

    fn access(&self, node: &Node<'_>, left: &Node<'_>, parameters: &[Node<'_>]) -> Parsed<Type> {
        let values = parameters.iter().map(|node| self.value(node)).collect::<Parsed<Vec<_>>>()?;
        let Kind::Reference(cased) = left.kind else { return Err(no_type(node)) };
        let given = Parameters { node, values };
        let name = cased.strip_prefix("::").unwrap_or(cased).to_ascii_lowercase();
        let unparameterized = || Error::puppet(format!("Not a parameterized type <{}>", left.text));
        match name.as_str() {
            "array" => given.array(),
            "hash" => given.hash(),
            "tuple" => given.tuple(),
            "struct" => given.record(),
            "variant" => given.types(&given.values).map(Type::variant),
            "collection" => given.size("Collection", &given.values).map(|size| Type::Collection(Some(size.to_size()))),
            "string" => given.size("String", &given.values).map(Type::sized_string),
            "integer" => given.integer(),
            "float" => given.float(),
            "boolean" => match given.only("Boolean", "1")? {
                Value::Boolean(value) => Ok(Type::Boolean(Some(*value))),
                _ => Err(Error::puppet("Boolean parameter must be true or false")),
            },
            "enum" => given.choice(),
            "pattern" => given.pattern(),
            "regexp" => given.regexp(),
            "optional" => given.text_or_type("Optional", "1").map(|inner| Type::Optional(Some(inner.into()))),
            "notundef" => given.text_or_type("NotUndef", "0 to 1").map(not_undef),
            "type" => given.only_type("Type", "1").map(|inner| Type::Type(Some(inner.into()))),
            "iterable" => given.only_type("Iterable", "1").map(|inner| Type::Iterable(Some(inner.into()))),
            "iterator" => given.only_type("Iterator", "1").map(|inner| Type::Iterator(Some(inner.into()))),
            "sensitive" => {
                given.only_type("Sensitive", "0 to 1").map(|inner| Type::Sensitive(infer::generalize(&inner).into()))
            }
            "init" => {
                let (inner, args) = given.init()?;
                self.unusable.set(self.unusable.get() + usize::from(!init::is_usable(&inner, args)));
                Ok(Type::Init(Some(inner.into()), args.into()))
            }
            "callable" => given.callable(),
            "semver" => given.versions(),
            "timestamp" => given.times("Timestamp", time::timestamp_bound).map(Type::Timestamp),
            "timespan" => given.times("Timespan", time::timespan_bound).map(Type::Timespan),
            "uri" => given.uri(),
            "class" => given.class(),
            "resource" => given.resource(),
            "runtime" => given.runtime(),
            "data" => Err(unparameterized()),
            "object" | "typeset" => match given.only("Object", "1")? {
                Value::Hash(hash) if hash.is_empty() => self.named(cased),
                Value::Undef => self.named(cased),
                _ => Err(Error::unknown(format!("the definition of a type by '{cased}' is not supported"))),
            },
            _ => match self.named(cased)? {
                Type::Resource(resource, _) => {
                    let title = given.only(cased, "1")?;
                    Ok(Type::Resource(resource, Some(title.to_s().into())))
                }
                _ => Err(unparameterized()),
            },
        }
    }
}

/// `puppet lookup` takes the scope of `--type` for a loader.
fn no_loader() -> Error {
    let text = "private method `load' called for Scope(Class[main]):Puppet::Parser::Scope";
    Error::puppet(format!("{text} (the --type of puppet lookup knows no aliases and no types but those built in)"))
}

/// A name that some module may give a meaning to.
fn unknown(name: &str) -> Error {
    Error::unknown(format!("the data type '{name}' is not one of Puppet's own"))
}

fn not_undef(inner: Type) -> Type {
    Type::NotUndef(Some(inner).filter(|inner| !matches!(inner, Type::Any)).map(Arc::new))
}

/// The type that something stands for where a type is wanted.
fn type_of(value: &Value) -> Parsed<Type> {
    Ok(match (value, value.as_type()) {
        (Value::String(text), _) => Type::Runtime(Some("ruby".into()), Some(text.to_arc())),
        (_, Some(kind)) => kind.clone(),
        (value, None) => infer::generalize(&infer::infer(value)?),
    })
}

/// A range of numbers; the bounds may be anything that Ruby can compare.
fn range(from: &Value, to: &Value) -> Parsed<Range> {
    if from.as_str() == Some("default") {
        return Err(Error::puppet("undefined method `>' for false:FalseClass"));
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
        _ => Err(Error::puppet(format!(
            "comparison of {} with {} failed",
            from.class_name(),
            if matches!(to, Value::String(_)) { "String".to_owned() } else { to.inspect() }
        ))),
    }
}

impl Parameters<'_, '_> {
    fn only(&self, name: &str, required: &str) -> Parsed<&Value> {
        match self.values.as_slice() {
            [one] => Ok(one),
            many => Err(wrong_count(name, required, many.len())),
        }
    }

    fn only_type(&self, name: &str, required: &str) -> Parsed<Type> {
        self.kind(self.only(name, required)?)
    }

    fn kind(&self, value: &Value) -> Parsed<Type> {
        value.as_type().cloned().ok_or_else(|| no_type(self.node))
    }

    fn types(&self, values: &[Value]) -> Parsed<Vec<Type>> {
        values.iter().map(|value| self.kind(value)).collect()
    }

    /// A type, or a text that stands for itself.
    fn text_or_type(&self, name: &str, required: &str) -> Parsed<Type> {
        match self.only(name, required)? {
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

    /// A size: a type, the least, or the least and the greatest.
    fn size(&self, name: &str, values: &[Value]) -> Parsed<Range> {
        match values {
            [one] => match one.as_type() {
                Some(Type::Integer(range)) => Ok(range.clone()),
                _ => self.range(one, &Value::Symbol("default".into())),
            },
            [from, to] => self.range(from, to),
            many => Err(wrong_count(name, "1 to 2", many.len())),
        }
    }

    fn array(&self) -> Parsed<Type> {
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

    fn hash(&self) -> Parsed<Type> {
        match self.values.as_slice() {
            [key, value] => match (key.as_type(), value.as_type()) {
                (Some(key), Some(value)) => Ok(Type::hash(key.clone(), value.clone(), None)),
                _ => Ok(Type::hash(Type::Default, Type::Default, Some(self.range(key, value)?))),
            },
            [key, value, rest @ ..] if matches!(rest.len(), 1 | 2) => {
                let size = self.size("Hash", rest)?;
                Ok(Type::hash(self.kind(key)?, self.kind(value)?, Some(size)))
            }
            many => Err(wrong_count("Hash", "2 to 4", many.len())),
        }
    }

    fn tuple(&self) -> Parsed<Type> {
        let least = |value: &Value| {
            let open = is_default(value) || value.as_str() == Some("default");
            if open { Value::Integer(0) } else { value.clone() }
        };
        let (types, size) = match self.values.as_slice() {
            [types @ .., from, to] if is_bound(from) => (types, Some(self.range(&least(from), to)?)),
            [types @ .., from] if is_bound(from) => (types, Some(range(&least(from), &Value::Undef)?)),
            types => (types, None),
        };
        Ok(Type::Tuple(types.iter().map(type_of).collect::<Parsed<_>>()?, size.map(Range::to_size)))
    }

    fn record(&self) -> Parsed<Type> {
        let Value::Hash(hash) = self.only("Struct", "1")? else { return Err(no_type(self.node)) };
        hash.iter()
            .map(|(key, value)| element(key, type_of(value)?))
            .collect::<Parsed<Vec<_>>>()
            .map(|elements| Type::Struct(elements.into()))
    }

    fn integer(&self) -> Parsed<Type> {
        match self.values.as_slice() {
            [one] if is_default(one) => Ok(Type::Integer(Range::ALL)),
            [one] if is_integer(one) => range(one, &Value::Undef).map(Type::Integer),
            [_] => Err(no_type(self.node)),
            [from, to] => range(from, to).map(Type::Integer),
            many => Err(wrong_count("Integer", "1 or 2", many.len())),
        }
    }

    fn float(&self) -> Parsed<Type> {
        let bound = |value: &Value| match value {
            value if is_default(value) || value.is_undef() => Ok(Value::Undef),
            value => super::super::new::number::ruby_float(value).map(Value::Float),
        };
        match self.values.as_slice() {
            [one] if is_default(one) => Ok(Type::Float(Range::ALL)),
            [one @ (Value::Integer(_) | Value::BigInteger(_) | Value::Float(_))] => {
                range(&bound(one)?, &Value::Undef).map(Type::Float)
            }
            [_] => Err(no_type(self.node)),
            [from, to] => range(&bound(from)?, &bound(to)?).map(Type::Float),
            many => Err(wrong_count("Float", "1 or 2", many.len())),
        }
    }

    fn choice(&self) -> Parsed<Type> {
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

    fn pattern(&self) -> Parsed<Type> {
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

    fn regexp(&self) -> Parsed<Type> {
        match self.only("Regexp", "1")? {
            Value::String(text) => {
                // Puppet compiles it when it is first asked.
                RubyRegex::compile(text)?;
                Ok(Type::Regexp(Some(text.to_arc())))
            }
            Value::Undef | Value::Boolean(false) => Ok(Type::Regexp(None)),
            Value::Rich(rich) if let Rich::Regexp(pattern) = &**rich => Ok(Type::Regexp(Some(pattern.clone()))),
            other => {
                let class = other.class_name();
                Err(Error::puppet(format!("no implicit conversion of {class} into String")))
            }
        }
    }

    fn init(&self) -> Parsed<(Type, &[Value])> {
        let (first, args) = self.values.split_first().ok_or_else(|| no_type(self.node))?;
        Ok((self.kind(first)?, args))
    }

    fn callable(&self) -> Parsed<Type> {
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
        let some = |size: &Range| size.to.compare(&Value::Integer(0)) == Some(Ordering::Greater);
        if types.is_empty() && size.as_ref().is_some_and(some) {
            types.push(Type::Unit);
        }
        let parameters = Some(Type::Tuple(types.into(), size.map(Range::to_size)));
        let result = result.filter(|result| !matches!(result, Type::Any));
        Ok(Type::Callable(Some(Arc::new(Callable { parameters, block, result }))))
    }

    fn versions(&self) -> Parsed<Type> {
        let range = |value: &Value| match value {
            Value::String(text) => semver::range(text).map_err(Error::puppet),
            other => {
                let (shown, class) = (other.inspect(), other.class_name());
                Err(Error::puppet(format!("undefined method `gsub' for {shown}:{class}")))
            }
        };
        let ranges = self.values.iter().map(range).collect::<Parsed<Vec<_>>>()?;
        Ok(Type::SemVer(super::normalize::merge_versions(ranges)?.into()))
    }

    fn times(&self, name: &str, bound: impl Fn(&Value) -> Parsed<Option<i128>>) -> Parsed<TimeRange> {
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

    fn uri(&self) -> Parsed<Type> {
        match self.only("URI", "1")? {
            Value::String(text) => {
                let uri = uri::parse(text).map_err(Error::puppet)?;
                let parts = super::uri::parts(&uri);
                Ok(Type::Uri(Some(parts).filter(|parts| !parts.is_empty()).map(Arc::new)))
            }
            Value::Hash(hash) => {
                super::uri::check_parameters(hash)?;
                Ok(Type::Uri(Some(hash.clone()).filter(|hash| !hash.is_empty())))
            }
            _ => Ok(Type::Uri(None)),
        }
    }

    fn class(&self) -> Parsed<Type> {
        match self.only("Class", "1")? {
            Value::String(text) => Ok(Type::Class(Some(text.strip_prefix("::").unwrap_or(text).into()))),
            other => {
                let (shown, class) = (other.inspect(), other.class_name());
                Err(Error::puppet(format!("undefined method `sub' for {shown}:{class}")))
            }
        }
    }

    fn resource(&self) -> Parsed<Type> {
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

    fn runtime(&self) -> Parsed<Type> {
        match self.values.as_slice() {
            [Value::String(runtime), Value::String(name)] if !name.is_empty() => {
                Ok(Type::Runtime(Some(runtime.to_arc()), Some(name.to_arc())))
            }
            [_, _] => Err(Error::unknown("a 'Runtime' type of a pattern is not supported")),
            many => Err(wrong_count("Runtime", "2", many.len())),
        }
    }
}

/// Whether it is a block that can be called.
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

/// Sorted texts, each once.
pub(super) fn enumeration(mut values: Vec<Text>, any_case: bool) -> Type {
    values.sort();
    values.dedup();
    Type::Enum(values.into(), any_case)
}
