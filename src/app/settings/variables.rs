//! Checks `variables:`, the top-scope variables that are set from data or are matches in other variables.

use std::sync::Arc;

use crate::hiera::derived::DerivedVariable;
use crate::hiera::key::split;
use crate::hiera::layer::VariableText;
use crate::puppet::manifest::Formula;
use crate::puppet::regex::RubyRegex;
use crate::settings::SettingsError;
use crate::settings::source::SourceFile;
use crate::value::{Hash, Value};

/// The name of the setting.
const NAME: &str = "variables";

/// The maximum number of variables: for each, the hierarchies are resolved once more.
const MAX_VARIABLES: usize = 10;

/// Variables that Puppet sets itself.
const RESERVED: [&str; 8] =
    ["environment", "facts", "trusted", "server_facts", "module_name", "caller_module_name", "title", "name"];

/// Variables of the top scope.
#[derive(Debug, Clone, Default)]
pub struct TopScope {
    /// Variables from data, in the order in which they are set.
    pub from_data: Arc<[VariableText]>,
    /// Variables that are matches in other variables.
    pub derived: Arc<[DerivedVariable]>,
}

/// Reads the variables in order.
pub(super) fn check(source: &SourceFile<'_>) -> Result<TopScope, SettingsError> {
    let form = || source.invalid(&[NAME], "'variables' must be a hash such as {role: \"%{lookup('role')}\"}");
    let all = source.lines.value([NAME]).and_then(Value::as_hash).ok_or_else(form)?;
    if all.len() > MAX_VARIABLES {
        return Err(source.invalid(&[NAME], format!("'variables' has more than {MAX_VARIABLES} variables")));
    }
    let (mut texts, mut derived) = (Vec::new(), Vec::new());
    for (name, definition) in all.iter() {
        let name = checked_name(source, &name.to_s())?;
        let invalid = |text: &str| source.invalid(&[NAME, &name], format!("'{name}' of 'variables' {text}"));
        match definition {
            Value::String(text) => texts.push(VariableText { name: name.clone(), text: text.as_str().into() }),
            Value::Hash(hash) => {
                let formula = match_formula(hash).map_err(|text| invalid(&text))?;
                derived.push(DerivedVariable { name: name.clone(), formula });
            }
            _ => {
                let forms = "must be a text such as \"%{lookup('role')}\", or {from: VARIABLE, match: PATTERN}";
                return Err(invalid(forms));
            }
        }
    }
    Ok(TopScope { from_data: texts.into(), derived: derived.into() })
}

fn checked_name(source: &SourceFile<'_>, name: &str) -> Result<Arc<str>, SettingsError> {
    let invalid = |text: &str| source.invalid(&[NAME, name], format!("'{name}' of 'variables' {text}"));
    if !is_name(name) {
        return Err(invalid("is not the name of a top-scope variable"));
    }
    if RESERVED.contains(&name) {
        return Err(invalid("is set by Puppet"));
    }
    Ok(name.into())
}

/// Reads `{from: trusted.certname, match: '^([^-]+)-'}`.
fn match_formula(hash: &Hash) -> Result<Formula, String> {
    let text = |name: &str| hash.get(name).and_then(Value::as_str).filter(|_| hash.len() == 2);
    let (Some(from), Some(pattern)) = (text("from"), text("match")) else {
        return Err(
            "must have 'from', a variable such as trusted.certname, and 'match', a pattern, and nothing else".into()
        );
    };
    let mut path = split(from).unwrap_or_default().into_iter();
    let root = path.next().and_then(|root| root.as_str().map(|root| root.trim_start_matches("::").to_owned()));
    let root = root.filter(|root| is_name(root));
    let root = root.ok_or_else(|| format!("has a 'from' that is not a variable: '{from}'"))?;
    let pattern =
        RubyRegex::compile(pattern).map_err(|error| format!("has a 'match' that is not a valid pattern: {error}"))?;
    Ok(Formula::of_match((&root, path.collect()), pattern))
}

/// Returns true if this is a valid name of a variable without a namespace.
fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && name.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_')
}
