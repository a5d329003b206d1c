//! The types that Puppet has, by their names.
//!
//! Source: `type_map` in `pops/types/type_parser.rb`, `pops/loader/static_loader.rb`.

use crate::value::Type;
use crate::value::rich::types::{Range, TimeRange};

/// The resource types that Puppet always has.
pub(super) const RESOURCES: [&str; 15] = [
    "Component",
    "Exec",
    "File",
    "Filebucket",
    "Group",
    "Node",
    "Notify",
    "Package",
    "Resources",
    "Schedule",
    "Service",
    "Stage",
    "Tidy",
    "User",
    "Whit",
];

/// Returns the type of a name in lower case, without parameters, or `None` if Puppet has none of that name.
pub(super) fn plain_type(name: &str) -> Option<Type> {
    Some(match name {
        "any" => Type::Any,
        "undef" => Type::Undef,
        "default" => Type::Default,
        "scalar" => Type::Scalar,
        "scalardata" => Type::ScalarData,
        "numeric" => Type::Numeric,
        "integer" => Type::Integer(Range::ALL),
        "float" => Type::Float(Range::ALL),
        "string" => Type::STRING,
        "enum" => Type::Enum([].into(), false),
        "pattern" => Type::Pattern([].into()),
        "regexp" => Type::Regexp(None),
        "boolean" => Type::Boolean(None),
        "collection" => Type::Collection(None),
        "array" => Type::array(Type::Any, None),
        "hash" => Type::hash(Type::Any, Type::Any, None),
        "tuple" => Type::Tuple([].into(), None),
        "struct" => Type::Struct([].into()),
        "variant" => Type::Variant([].into()),
        "optional" => Type::Optional(None),
        "notundef" => Type::NotUndef(None),
        "type" => Type::Type(None),
        "iterable" => Type::Iterable(None),
        "iterator" => Type::Iterator(None),
        "sensitive" => Type::Sensitive(Type::Any.into()),
        "init" => Type::Init(None, [].into()),
        "binary" => Type::Binary,
        "semver" => Type::SemVer([].into()),
        "semverrange" => Type::SemVerRange,
        "timestamp" => Type::Timestamp(TimeRange::default()),
        "timespan" => Type::Timespan(TimeRange::default()),
        "uri" => Type::Uri(None),
        "callable" => Type::Callable(None),
        "catalogentry" => Type::CatalogEntry,
        "class" => Type::Class(None),
        "resource" => Type::Resource(None, None),
        "runtime" => Type::Runtime(None, None),
        "object" => Type::Object,
        "typeset" => Type::TypeSet,
        "typereference" => Type::Reference("UnresolvedReference".into()),
        _ => return None,
    })
}
