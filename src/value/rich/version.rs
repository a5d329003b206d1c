//! A semantic version.
//!
//! Source: `semantic_puppet/version.rb`.

use std::cmp::Ordering;
use std::fmt;
use std::sync::LazyLock;

use num_bigint::BigInt;
use regex::Regex;

use super::super::{Value, ruby};

/// What a version looks like.
const PATTERN: &str = r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?";

/// A version: three numbers, what comes before the release, and which build it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version {
    /// The first number; infinite for the greatest version of all.
    pub major: Value,
    /// The second number.
    pub minor: Value,
    /// The third number.
    pub patch: Value,
    /// Numbers and texts behind `-`; of a version made by parts the whole text.
    pub prerelease: Option<Vec<Value>>,
    /// The texts behind `+`.
    pub build: Option<Vec<Value>>,
}

impl Version {
    /// A released version.
    pub fn new(major: impl Into<Value>, minor: impl Into<Value>, patch: impl Into<Value>) -> Version {
        Version { major: major.into(), minor: minor.into(), patch: patch.into(), prerelease: None, build: None }
    }

    /// The least version.
    pub fn min() -> Version {
        Version { prerelease: Some(Vec::new()), ..Version::new(0, 0, 0) }
    }

    /// The greatest version.
    pub fn max() -> Version {
        Version::new(Value::Float(f64::INFINITY), 0, 0)
    }

    /// The version that is written so, or what Puppet says of it.
    pub fn parse(text: &str) -> Result<Version, String> {
        static FULL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!(r"\A(?:{PATTERN})\n?\z")).ok());
        let found = FULL.as_ref().and_then(|full| full.captures(text));
        let found = found.ok_or_else(|| format!("Unable to parse '{text}' as a semantic version identifier"))?;
        let group = |n: usize| found.get(n).map(|part| part.as_str());
        let number = |n: usize| ruby::to_i(group(n).unwrap_or_default());
        Ok(Version {
            major: number(1),
            minor: number(2),
            patch: number(3),
            prerelease: prerelease(group(4))?,
            build: build(group(5)),
        })
    }

    /// Whether it is a release.
    pub fn is_stable(&self) -> bool {
        self.prerelease.as_ref().is_none_or(Vec::is_empty)
    }

    /// The next greater third number.
    #[must_use]
    pub fn next_patch(&self) -> Version {
        Version::new(self.major.clone(), self.minor.clone(), plus_one(&self.patch))
    }

    /// Whether the three numbers are those of `other`.
    pub fn same_numbers(&self, other: &Version) -> bool {
        self.major == other.major && self.minor == other.minor && self.patch == other.patch
    }
}

/// The number after `n`.
pub(super) fn plus_one(n: &Value) -> Value {
    match n {
        Value::Integer(n) => Value::big(BigInt::from(*n) + 1),
        Value::BigInteger(n) => Value::big((**n).clone() + 1),
        other => other.clone(),
    }
}

/// What stands behind `-`.
pub(super) fn prerelease(text: Option<&str>) -> Result<Option<Vec<Value>>, String> {
    let part = |part: &str| {
        let is_number = part.bytes().all(|b| b.is_ascii_digit());
        if is_number && part.len() > 1 && part.starts_with('0') {
            return Err("Numeric pre-release identifiers MUST NOT contain leading zeroes".to_owned());
        }
        Ok(if is_number { ruby::to_i(part) } else { part.into() })
    };
    text.map(|text| text.split('.').map(part).collect()).transpose()
}

/// What stands behind `+`.
pub(super) fn build(text: Option<&str>) -> Option<Vec<Value>> {
    text.map(|text| text.split('.').map(Value::from).collect())
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Version) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What build it is does not count.
impl Ord for Version {
    fn cmp(&self, other: &Version) -> Ordering {
        let numbers = |a: &Value, b: &Value| ruby::compare(a, b).unwrap_or(Ordering::Equal);
        numbers(&self.major, &other.major)
            .then_with(|| numbers(&self.minor, &other.minor))
            .then_with(|| numbers(&self.patch, &other.patch))
            .then_with(|| match (&self.prerelease, &other.prerelease) {
                (None, None) => Ordering::Equal,
                (None, Some(_)) => Ordering::Greater,
                (Some(_), None) => Ordering::Less,
                (Some(mine), Some(yours)) => compare_prereleases(mine, yours),
            })
    }
}

fn compare_prereleases(mine: &[Value], yours: &[Value]) -> Ordering {
    for (x, y) in mine.iter().zip(yours) {
        let order = match (x.as_str().is_some(), y.as_str().is_some()) {
            (false, true) => Ordering::Less,
            (true, false) => Ordering::Greater,
            _ => ruby::compare(x, y).unwrap_or(Ordering::Equal),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    mine.len().cmp(&yours.len())
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |n: &Value| ruby::to_s(n);
        write!(f, "{}.{}.{}", number(&self.major), number(&self.minor), number(&self.patch))?;
        for (sign, parts) in [("-", &self.prerelease), ("+", &self.build)] {
            if let Some(parts) = parts {
                let parts: Vec<String> = parts.iter().map(ruby::to_s).collect();
                write!(f, "{sign}{}", parts.join("."))?;
            }
        }
        Ok(())
    }
}
