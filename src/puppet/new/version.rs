//! `SemVer.new` and `SemVerRange.new`.
//!
//! Source: `pops/types/p_sem_ver_type.rb`, `p_sem_ver_range_type.rb`.

use super::NewValue;
use crate::puppet::types::constructors;
use crate::puppet::{Error, semver};
use crate::value::Value;
use crate::value::rich::{Rich, Version, VersionRange};

/// Evaluates `SemVer.new(text)`.
pub(super) fn version(args: &[Value]) -> NewValue {
    let function = constructors::version()?;
    let part = |value: Option<&Value>| value.filter(|v| !v.is_undef()).map(|value| vec![value.clone()]);
    let version = match (function.pick(args)?, args) {
        (Some(0), [Value::String(text)]) => semver::version(text).map_err(Error::puppet)?,
        (Some(1), [major, minor, patch, rest @ ..]) => Version {
            prerelease: part(rest.first()),
            build: part(rest.get(1)),
            ..Version::new(major.clone(), minor.clone(), patch.clone())
        },
        (Some(_), [Value::Hash(hash)]) => {
            let number = |name: &str| hash.get(name).cloned().unwrap_or_default();
            Version {
                prerelease: part(hash.get("prerelease")),
                build: part(hash.get("build")),
                ..Version::new(number("major"), number("minor"), number("patch"))
            }
        }
        (_, [Value::String(text)]) => {
            return Err(function.refuse(&format!("The string '{}' cannot be converted to a SemVer", &**text)));
        }
        _ => return Err(function.mismatch(args)),
    };
    Ok(Value::Rich(Rich::SemVer(version).into()))
}

/// Evaluates `SemVerRange.new(text)` and `SemVerRange.new(min, max, exclude_max)`.
pub(super) fn range(args: &[Value]) -> NewValue {
    let function = constructors::version_range()?;
    let entry = |name: &str| args.first().and_then(|arg| arg.get(name)).cloned();
    let range = match (function.pick(args)?, args) {
        (Some(0), [Value::String(text)]) => semver::range(text),
        (Some(1), [min, max, rest @ ..]) => between(Some(min.clone()), Some(max.clone()), rest.first().cloned()),
        (Some(_), [Value::Hash(_)]) => between(entry("min"), entry("max"), entry("exclude_max")),
        _ => return Err(function.mismatch(args)),
    };
    Ok(Value::Rich(Rich::SemVerRange(range.map_err(Error::puppet)?).into()))
}

fn between(min: Option<Value>, max: Option<Value>, exclude: Option<Value>) -> Result<VersionRange, String> {
    let version = |value: Option<Value>, open: Version| match value {
        Some(Value::Rich(ref rich)) if let Rich::SemVer(version) = &**rich => version.clone(),
        _ => open,
    };
    let exclude = exclude.is_some_and(|value| value.eql(&Value::Boolean(true)));
    VersionRange::between(version(min, Version::min()), version(max, Version::max()), exclude)
}
