//! The signatures of Puppet's function `new` for each type that has one.
//!
//! [`constructor_of`] finds them by the type. `new` picks a signature by its arguments; `Init` needs the values that
//! a type can be made of.
//!
//! Source: the `new_function` methods of `pops/types/*.rb`.

use std::sync::LazyLock;

use super::signature::Function;
use crate::puppet::Error;
use crate::value::Type;

/// A function that is made once, or an error if a signature cannot be read.
type FunctionResult = Result<&'static Function, Error>;

/// Makes a function on first use.
macro_rules! new_function {
    ($name:expr, $local_types:expr, $signatures:expr) => {{
        static FUNCTION: LazyLock<Result<Function, Error>> =
            LazyLock::new(|| Function::new($name, $local_types, $signatures));
        FUNCTION.as_ref().map_err(Clone::clone)
    }};
}

/// Returns the `new` function of a type, or `None` if its constructor declares no signatures.
pub(crate) fn constructor_of(kind: &Type) -> Result<Option<&'static Function>, Error> {
    Ok(Some(match kind {
        Type::Integer(_) => integer()?,
        Type::Float(_) => float()?,
        Type::Numeric => numeric()?,
        Type::Boolean(_) => boolean()?,
        Type::String(_) => string()?,
        Type::Regexp(_) => regexp()?,
        Type::Binary => binary()?,
        Type::Uri(_) => uri()?,
        Type::Sensitive(_) => sensitive()?,
        Type::Array(..) | Type::Tuple(..) => array()?,
        Type::Hash(..) | Type::Struct(_) => hash()?,
        Type::Timestamp(_) => timestamp()?,
        Type::Timespan(_) => timespan()?,
        Type::SemVer(_) => version()?,
        Type::SemVerRange => version_range()?,
        Type::Type(_) => type_text()?,
        Type::Alias(alias) => return constructor_of(alias.resolved()),
        _ => return Ok(None),
    }))
}

/// The values that an integer is made of.
const INTEGER: &str = r"Variant[Numeric, Boolean, Pattern[/\A[+-]?\s*(?:(?:\d+)|(?:0[xX][0-9A-Fa-f]+)|(?:0[bB][01]+))\z/], Timespan, Timestamp]";
const RADIX: &str = "Variant[Default, Integer[2,2], Integer[8,8], Integer[10,10], Integer[16,16]]";
const INTEGER_ARGS: &str = "Struct[{from => Convertible, Optional[radix] => Radix, Optional[abs] => Boolean}]";

/// The values that a float is made of.
const FLOAT: &str = r"Variant[Numeric, Boolean, Pattern[/\A[+-]?\s*(?:(?:(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE]-?\d+)?)|(?:0[xX][0-9A-Fa-f]+)|(?:0[0-7]+)|(?:0[bB][01]+))\z/], Timespan, Timestamp]";
const NUMERIC: &str = r"Variant[Integer, Float, Boolean, Pattern[/\A[+-]?\s*(?:(?:(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE]-?\d+)?)|(?:0[xX][0-9A-Fa-f]+)|(?:0[0-7]+)|(?:0[bB][01]+))\z/], Timespan, Timestamp]";
const ARGS: &str = "Struct[{from => Convertible, Optional[abs] => Boolean}]";

/// Returns the signatures of `Integer.new`.
pub(crate) fn integer() -> FunctionResult {
    new_function!(
        "new",
        &[("Radix", RADIX), ("Convertible", INTEGER), ("NamedArgs", INTEGER_ARGS)],
        &[&[("from", "Convertible"), ("radix?", "Radix"), ("abs?", "Boolean")], &[("hash_args", "NamedArgs")]]
    )
}

/// Returns the signatures of `Float.new`.
pub(crate) fn float() -> FunctionResult {
    new_function!(
        "new_float",
        &[("Convertible", FLOAT), ("NamedArgs", ARGS)],
        &[&[("from", "Convertible"), ("abs?", "Boolean")], &[("hash_args", "NamedArgs")]]
    )
}

/// Returns the signatures of `Numeric.new`.
pub(crate) fn numeric() -> FunctionResult {
    new_function!(
        "new_numeric",
        &[("Convertible", NUMERIC), ("NamedArgs", ARGS)],
        &[&[("from", "Convertible"), ("abs?", "Boolean")], &[("hash_args", "NamedArgs")]]
    )
}

/// Returns the signatures of `Boolean.new`.
pub(crate) fn boolean() -> FunctionResult {
    new_function!(
        "new_boolean",
        &[],
        &[&[("from", "Variant[Integer, Float, Boolean, Enum['false','true','yes','no','y','n',true]]")]]
    )
}

/// The type of a format of `String.new`.
const FORMAT: &str = r"Pattern[/^%([\s\[+#0{<(|-]*)([1-9][0-9]*)?(?:\.([0-9]+))?([a-zA-Z])$/]";

/// Returns the signatures of `String.new`.
pub(crate) fn string() -> FunctionResult {
    new_function!(
        "new_string",
        &[
            ("Format", FORMAT),
            (
                "ContainerFormat",
                "Struct[{Optional[format] => Format, Optional[separator] => String, Optional[separator2] => String, \
                 Optional[string_formats] => Hash[Type, Format]}]",
            ),
            ("TypeMap", "Hash[Type, Variant[Format, ContainerFormat]]"),
            ("Convertible", "Any"),
            ("Formats", "Variant[Default, String[1], TypeMap]"),
        ],
        &[&[("from", "Convertible"), ("string_formats?", "Formats")]]
    )
}

/// Returns the signatures of `Regexp.new`.
pub(crate) fn regexp() -> FunctionResult {
    new_function!("new_float", &[], &[&[("pattern", "String"), ("escape?", "Boolean")]])
}

/// Returns the signatures of `Binary.new`.
pub(crate) fn binary() -> FunctionResult {
    new_function!(
        "new_Binary",
        &[
            ("ByteInteger", "Integer[0,255]"),
            ("Base64Format", "Enum['%b', '%u', '%B', '%s', '%r']"),
            ("StringHash", "Struct[{value => String, 'format' => Optional[Base64Format]}]"),
            ("ArrayHash", "Struct[{value => Array[ByteInteger]}]"),
            ("BinaryArgsHash", "Variant[StringHash, ArrayHash]"),
        ],
        &[
            &[("str", "String"), ("format?", "Base64Format")],
            &[("byte_array", "Array[ByteInteger]")],
            &[("hash_args", "BinaryArgsHash")],
        ]
    )
}

/// Returns the signatures of `URI.new`.
pub(crate) fn uri() -> FunctionResult {
    new_function!(
        "new_error",
        &[],
        &[
            &[("uri", "String[1]")],
            &[(
                "hash",
                "Struct[{Optional[scheme] => String[1], Optional[userinfo] => String[1], Optional[host] => String[1], \
                 Optional[port] => Integer[0], Optional[path] => String[1], Optional[query] => String[1], \
                 Optional[fragment] => String[1], Optional[opaque] => String[1]}]",
            )],
        ]
    )
}

/// Returns the signatures of `Sensitive.new`.
pub(crate) fn sensitive() -> FunctionResult {
    new_function!("new_Sensitive", &[], &[&[("value", "Sensitive")], &[("value", "Any")]])
}

/// Returns the signatures of `Array.new`.
pub(crate) fn array() -> FunctionResult {
    new_function!(
        "new_array",
        &[],
        &[
            &[("from", "Variant[Array,Hash,Binary,Iterable]"), ("wrap?", "Boolean[false]")],
            &[("from", "Any"), ("wrap", "Boolean[true]")],
        ]
    )
}

/// Returns the signatures of `Hash.new`.
pub(crate) fn hash() -> FunctionResult {
    new_function!(
        "new_hash",
        &[
            ("KeyValueArray", "Array[Tuple[Any,Any],1]"),
            ("TreeArray", "Array[Tuple[Array,Any],1]"),
            ("NewHashOption", "Enum[tree, hash_tree]"),
        ],
        &[
            &[("from", "TreeArray"), ("build_option?", "NewHashOption")],
            &[("from", "KeyValueArray")],
            &[("from", "Any")],
        ]
    )
}

/// The type of the formats of a time.
const FORMATS: (&str, &str) = ("Formats", "Variant[String[2],Array[String[2], 1]]");

/// Returns the signatures of `Timestamp.new`.
pub(crate) fn timestamp() -> FunctionResult {
    new_function!(
        "new_timestamp",
        &[FORMATS],
        &[
            &[],
            &[("seconds", "Variant[Integer,Float]")],
            &[("string", "String[1]"), ("format?", "Formats"), ("timezone?", "String[1]")],
            &[(
                "hash_arg",
                "Struct[{string => String[1], Optional[format] => Formats, Optional[timezone] => String[1]}]",
            )],
        ]
    )
}

/// Returns the signatures of `Timespan.new`.
pub(crate) fn timespan() -> FunctionResult {
    new_function!(
        "new_timespan",
        &[FORMATS],
        &[
            &[("seconds", "Variant[Integer,Float]")],
            &[("string", "String[1]"), ("format?", "Formats")],
            &[
                ("days", "Integer"),
                ("hours", "Integer"),
                ("minutes", "Integer"),
                ("seconds", "Integer"),
                ("milliseconds?", "Integer"),
                ("microseconds?", "Integer"),
                ("nanoseconds?", "Integer"),
            ],
            &[("hash_arg", "Struct[{string => String[1], Optional[format] => Formats}]")],
            &[(
                "hash_arg",
                "Struct[{Optional[negative] => Boolean, Optional[days] => Integer, Optional[hours] => Integer, \
                 Optional[minutes] => Integer, Optional[seconds] => Integer, Optional[milliseconds] => Integer, \
                 Optional[microseconds] => Integer, Optional[nanoseconds] => Integer}]",
            )],
        ]
    )
}

/// Returns the signatures of `SemVer.new`.
pub(crate) fn version() -> FunctionResult {
    new_function!(
        "new_Version",
        &[
            ("PositiveInteger", "Integer[0,default]"),
            ("SemVerQualifier", r"Pattern[/\A(?<part>[0-9A-Za-z-]+)(?:\.\g<part>)*\Z/]"),
            (
                "SemVerPattern",
                r"Pattern[/\A(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?\Z/]",
            ),
            (
                "SemVerHash",
                "Struct[{major=>PositiveInteger,minor=>PositiveInteger,patch=>PositiveInteger,\
                 Optional[prerelease]=>SemVerQualifier,Optional[build]=>SemVerQualifier}]",
            ),
        ],
        &[
            &[("str", "SemVerPattern")],
            &[
                ("major", "PositiveInteger"),
                ("minor", "PositiveInteger"),
                ("patch", "PositiveInteger"),
                ("prerelease?", "SemVerQualifier"),
                ("build?", "SemVerQualifier"),
            ],
            &[("hash_args", "SemVerHash")],
        ]
    )
}

/// Returns the signatures of `SemVerRange.new`.
pub(crate) fn version_range() -> FunctionResult {
    new_function!(
        "new_VersionRange",
        &[
            ("SemVerRangeString", "String[1]"),
            (
                "SemVerRangeHash",
                "Struct[{min=>Variant[Default,SemVer],Optional[max]=>Variant[Default,SemVer],Optional[exclude_max]=>Boolean}]",
            ),
        ],
        &[
            &[("str", "SemVerRangeString")],
            &[("min", "Variant[Default,SemVer]"), ("max", "Variant[Default,SemVer]"), ("exclude_max?", "Boolean")],
            &[("hash_args", "SemVerRangeHash")],
        ]
    )
}

/// Returns the signatures of `Type.new`.
pub(crate) fn type_text() -> FunctionResult {
    new_function!("new_type", &[], &[&[("type_string", "String[1]")]])
}

/// Returns the signatures of `new` of types that accept any value.
pub(crate) fn unit() -> FunctionResult {
    new_function!("new_unit", &[], &[&[("from", "Any")]])
}

/// Returns the signatures of `Init.new` if the type `Init[T, args]` has arguments.
pub(crate) fn init_with_arguments() -> FunctionResult {
    new_function!("new_Init", &[], &[&[("value", "Any")]])
}

/// Returns the signatures of `Init.new` if the type `Init[T]` has no arguments.
pub(crate) fn init() -> FunctionResult {
    new_function!("new_Init", &[], &[&[("value", "Array")], &[("value", "Any")]])
}

/// Returns the signature of the function `new` itself.
pub(crate) fn new() -> FunctionResult {
    new_function!("new", &[], &[&[("type", "Type")]])
}
