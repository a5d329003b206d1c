//! `Init[T, args]`: the values that a `T` can be made of.
//!
//! Source: `pops/types/p_init_type.rb`.

use super::inference::generalize::{changes_init, generalize, has_init};
use super::inference::infer::infer_set;
use super::inference::normalize::NO_NEW_INIT;
use crate::puppet::Error;
use crate::puppet::types::{assignable, constructors};
use crate::value::rich::types::{Alias, OwnAlias, Range};
use crate::value::{Type, Value};

/// The types that `new` of a type accepts.
pub(crate) struct Accepted {
    /// The type of the only argument.
    pub(crate) single: Type,
    /// The type of several arguments.
    others: Option<Type>,
    /// True if one argument is enough for a signature of several.
    one_of_several: bool,
}

const RICH_DATA: Type = Type::Alias(Alias::Own(OwnAlias::RichData));

/// Returns the types that `Init[inner, args]` accepts. Fails if nothing can be made from them.
pub(crate) fn accepted(inner: &Type, args: &[Value]) -> Result<Accepted, Error> {
    let unsupported = || Error::puppet(format!("Creation of new instance of type '{inner}' is not supported"));
    if matches!(inner, Type::Init(..) | Type::Optional(_) | Type::NotUndef(_)) {
        return Err(unsupported());
    }
    let tuples: Vec<(Type, Range)> = match constructors::constructor_of(inner)? {
        Some(function) => function.signatures.iter().map(|s| (s.tuple(), s.size())).collect(),
        None if matches!(inner, Type::Unit) => vec![(Type::Tuple([Type::Any].into(), None), Range::exactly(1))],
        None => return Err(unsupported()),
    };
    let first = |tuple: &Type| match tuple {
        Type::Tuple(types, _) => types.first().cloned().unwrap_or(Type::Any),
        _ => Type::Any,
    };
    if args.is_empty() {
        let (singles, others): (Vec<_>, Vec<_>) = tuples.into_iter().partition(|(_, size)| *size == Range::exactly(1));
        let one_of_several = others.iter().any(|(_, size)| size.from.equals(&Value::Integer(1)));
        let single = Type::variant([inner.clone()].into_iter().chain(singles.iter().map(|(tuple, _)| first(tuple))));
        let others: Vec<Type> = others.into_iter().map(|(tuple, _)| tuple).collect();
        let others = (!others.is_empty()).then(|| Type::variant(others));
        return Ok(Accepted { single, others, one_of_several });
    }
    let actual = args.iter().map(infer_set).collect::<Result<Vec<Type>, _>>()?;
    let fits = |(tuple, size): &(Type, Range)| {
        let all: Vec<Type> = [first(tuple)].into_iter().chain(actual.iter().cloned()).collect();
        size.contains(&Range::count(all.len()).from) && assignable(tuple, &Type::Tuple(all.into(), None))
    };
    let tuples: Vec<Type> = tuples.into_iter().filter(fits).map(|(tuple, _)| first(&tuple)).collect();
    if tuples.is_empty() {
        if changes_init(inner) {
            return Err(Error::bare(NO_NEW_INIT));
        }
        if has_init(inner) {
            return Err(Error::unknown(format!("whether Puppet can generalize {inner}")));
        }
        let shown = Type::Init(Some(inner.clone().into()), args.into());
        let name = generalize(inner);
        let name = if let Type::Alias(alias) = &name { alias.name() } else { name.simple_name() };
        let text = format!("The type '{shown}' does not represent a valid set of parameters for {name}.new()");
        return Err(Error::puppet(text));
    }
    let single = Type::variant([inner.clone()].into_iter().chain(tuples));
    Ok(Accepted { single, others: None, one_of_several: false })
}

/// Returns true if Puppet can use `Init[inner, args]`: `new` of the type accepts these arguments. False for tuples,
/// structs and hashes, whose parameters Puppet mistakes for those of another type.
pub(crate) fn is_usable(inner: &Type, args: &[Value]) -> bool {
    let is_mistaken = matches!(inner.resolved(), Type::Tuple(..) | Type::Struct(_) | Type::Hash(..));
    !is_mistaken && accepted(inner, args).is_ok()
}

/// Returns true if a value is of `Init[inner, args]`.
pub(crate) fn is_instance(inner: Option<&Type>, args: &[Value], value: &Value) -> Result<bool, Error> {
    let Some(inner) = inner else { return crate::puppet::types::is_instance(&RICH_DATA, value) };
    let accepted = accepted(inner, args)?;
    if crate::puppet::types::is_instance(inner, value)? || crate::puppet::types::is_instance(&accepted.single, value)? {
        return Ok(true);
    }
    match &accepted.others {
        Some(others) => Ok(crate::puppet::types::is_instance(others, value)?
            || accepted.one_of_several
                && crate::puppet::types::is_instance(others, &Value::array(vec![value.clone()]))?),
        None => Ok(false),
    }
}

/// Returns true if every value of the type `other` is of `Init[inner, args]`.
pub(crate) fn accepts(inner: Option<&Type>, args: &[Value], other: &Type) -> bool {
    let Some(inner) = inner else { return assignable(&RICH_DATA, other) };
    let Ok(accepted) = accepted(inner, args) else { return false };
    assignable(inner, other)
        || assignable(&accepted.single, other)
        || accepted.others.is_some_and(|others| {
            let one = || assignable(&others, &Type::Tuple([other.clone()].into(), None));
            assignable(&others, other) || accepted.one_of_several && one()
        })
}
