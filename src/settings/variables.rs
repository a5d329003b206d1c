//! `variables`: variables of the top scope that the data gives.

use std::sync::Arc;

use super::SettingsError;
use super::source::SourceFile;
use crate::hiera::layer::VariableText;
use crate::value::Value;

/// The name of the setting.
const NAME: &str = "variables";

/// The most variables: for each of them the hierarchies are resolved once more.
const MOST: usize = 10;

/// Variables that Puppet sets itself.
const RESERVED: [&str; 8] =
    ["environment", "facts", "trusted", "server_facts", "module_name", "caller_module_name", "title", "name"];

/// Reads the variables, in their order.
pub(super) fn check(source: &SourceFile<'_>) -> Result<Arc<[VariableText]>, SettingsError> {
    let form = || source.invalid(&[NAME], "'variables' must be a hash such as {role: \"%{lookup('role')}\"}");
    let all = source.lines.value([NAME]).and_then(Value::as_hash).ok_or_else(form)?;
    if all.len() > MOST {
        return Err(source.invalid(&[NAME], format!("'variables' has more than {MOST} variables")));
    }
    all.iter().map(|(name, text)| variable(source, name, text)).collect()
}

fn variable(source: &SourceFile<'_>, name: &Value, text: &Value) -> Result<VariableText, SettingsError> {
    let name = name.to_s();
    let invalid = |text: String| source.invalid(&[NAME, &name], format!("'{name}' of 'variables' {text}"));
    if !is_name(&name) {
        return Err(invalid("is no name of a variable of the top scope".to_owned()));
    }
    if RESERVED.contains(&&*name) {
        return Err(invalid("is set by Puppet".to_owned()));
    }
    let text = text.as_str().ok_or_else(|| invalid("must be a text such as \"%{lookup('role')}\"".to_owned()))?;
    Ok(VariableText { name: (&*name).into(), text: text.into() })
}

/// Returns true if a variable without a namespace may be called so.
fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && name.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_')
}
