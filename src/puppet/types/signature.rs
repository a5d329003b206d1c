//! Functions with signatures: picks the one that accepts the arguments, or words the error if none does.
//!
//! Source: `pops/functions/dispatcher.rb`, `describe_signatures` in `pops/types/type_mismatch_describer.rb`.

use std::sync::Arc;

use super::describe::{describe, merge};
use super::inference::infer::infer_set;
use super::inference::normalize::normalize;
use super::inference::size::sized;
use super::mismatch::{Group, Kind, Mismatch, Step};
use super::{assignable, is_instance, parse_with};
use crate::puppet::Error;
use crate::value::rich::types::{Alias, Range};
use crate::value::{Type, Value};

/// A function with one or more signatures.
pub(crate) struct Function {
    name: &'static str,
    local_types: Vec<(&'static str, Type)>,
    /// The signatures in the order in which they are tried.
    pub(crate) signatures: Vec<Signature>,
}

/// The parameters of a function.
pub(crate) struct Signature {
    names: Vec<&'static str>,
    types: Vec<Type>,
    required: usize,
}

impl Function {
    /// Makes a function with its own types and its signatures. Each parameter has a name and a type; one whose name
    /// ends with `?` is optional.
    pub(crate) fn new(
        name: &'static str,
        local_types: &[(&'static str, &str)],
        signatures: &[&[(&'static str, &str)]],
    ) -> Result<Function, Error> {
        let mut local: Vec<(&'static str, Type)> = Vec::new();
        for (name, text) in local_types {
            let kind = normalize(&parse_with(text, &local)?);
            local.push((name, Type::Alias(Alias::Local(Arc::new((name, kind))))));
        }
        let signature = |parameters: &&[(&'static str, &str)]| {
            let kind = |(_, text): &(&'static str, &str)| parse_with(text, &local);
            Ok(Signature {
                names: parameters.iter().map(|(name, _)| name.trim_end_matches('?')).collect(),
                types: parameters.iter().map(kind).collect::<Result<_, Error>>()?,
                required: parameters.iter().filter(|(name, _)| !name.ends_with('?')).count(),
            })
        };
        let signatures = signatures.iter().map(signature).collect::<Result<_, Error>>()?;
        Ok(Function { name, local_types: local, signatures })
    }

    /// Returns one of the function's own types.
    pub(crate) fn local_type(&self, name: &str) -> Result<Type, Error> {
        let found = self.local_types.iter().find(|(local, _)| *local == name);
        found.map(|(_, kind)| kind.clone()).ok_or_else(|| Error::unknown(format!("no type '{name}'")))
    }

    /// Returns the first signature that accepts `args`, or `None` if none does.
    pub(crate) fn pick(&self, args: &[Value]) -> Result<Option<usize>, Error> {
        for (at, signature) in self.signatures.iter().enumerate() {
            if signature.accepts(args)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Returns the error for arguments that no signature accepts.
    pub(crate) fn mismatch(&self, args: &[Value]) -> Error {
        let actual: Vec<Type> = match args.iter().map(infer_set).collect() {
            Ok(actual) => actual,
            Err(unknown) => return unknown,
        };
        let found: Vec<Vec<Mismatch>> =
            self.signatures.iter().enumerate().map(|(at, signature)| signature.mismatches(&actual, at)).collect();
        let errors = merge(0, Group::Counts, found.clone());
        if let [one] = errors.as_slice() {
            return Error::puppet(format!("'{}'{}", self.name, one.text()));
        }
        let rejected = |indent: &str, mismatches: &[Mismatch]| -> String {
            let line = |mismatch: &Mismatch| format!("\n{indent}rejected:{}", mismatch.clone().without_step(0).text());
            mismatches.iter().map(line).collect()
        };
        Error::puppet(match (self.signatures.as_slice(), found.as_slice()) {
            ([signature], [mismatches]) => {
                format!("'{}' expects ({}){}", self.name, signature.text(), rejected("  ", mismatches))
            }
            (signatures, found) => {
                let each = signatures.iter().zip(found);
                let lines: Vec<String> = each
                    .map(|(signature, mismatches)| {
                        format!("\n  ({}){}", signature.text(), rejected("    ", mismatches))
                    })
                    .collect();
                let name = self.name;
                format!(
                    "The function '{name}' was called with arguments it does not accept. It expects one of:{}",
                    lines.concat()
                )
            }
        })
    }

    /// Returns an error for arguments that do not fit: `text` after the function's name.
    pub(crate) fn refuse(&self, text: &str) -> Error {
        Error::puppet(format!("'{}' {text}", self.name))
    }
}

impl Signature {
    /// Returns the number of arguments that it accepts.
    pub(crate) fn size(&self) -> Range {
        sized(self.required, self.types.len())
    }

    /// Returns its parameters as a type.
    pub(crate) fn tuple(&self) -> Type {
        Type::Tuple(self.types.clone().into(), Some(self.size()))
    }

    fn accepts(&self, args: &[Value]) -> Result<bool, Error> {
        if args.len() < self.required || args.len() > self.types.len() {
            return Ok(false);
        }
        for (kind, arg) in self.types.iter().zip(args) {
            if !is_instance(kind, arg)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn mismatches(&self, actual: &[Type], at: usize) -> Vec<Mismatch> {
        let path = [Step::Signature(at)];
        let count = Range::count(actual.len());
        if !self.size().covers(&count) {
            return vec![Mismatch::new(&path, Kind::Count(self.size(), count))];
        }
        for ((kind, name), actual) in self.types.iter().zip(&self.names).zip(actual) {
            if !assignable(kind, actual) {
                let found = describe(kind, actual, &[path[0].clone(), Step::Parameter((*name).to_owned())]);
                if !found.is_empty() {
                    return found;
                }
            }
        }
        Vec::new()
    }

    fn text(&self) -> String {
        let parameter = |(at, (kind, name)): (usize, (&Type, &&str))| {
            let optional = at >= self.required;
            let kind = match kind {
                Type::Optional(Some(inner)) if optional => inner,
                other => other,
            };
            let shown = if let Type::Alias(_) = kind { kind.expanded() } else { kind.to_string() };
            format!("{shown} {name}{}", if optional { "?" } else { "" })
        };
        self.types.iter().zip(&self.names).enumerate().map(parameter).collect::<Vec<_>>().join(", ")
    }
}
