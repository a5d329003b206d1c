//! Versions and ranges of versions, as Puppet's library parses them.
//!
//! Source: `semantic_puppet/version.rb` and `version_range.rb`, mistakes included.

use std::sync::LazyLock;

use regex::Regex;

use super::ruby;
use crate::value::Value;
use crate::value::rich::{Comparator, Version, VersionRange};

/// A result, or the message of Ruby's exception.
type Parsed<T> = Result<T, String>;

/// The pattern of a version.
const PATTERN: &str = r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?";

/// Parses a version; the error is Puppet's message.
pub fn version(text: &str) -> Result<Version, String> {
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

/// Parses a range of versions; the error is Ruby's message.
pub fn range(text: &str) -> Parsed<VersionRange> {
    static OPERATOR_GAP: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"([><=~^])(?:[ \t\r\n\x0b\x0c]+|[ \t\r\n\x0b\x0c]*v)").ok());
    static ALTERNATIVE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"[ \t\r\n\x0b\x0c]*\|\|[ \t\r\n\x0b\x0c]*").ok());
    let glued = OPERATOR_GAP.as_ref().map_or_else(|| text.into(), |gap| gap.replace_all(text, "$1"));
    let parts = split(ALTERNATIVE.as_ref(), &glued);
    if parts.is_empty() {
        return VersionRange::new(vec![Comparator::All], "*".into());
    }
    let mut ranges: Vec<Comparator> = Vec::new();
    for part in parts {
        if let Some(part) = one_range(part, text)?.filter(|part| !ranges.contains(part)) {
            ranges.push(part);
        }
    }
    VersionRange::new(ranges, text.to_owned())
}

/// Parses the text after `-`.
fn prerelease(text: Option<&str>) -> Result<Option<Vec<Value>>, String> {
    let part = |part: &str| {
        let is_number = part.bytes().all(|b| b.is_ascii_digit());
        if is_number && part.len() > 1 && part.starts_with('0') {
            return Err("Numeric pre-release identifiers MUST NOT contain leading zeroes".to_owned());
        }
        Ok(if is_number { ruby::to_i(part) } else { part.into() })
    };
    text.map(|text| text.split('.').map(part).collect()).transpose()
}

/// Parses the text after `+`.
fn build(text: Option<&str>) -> Option<Vec<Value>> {
    text.map(|text| text.split('.').map(Value::from).collect())
}

/// Splits a text as Ruby's `split` does: without empty parts at the end.
fn split<'t>(separator: Option<&Regex>, text: &'t str) -> Vec<&'t str> {
    let mut parts: Vec<&str> = separator.map_or_else(|| vec![text], |separator| separator.split(text).collect());
    while parts.last().is_some_and(|last| last.is_empty()) {
        parts.pop();
    }
    parts
}

const NUMBER_OR_ANY: &str = r"(?:x|X|\*|0|[1-9][0-9]*)";
const QUALIFIER: &str =
    r"(?:-(?:[0-9A-Za-z-]+)(?:\.(?:[0-9A-Za-z-]+))*)?(?:\+(?:[0-9A-Za-z-]+)(?:\.(?:[0-9A-Za-z-]+))*)?";

fn partial_pattern() -> String {
    format!(r"{NUMBER_OR_ANY}(?:\.{NUMBER_OR_ANY}(?:\.{NUMBER_OR_ANY}{QUALIFIER})?)?")
}

fn one_range(range: &str, whole: &str) -> Parsed<Option<Comparator>> {
    static HYPHEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let (partial, blank) = (partial_pattern(), "[ \\t\\r\\n\\x0b\\x0c]+");
        Regex::new(&format!(r"\A({partial}){blank}-{blank}({partial})\z")).ok()
    });
    static BLANK: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[ \t\r\n\x0b\x0c]+").ok());
    if let Some(found) = HYPHEN.as_ref().and_then(|hyphen| hyphen.captures(range)) {
        let version = |n: usize| Partial::parse(found.get(n).map_or("", |part| part.as_str()))?.version();
        return Ok(Comparator::AtLeast(version(1)?).intersection(&Comparator::AtMost(version(2)?)));
    }
    let mut simples = Vec::new();
    for text in split(BLANK.as_ref(), range) {
        simples.push(simple(text, whole)?);
    }
    let mut simples = simples.into_iter();
    let Some(first) = simples.next() else { return Ok(None) };
    let mut all = Some(first);
    for next in simples {
        // Then Ruby calls `intersection` on nil.
        let Some(part) = &all else {
            return Err("undefined method `intersection' for nil:NilClass".into());
        };
        all = part.intersection(&next);
    }
    Ok(all)
}

fn simple(text: &str, whole: &str) -> Parsed<Comparator> {
    static SIMPLE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(&format!(r"\A([<>=~^]|<=|>=|~>|~=)?({})\z", partial_pattern())).ok());
    let found = SIMPLE.as_ref().and_then(|simple| simple.captures(text));
    let found = found.ok_or_else(|| format!("Unparsable version range: \"{whole}\""))?;
    let version = Partial::parse(found.get(2).map_or("", |part| part.as_str()))?;
    match found.get(1).map(|sign| sign.as_str()) {
        Some("~" | "~>" | "~=") => version.patches(true),
        Some("^") if version.major == Some(Value::Integer(0)) => version.patches(true),
        Some("^") => version.minors(),
        Some(">") => version.greater(),
        Some(">=") => Ok(Comparator::AtLeast(version.version()?)),
        Some("<") => Ok(Comparator::Less(version.version()?)),
        Some("<=") => version.at_most(),
        _ => version.patches(false),
    }
}

/// A version that may lack numbers.
struct Partial {
    major: Option<Value>,
    minor: Option<Value>,
    patch: Option<Value>,
    prerelease: Option<String>,
    build: Option<String>,
}

impl Partial {
    fn parse(text: &str) -> Parsed<Partial> {
        static PARTIAL: LazyLock<Option<Regex>> = LazyLock::new(|| {
            let any = r"(x|X|\*|0|[1-9][0-9]*)";
            let parts = "[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*";
            Regex::new(&format!(r"\A{any}(?:\.{any}(?:\.{any}(?:-({parts}))?(?:\+({parts}))?)?)?\z")).ok()
        });
        let found = PARTIAL.as_ref().and_then(|partial| partial.captures(text));
        let found = found.ok_or_else(|| format!("Unparsable version range: \"{text}\""))?;
        let group = |n: usize| found.get(n).map(|part| part.as_str().to_owned());
        let digit = |n: usize| group(n).filter(|d| !matches!(d.as_str(), "x" | "X" | "*")).map(|d| ruby::to_i(&d));
        Ok(Partial { major: digit(1), minor: digit(2), patch: digit(3), prerelease: group(4), build: group(5) })
    }

    fn version(&self) -> Parsed<Version> {
        let number = |n: &Option<Value>| n.clone().unwrap_or(Value::Integer(0));
        Ok(Version {
            prerelease: prerelease(self.prerelease.as_deref())?,
            build: build(self.build.as_deref()),
            ..Version::new(number(&self.major), number(&self.minor), number(&self.patch))
        })
    }

    /// Returns the versions of `1.2` or `~1.2.3`.
    fn patches(&self, open: bool) -> Parsed<Comparator> {
        let Some(major) = &self.major else { return Ok(Comparator::All) };
        let next_major = Version::new(Version::next_number(major), 0, 0);
        let Some(minor) = &self.minor else { return Ok(between(Version::new(major.clone(), 0, 0), next_major)) };
        let next_minor = Version::new(major.clone(), Version::next_number(minor), 0);
        if self.patch.is_none() {
            return Ok(between(Version::new(major.clone(), minor.clone(), 0), next_minor));
        }
        let version = self.version()?;
        Ok(if open { between(version, next_minor) } else { Comparator::Equal(version) })
    }

    /// Returns the versions of `^1.2.3`.
    fn minors(&self) -> Parsed<Comparator> {
        let major = self.major.as_ref().ok_or_else(no_singleton)?;
        let version = match (&self.minor, &self.patch) {
            (Some(_), Some(_)) => Version { build: None, ..self.version()? },
            (Some(minor), None) => Version::new(major.clone(), minor.clone(), 0),
            (None, _) => Version::new(major.clone(), 0, 0),
        };
        let version = if version.prerelease.is_some() { self.version()? } else { version };
        Ok(between(version, Version::new(Version::next_number(major), 0, 0)))
    }

    /// Returns the versions of `>1.2`.
    fn greater(&self) -> Parsed<Comparator> {
        Ok(match (&self.major, &self.minor, &self.patch) {
            (None, ..) => Comparator::Nothing,
            (Some(major), None, _) => Comparator::AtLeast(Version::new(Version::next_number(major), 0, 0)),
            (Some(major), Some(minor), None) => {
                Comparator::AtLeast(Version::new(major.clone(), Version::next_number(minor), 0))
            }
            _ => Comparator::Greater(self.version()?),
        })
    }

    /// Returns the versions of `<=1.2`.
    fn at_most(&self) -> Parsed<Comparator> {
        Ok(match (&self.major, &self.minor, &self.patch) {
            (None, ..) => return Err(no_singleton()),
            (Some(major), None, _) => Comparator::Less(Version::new(Version::next_number(major), 0, 0)),
            (Some(major), Some(minor), None) => {
                Comparator::Less(Version::new(major.clone(), Version::next_number(minor), 0))
            }
            _ => Comparator::AtMost(self.version()?),
        })
    }
}

fn between(from: Version, to: Version) -> Comparator {
    Comparator::Both(Box::new(Comparator::AtLeast(from)), Box::new(Comparator::Less(to)))
}

/// Returns the message of the exception that a mistake of the library raises.
fn no_singleton() -> String {
    "undefined method `SINGLETON' for SemanticPuppet::VersionRange::AllRange:Class".into()
}
