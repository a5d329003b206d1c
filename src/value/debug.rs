//! Values for developers, without secrets.

use std::fmt;

use super::Value;

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = |name: &str, content: &dyn fmt::Debug| f.debug_tuple(name).field(content).finish();
        match self {
            Value::Undef => f.write_str("Undef"),
            Value::Boolean(b) => tuple("Boolean", b),
            Value::Integer(n) => tuple("Integer", n),
            Value::BigInteger(n) => tuple("BigInteger", n),
            Value::Float(n) => tuple("Float", n),
            Value::String(text) => tuple("String", text),
            Value::Bytes(bytes) => tuple("Bytes", bytes),
            Value::Symbol(name) => tuple("Symbol", name),
            Value::Array(items) => tuple("Array", items),
            Value::Hash(hash) => tuple("Hash", hash),
            Value::Rich(rich) => tuple("Rich", rich),
            Value::Secret(_) => f.write_str("Secret(..)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::value::{Rich, Secrecy, Value};

    #[test]
    fn a_secret_is_no_part_of_it() {
        let value: Value = [Value::from("hunter2"), Value::from(4711)].into_iter().collect();
        let sealed = value.sealed(Some(Secrecy::SENSITIVE));
        assert_eq!(format!("{sealed:?}"), r#"Array([String("[secret]"), Secret(..)])"#);
        assert!(!format!("{:?}", Rich::sensitive(&value)).contains("4711"));
        assert!(format!("{value:?}").contains("4711"));
    }
}
