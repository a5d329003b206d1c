//! The types that expressions stand for.
//!
//! Finds types by their names; `parameters` reads the parameters in brackets.
//!
//! Source: `pops/types/type_parser.rb`, `type_factory.rb`.

mod parameters;

use std::cell::Cell;
use std::sync::Arc;

use super::init;
use super::names::{RESOURCES, plain_type};
use super::syntax::{self, Kind, Node};
use crate::puppet::{Error, time};
use crate::value::rich::Rich;
use crate::value::rich::types::{Alias, OwnAlias, Range, TimeRange};
use crate::value::{Hash, Type, Value};

use parameters::Parameters;

type Parsed<T> = Result<T, Error>;

/// Parses an expression of a type.
pub(super) fn type_of_text(text: &str, names: &Names<'_>) -> Parsed<Type> {
    if text == "Array[1]" {
        return Ok(Type::array(Type::Any, Some(Range::at_least(1)))); // one of the texts that Puppet does not parse
    }
    let node = syntax::parse(text)?;
    let parser = Parser { names, unusable: Cell::new(0), vague: Cell::new(false) };
    let value = parser.value(&node);
    let kind = value.as_ref().ok().and_then(Value::as_type);
    let is_unusable = matches!(kind, Some(Type::Init(Some(inner), args)) if !init::is_usable(inner, args));
    if parser.unusable.get() > usize::from(is_unusable) {
        // Puppet fails as soon as it looks into such a type, which may be at once or never.
        return Err(Error::unknown("an Init of a type that nothing can be made of, inside of another type"));
    }
    value?.as_type().cloned().ok_or_else(|| no_type(&node))
}

fn no_type(node: &Node<'_>) -> Error {
    Error::puppet(format!("The expression <{}> is not a valid type specification.", node.text))
}

/// Returns true for a type that stands for all values of its kind, as its name alone does.
fn has_no_parameters(kind: &Type) -> bool {
    match kind {
        Type::Integer(range) | Type::Float(range) => *range == Range::ALL,
        Type::Timestamp(range) | Type::Timespan(range) => *range == TimeRange::default(),
        Type::Array(items, None) if matches!(**items, Type::Any) => true,
        Type::Uri(None) | Type::Collection(_) => true,
        kind => *kind == Type::STRING,
    }
}

/// Returns true if an array of anything is in a type. Puppet makes it anew where it has been written with parameters.
fn has_any_array(kind: &Type) -> bool {
    matches!(kind, Type::Array(items, None) if matches!(**items, Type::Any))
        || kind.parts().into_iter().any(has_any_array)
}

fn type_value(kind: Type) -> Value {
    Value::Rich(Arc::new(Rich::Type(kind)))
}

/// The names that are known.
pub(super) enum Names<'l> {
    /// All names that Puppet has, and some more.
    All(&'l [(&'static str, Type)]),
    /// The names that Puppet's parser knows without a loader: no aliases, no resource types.
    BuiltIn,
}

struct Parser<'l> {
    names: &'l Names<'l>,
    /// The number of `Init`s that Puppet cannot use.
    unusable: Cell<usize>,
    /// True if a type was written with parameters that say nothing.
    vague: Cell<bool>,
}

impl Parser<'_> {
    fn value(&self, node: &Node<'_>) -> Parsed<Value> {
        match &node.kind {
            Kind::Reference(name) => self.type_named(name).map(type_value),
            Kind::Access(left, parameters) => Ok(self.access(node, left, parameters)?.map_or(Value::Undef, type_value)),
            Kind::Name(name) => Ok((*name).into()),
            Kind::Literal(value) => Ok(value.clone()),
            Kind::Regex(pattern) => Ok(Value::Rich(Arc::new(Rich::Regexp(pattern.as_str().into())))),
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
                // In Ruby, minus a text is the text itself.
                text @ Value::String(_) => Ok(text),
                other => {
                    let (shown, class) = (other.inspect(), other.class_name());
                    Err(Error::bare(format!("undefined method `-@' for {shown}:{class}")))
                }
            },
            Kind::Other => Err(no_type(node)),
        }
    }

    fn type_named(&self, cased: &str) -> Parsed<Type> {
        let Names::All(local) = self.names else {
            return plain_type(&cased.to_ascii_lowercase()).ok_or_else(no_loader);
        };
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
        plain_type(&name).ok_or_else(|| unknown_type(cased))
    }

    /// Reads a type with parameters, or `None` for those that Puppet finds nothing for.
    fn access(&self, node: &Node<'_>, left: &Node<'_>, parameters: &[Node<'_>]) -> Parsed<Option<Type>> {
        let values = parameters.iter().map(|node| self.value(node)).collect::<Parsed<Vec<_>>>()?;
        let Kind::Reference(cased) = left.kind else { return Err(no_type(node)) };
        let given = Parameters { node, values };
        let name = cased.to_ascii_lowercase();
        let unparameterized = || Error::puppet(format!("Not a parameterized type <{}>", left.text));
        let kind = match name.as_str() {
            "integer" | "float" if given.is_nothing(&name) => return Ok(None),
            "array" => given.array(),
            "hash" => given.hash(),
            "tuple" => given.tuple(),
            "struct" => given.record(),
            "variant" => given.variant(),
            "collection" => given.size("Collection", &given.values).map(|size| Type::Collection(Some(size.to_size()))),
            "string" => given.size("String", &given.values).map(Type::sized_string),
            "integer" => given.integer(),
            "float" => given.float(),
            "boolean" => given.boolean(),
            "enum" => given.enumeration(),
            "pattern" => given.pattern(),
            "regexp" => given.regexp(),
            "optional" => given.text_or_type("Optional", "1").map(|inner| Type::Optional(Some(inner.into()))),
            "notundef" => given.text_or_type("NotUndef", "0 to 1").map(not_undef),
            "type" => given.only_type("Type", "1").map(|inner| Type::Type(Some(inner.into()))),
            "iterable" => given.only_type("Iterable", "1").map(|inner| Type::Iterable(Some(inner.into()))),
            "iterator" => given.only_type("Iterator", "1").map(|inner| Type::Iterator(Some(inner.into()))),
            "sensitive" => given.sensitive(self.vague.get()),
            "init" => self.init(&given),
            "callable" => given.callable(),
            "semver" => given.versions(),
            "timestamp" => given.times("Timestamp", time::timestamp_bound).map(Type::Timestamp),
            "timespan" => given.times("Timespan", time::timespan_bound).map(Type::Timespan),
            "uri" => given.uri(),
            "class" => given.class(),
            "resource" => given.resource(),
            "runtime" => given.runtime(),
            "data" => Err(unparameterized()),
            "object" | "typeset" => match given.only_value("Object", "1")? {
                Value::Hash(hash) if hash.is_empty() => self.type_named(cased),
                Value::Undef => self.type_named(cased),
                _ => Err(Error::unknown(format!("the definition of a type by '{cased}' is not supported"))),
            },
            _ => self.resource(cased, &given, unparameterized),
        };
        let kind = kind?;
        if has_no_parameters(&kind) {
            self.vague.set(true);
        }
        Ok(Some(kind))
    }

    fn init(&self, given: &Parameters<'_, '_>) -> Parsed<Type> {
        let (inner, args) = given.init()?;
        if self.vague.get() && has_any_array(&inner) {
            return Err(Error::unknown(format!("whether Puppet can shorten an Init of {inner}")));
        }
        self.unusable.set(self.unusable.get() + usize::from(!init::is_usable(&inner, args)));
        Ok(Type::Init(Some(inner.into()), args.into()))
    }

    /// Reads a type of resources with its title; other types that are not among Puppet's own take no parameters.
    fn resource(
        &self,
        cased: &str,
        given: &Parameters<'_, '_>,
        unparameterized: impl FnOnce() -> Error,
    ) -> Parsed<Type> {
        match self.type_named(cased)? {
            Type::Object => Err(Error::puppet("The Object-Type cannot be parameterized using []")),
            Type::Resource(resource, _) => {
                let title = given.only_value(cased, "1")?;
                if resource.is_none() {
                    return Err(Error::puppet("The type name cannot be nil, if title is given"));
                }
                Ok(Type::Resource(resource, Some(title.to_s().into())))
            }
            _ => Err(unparameterized()),
        }
    }
}

/// Returns the error of `puppet lookup`, which mistakes the scope of `--type` for a loader.
fn no_loader() -> Error {
    let text = "private method `load' called for Scope(Class[main]):Puppet::Parser::Scope";
    Error::puppet(format!("{text} (the --type of puppet lookup knows no aliases and no types but those built in)"))
}

/// Returns the error for a name that some module may define.
fn unknown_type(name: &str) -> Error {
    Error::unknown(format!("the data type '{name}' is not one of Puppet's own"))
}

fn not_undef(inner: Type) -> Type {
    Type::NotUndef(Some(inner).filter(|inner| !matches!(inner, Type::Any)).map(Arc::new))
}
