//! A semantic version.
//!
//! Source: `semantic_puppet/version.rb`.

use std::cmp::Ordering;
use std::fmt;

use num_bigint::BigInt;

use crate::value::Value;

/// A version: three numbers, a pre-release and a build.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version {
    /// The first number; infinite for the greatest version of all.
    pub major: Value,
    /// The second number.
    pub minor: Value,
    /// The third number.
    pub patch: Value,
    /// The numbers and texts after `-`; the whole text if the version was made from parts.
    pub prerelease: Option<Vec<Value>>,
    /// The texts after `+`.
    pub build: Option<Vec<Value>>,
}

impl Version {
    /// Returns a released version.
    pub fn new(major: impl Into<Value>, minor: impl Into<Value>, patch: impl Into<Value>) -> Version {
        Version { major: major.into(), minor: minor.into(), patch: patch.into(), prerelease: None, build: None }
    }

    /// Returns the least version.
    pub fn min() -> Version {
        Version { prerelease: Some(Vec::new()), ..Version::new(0, 0, 0) }
    }

    /// Returns the greatest version.
    pub fn max() -> Version {
        Version::new(Value::Float(f64::INFINITY), 0, 0)
    }

    /// Returns true if it is a release.
    pub fn is_stable(&self) -> bool {
        self.prerelease.as_ref().is_none_or(Vec::is_empty)
    }

    /// Returns the release with the next greater patch number.
    #[must_use]
    pub fn next_patch(&self) -> Version {
        Version::new(self.major.clone(), self.minor.clone(), Version::next_number(&self.patch))
    }

    /// Returns the number after `n`.
    pub fn next_number(n: &Value) -> Value {
        match n {
            Value::Integer(n) => Value::big(BigInt::from(*n) + 1),
            Value::BigInteger(n) => Value::big((**n).clone() + 1),
            other => other.clone(),
        }
    }

    /// Returns true if the three numbers are those of `other`.
    pub fn same_numbers(&self, other: &Version) -> bool {
        self.major == other.major && self.minor == other.minor && self.patch == other.patch
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Version) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The build does not count.
impl Ord for Version {
    fn cmp(&self, other: &Version) -> Ordering {
        let numbers = |a: &Value, b: &Value| a.compare(b).unwrap_or(Ordering::Equal);
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
            _ => x.compare(y).unwrap_or(Ordering::Equal),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    mine.len().cmp(&yours.len())
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |n: &Value| n.to_s();
        write!(f, "{}.{}.{}", number(&self.major), number(&self.minor), number(&self.patch))?;
        for (sign, parts) in [("-", &self.prerelease), ("+", &self.build)] {
            if let Some(parts) = parts {
                let parts: Vec<String> = parts.iter().map(Value::to_s).collect();
                write!(f, "{sign}{}", parts.join("."))?;
            }
        }
        Ok(())
    }
}
