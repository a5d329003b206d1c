//! hiera.yaml of version 3.

use super::Config;
use super::check::Node;
use crate::hiera::LookupError;
use crate::value::Value;

/// Refuses what Puppet refuses. A file that is no hash stands for the default configuration.
pub(super) fn check(file: &Node<'_>) -> Result<(), LookupError> {
    if !matches!(file.value, Value::Hash(_)) {
        return Ok(());
    }
    let present = |key: &str| file.entry(key).filter(|node| node.value.is_truthy());
    let backends = present("backends").map(|node| texts(&node)).transpose()?.unwrap_or_else(|| vec!["yaml".into()]);
    let known = ["version", "backends", "logger", "merge_behavior", "deep_merge_options", "hierarchy"];
    let allowed: Vec<&str> = known.into_iter().chain(backends.iter().map(|name| &**name)).collect();
    file.structure(&allowed)?;
    if let Some(version) = present("version")
        && !matches!(version.value, Value::Integer(3))
    {
        return Err(version.expects("Integer"));
    }
    present("hierarchy").map(|node| texts(&node)).transpose()?;
    file.entry("logger").map(|node| node.text()).transpose()?;
    if let Some(behavior) = present("merge_behavior")
        && !behavior.value.as_str().is_some_and(|text| ["deep", "deeper", "native"].contains(&text))
    {
        let shown = crate::value::ruby::inspect(behavior.value);
        return Err(behavior.mismatch(&format!("expects a match for Enum['deep', 'deeper', 'native'], got {shown}")));
    }
    for name in backends.iter().map(|name| &**name).chain(["deep_merge_options"]) {
        if let Some(node) = present(name) {
            node.hash()?;
        }
    }
    Ok(())
}

/// The configuration of the global layer.
pub(super) fn parse(file: &Node<'_>) -> Result<Config, LookupError> {
    Err(LookupError::unknown("hiera.yaml version 3 in the global layer is not supported").at(file.place()))
}

/// A text, or an array of texts.
fn texts(node: &Node<'_>) -> Result<Vec<std::sync::Arc<str>>, LookupError> {
    match node.value {
        Value::String(_) => Ok(vec![node.text()?]),
        Value::Array(_) => node.items(0)?.iter().map(Node::text).collect(),
        _ => {
            let got = crate::hiera::types::short_name(node.value);
            Err(node.mismatch(&format!("expects a value of type String or Array, got {got}")))
        }
    }
}
