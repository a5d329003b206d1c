//! `SemVer.new` and `SemVerRange.new`.
//!
//! Source: `pops/types/p_sem_ver_type.rb`, `p_sem_ver_range_type.rb`.

use super::Made;
use super::function::Function;
use crate::puppet::{Error, semver};
use crate::value::Value;
use crate::value::rich::{Rich, Version, VersionRange};

type Found = Result<&'static Function, Error>;

pub(super) fn version_function() -> Found {
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

/// `SemVer.new(text)`.
pub(super) fn version(args: &[Value]) -> Made {
    let function = version_function()?;
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

pub(super) fn range_function() -> Found {
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

/// `SemVerRange.new(text)`, `SemVerRange.new(min, max, exclude_max)`.
pub(super) fn range(args: &[Value]) -> Made {
    let function = range_function()?;
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
