//! `Init[T, args].new`: makes a `T`.
//!
//! Source: `pops/types/p_init_type.rb`.

use super::{NewValue, instance};
use crate::puppet::Ruby;
use crate::puppet::types::init::accepted;
use crate::puppet::types::{constructors, is_instance};
use crate::value::{Type, Value};

/// Evaluates `Init[inner, more].new(args)`.
pub(super) fn make(inner: &Type, more: &[Value], args: &[Value], ruby: Ruby) -> NewValue {
    let accepted = accepted(inner, more)?;
    let function = constructors::init_with_arguments()?;
    let [value] = args else {
        return Err(if more.is_empty() { constructors::init()?.mismatch(args) } else { function.mismatch(args) });
    };
    if !more.is_empty() {
        let all: Vec<Value> = [value.clone()].into_iter().chain(more.iter().cloned()).collect();
        return instance(inner, &all, ruby);
    }
    match value {
        // As in Puppet, only the type of a single argument decides, not that of several.
        Value::Array(items) if !is_instance(&accepted.single, value)? => instance(inner, items, ruby),
        value => instance(inner, std::slice::from_ref(value), ruby),
    }
}
