//! Puppet's data types as values, such as `Integer[0, 10]`, and their text.
//!
//! `puppet/types` decides which values fit a type. Source: `pops/types/types.rb`, `type_formatter.rb`.

mod equal;
mod range;
mod text;

use std::sync::{Arc, LazyLock};

pub use range::{Range, TimeRange};
pub use text::puppet_quote;

use crate::value::rich::VersionRange;
use crate::value::{Hash, Text, Value};

/// A data type. Each variant is one of Puppet's classes of types.
#[derive(Debug, Clone)]
pub enum Type {
    /// Everything.
    Any,
    /// `undef`.
    Undef,
    /// The type of the items of an empty collection: fits everywhere.
    Unit,
    /// The value `default`.
    Default,
    /// All values except collections, `undef` and `default`.
    Scalar,
    /// Texts, numbers and booleans.
    ScalarData,
    /// Integers and floats.
    Numeric,
    /// Integers of a range.
    Integer(Range),
    /// Floats of a range.
    Float(Range),
    /// Texts.
    String(Texts),
    /// Some texts; true if the case of letters is ignored.
    Enum(Arc<[Text]>, bool),
    /// Texts that a regular expression matches; one without an expression matches all.
    Pattern(Arc<[Option<Arc<str>>]>),
    /// Regular expressions, or one.
    Regexp(Option<Arc<str>>),
    /// Booleans, or one.
    Boolean(Option<bool>),
    /// Arrays and hashes of a size.
    Collection(Option<Range>),
    /// Arrays of something.
    Array(Arc<Type>, Option<Range>),
    /// Hashes, their keys and values.
    Hash(Arc<(Type, Type)>, Option<Range>),
    /// Arrays with a type for each item.
    Tuple(Arc<[Type]>, Option<Range>),
    /// Hashes with a type for each key.
    Struct(Arc<[Element]>),
    /// One of several.
    Variant(Arc<[Type]>),
    /// Something or `undef`.
    Optional(Option<Arc<Type>>),
    /// Something that is not `undef`.
    NotUndef(Option<Arc<Type>>),
    /// Types.
    Type(Option<Arc<Type>>),
    /// Values that can be iterated over.
    Iterable(Option<Arc<Type>>),
    /// Iterators.
    Iterator(Option<Arc<Type>>),
    /// Sensitive values.
    Sensitive(Arc<Type>),
    /// Values that the `new` of a type accepts, and its other arguments.
    Init(Option<Arc<Type>>, Arc<[Value]>),
    /// Bytes.
    Binary,
    /// Versions in ranges.
    SemVer(Arc<[VersionRange]>),
    /// Ranges of versions.
    SemVerRange,
    /// Points in time.
    Timestamp(TimeRange),
    /// Lengths of time.
    Timespan(TimeRange),
    /// URIs, with what their parts must match.
    Uri(Option<Arc<Hash>>),
    /// Functions and blocks.
    Callable(Option<Arc<Callable>>),
    /// Classes and resources.
    CatalogEntry,
    /// A class.
    Class(Option<Arc<str>>),
    /// A resource type, and a title.
    Resource(Option<Arc<str>>, Option<Arc<str>>),
    /// A type of the runtime, which is Ruby.
    Runtime(Option<Arc<str>>, Option<Arc<str>>),
    /// Any object.
    Object,
    /// Any set of types.
    TypeSet,
    /// A named type.
    Alias(Alias),
    /// The name of an unknown type.
    Reference(Arc<str>),
}

/// The texts that a `String` accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Texts {
    /// All texts.
    All,
    /// Texts of some lengths.
    Size(Range),
    /// A single text.
    Value(Text),
}

/// An entry of a `Struct`.
#[derive(Debug, Clone)]
pub struct Element {
    /// A `String` of one value, perhaps in an `Optional`.
    pub key: Type,
    /// The type of its value.
    pub value: Type,
}

impl Element {
    /// Returns the key.
    pub fn name(&self) -> &Text {
        static NONE: LazyLock<Text> = LazyLock::new(|| Text::from(""));
        match &self.key {
            Type::String(Texts::Value(name)) => name,
            Type::Optional(Some(inner)) => match &**inner {
                Type::String(Texts::Value(name)) => name,
                _ => &NONE,
            },
            _ => &NONE,
        }
    }
}

/// The parameters, the block and the result of a function.
#[derive(Debug, Clone)]
pub struct Callable {
    /// A `Tuple`, or `None` for any parameters.
    pub parameters: Option<Type>,
    /// The block.
    pub block: Option<Type>,
    /// The result.
    pub result: Option<Type>,
}

/// A named type.
#[derive(Debug, Clone)]
pub enum Alias {
    /// A built-in one.
    Own(OwnAlias),
    /// One that a function declares for its parameters.
    Local(Arc<(&'static str, Type)>),
}

/// Puppet's built-in named types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OwnAlias {
    /// The data that JSON can hold.
    Data,
    /// A key of a hash of rich data.
    RichDataKey,
    /// The data that a catalog can hold.
    RichData,
    /// Another name of `RichDataKey`.
    LookupKey,
    /// Another name of `RichData`.
    LookupValue,
}

impl Alias {
    /// Returns the name.
    pub fn name(&self) -> &'static str {
        match self {
            Alias::Own(alias) => alias.name(),
            Alias::Local(local) => local.0,
        }
    }

    /// Returns the type that the name stands for.
    pub fn resolved(&self) -> &Type {
        match self {
            Alias::Own(alias) => alias.resolved(),
            Alias::Local(local) => &local.1,
        }
    }

    /// Returns true if the type refers to itself.
    pub fn is_recursive(&self) -> bool {
        matches!(self, Alias::Own(OwnAlias::Data | OwnAlias::RichData))
    }
}

impl OwnAlias {
    /// All built-in named types.
    pub const ALL: [OwnAlias; 5] =
        [OwnAlias::Data, OwnAlias::RichDataKey, OwnAlias::RichData, OwnAlias::LookupKey, OwnAlias::LookupValue];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            OwnAlias::Data => "Data",
            OwnAlias::RichDataKey => "RichDataKey",
            OwnAlias::RichData => "RichData",
            OwnAlias::LookupKey => "Puppet::LookupKey",
            OwnAlias::LookupValue => "Puppet::LookupValue",
        }
    }

    fn resolved(self) -> &'static Type {
        static DATA: LazyLock<Type> = LazyLock::new(|| {
            let own = Type::Alias(Alias::Own(OwnAlias::Data));
            let variants =
                [Type::ScalarData, Type::Undef, Type::hash(Type::STRING, own.clone(), None), Type::array(own, None)];
            Type::Variant(variants.into())
        });
        static KEY: LazyLock<Type> = LazyLock::new(|| Type::Variant([Type::STRING, Type::Numeric].into()));
        static RICH: LazyLock<Type> = LazyLock::new(rich_data);
        static LOOKUP_KEY: Type = Type::Alias(Alias::Own(OwnAlias::RichDataKey));
        static LOOKUP_VALUE: Type = Type::Alias(Alias::Own(OwnAlias::RichData));
        match self {
            OwnAlias::Data => &DATA,
            OwnAlias::RichDataKey => &KEY,
            OwnAlias::RichData => &RICH,
            OwnAlias::LookupKey => &LOOKUP_KEY,
            OwnAlias::LookupValue => &LOOKUP_VALUE,
        }
    }
}

fn rich_data() -> Type {
    let own = Type::Alias(Alias::Own(OwnAlias::RichData));
    let key = Type::Alias(Alias::Own(OwnAlias::RichDataKey));
    let variants = [
        Type::Scalar,
        Type::SemVerRange,
        Type::Binary,
        Type::Sensitive(Arc::new(Type::Any)),
        Type::Type(None),
        Type::TypeSet,
        Type::Uri(None),
        Type::Object,
        Type::Undef,
        Type::Default,
        Type::hash(key, own.clone(), None),
        Type::array(own, None),
    ];
    Type::Variant(variants.into())
}

impl Type {
    /// Any text.
    pub const STRING: Type = Type::String(Texts::All);

    /// Returns the type of arrays of `items`. One of empty arrays has no type of items.
    pub fn array(items: Type, size: Option<Range>) -> Type {
        let items = if size.as_ref().is_some_and(Range::is_zero) { Type::Unit } else { items };
        Type::Array(Arc::new(items), size.map(Range::to_size))
    }

    /// Returns the type of hashes. One of empty hashes has no types of entries.
    pub fn hash(key: Type, value: Type, size: Option<Range>) -> Type {
        let empty = size.as_ref().is_some_and(Range::is_zero);
        let entry = if empty { (Type::Unit, Type::Unit) } else { (key, value) };
        Type::Hash(Arc::new(entry), size.map(Range::to_size))
    }

    /// Returns the type of empty hashes.
    pub fn empty_hash() -> Type {
        Type::hash(Type::Unit, Type::Unit, Some(Range::exactly(0)))
    }

    /// Returns the type of texts of some lengths.
    pub fn sized_string(size: Range) -> Type {
        Type::String(Texts::Size(size.to_size()))
    }

    /// Returns the type of any of `types`: nested variants are flattened, and a single type stays itself.
    pub fn variant(types: impl IntoIterator<Item = Type>) -> Type {
        let mut flat: Vec<Type> = Vec::new();
        for one in types {
            match one {
                Type::Variant(inner) => flat.extend(inner.iter().cloned()),
                other => flat.push(other),
            }
        }
        let mut unique = equal::unique(flat);
        if unique.len() == 1 { unique.remove(0) } else { Type::Variant(unique.into()) }
    }

    /// Returns the type inside one that contains a single type, or `None` for others.
    pub fn contained(&self) -> Option<&Type> {
        match self {
            Type::Optional(inner)
            | Type::NotUndef(inner)
            | Type::Type(inner)
            | Type::Iterable(inner)
            | Type::Iterator(inner)
            | Type::Init(inner, _) => inner.as_deref(),
            Type::Sensitive(inner) => Some(inner),
            _ => None,
        }
    }

    /// Returns the types of the parts of collections, the alternatives, or the type inside.
    pub fn parts(&self) -> Vec<&Type> {
        match self {
            Type::Array(items, _) => vec![items],
            Type::Hash(entry, _) => vec![&entry.0, &entry.1],
            Type::Tuple(types, _) | Type::Variant(types) => types.iter().collect(),
            Type::Struct(elements) => elements.iter().map(|element| &element.value).collect(),
            other => other.contained().into_iter().collect(),
        }
    }

    /// Returns the type that a name stands for, or the type itself.
    pub fn resolved(&self) -> &Type {
        match self {
            Type::Alias(alias) => alias.resolved().resolved(),
            other => other,
        }
    }

    /// Returns true if `undef` is of the type.
    pub fn accepts_undef(&self) -> bool {
        match self {
            Type::Any | Type::Undef | Type::Unit | Type::Optional(_) => true,
            Type::Variant(types) => types.iter().any(Type::accepts_undef),
            Type::Alias(alias) => alias.resolved().accepts_undef(),
            Type::Init(inner, args) => {
                inner.as_ref().is_none_or(|inner| inner.accepts_undef() || inner.is_made_of_undef(args))
            }
            _ => false,
        }
    }

    /// Returns true if its `new` accepts `undef` before `args`.
    fn is_made_of_undef(&self, args: &[Value]) -> bool {
        match self.resolved() {
            Type::Array(..) | Type::Tuple(..) => matches!(args, [Value::Boolean(true)]),
            Type::Hash(..) | Type::Struct(_) | Type::String(_) | Type::Sensitive(_) => true,
            _ => false,
        }
    }

    /// Returns the name of the type without its parameters in brackets.
    pub fn simple_name(&self) -> &'static str {
        match self {
            Type::Any => "Any",
            Type::Undef => "Undef",
            Type::Unit => "Unit",
            Type::Default => "Default",
            Type::Scalar => "Scalar",
            Type::ScalarData => "ScalarData",
            Type::Numeric => "Numeric",
            Type::Integer(_) => "Integer",
            Type::Float(_) => "Float",
            Type::String(_) => "String",
            Type::Enum(..) => "Enum",
            Type::Pattern(_) => "Pattern",
            Type::Regexp(_) => "Regexp",
            Type::Boolean(_) => "Boolean",
            Type::Collection(_) => "Collection",
            Type::Array(..) => "Array",
            Type::Hash(..) => "Hash",
            Type::Tuple(..) => "Tuple",
            Type::Struct(_) => "Struct",
            Type::Variant(_) => "Variant",
            Type::Optional(_) => "Optional",
            Type::NotUndef(_) => "NotUndef",
            Type::Type(_) => "Type",
            Type::Iterable(_) => "Iterable",
            Type::Iterator(_) => "Iterator",
            Type::Sensitive(_) => "Sensitive",
            Type::Init(..) => "Init",
            Type::Binary => "Binary",
            Type::SemVer(_) => "SemVer",
            Type::SemVerRange => "SemVerRange",
            Type::Timestamp(_) => "Timestamp",
            Type::Timespan(_) => "Timespan",
            Type::Uri(_) => "URI",
            Type::Callable(_) => "Callable",
            Type::CatalogEntry => "CatalogEntry",
            Type::Class(_) => "Class",
            Type::Resource(..) => "Resource",
            Type::Runtime(..) => "Runtime",
            Type::Object => "Object",
            Type::TypeSet => "TypeSet",
            Type::Alias(_) => "TypeAlias",
            Type::Reference(_) => "TypeReference",
        }
    }
}
