//! A range of semantic versions.
//!
//! Source: `semantic_puppet/version_range.rb`, slips included.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

use regex::Regex;

use super::super::{Value, ruby};
use super::version::{Version, build, plus_one, prerelease};

/// Versions in one of several ranges, and how they were written.
#[derive(Debug, Clone)]
pub struct VersionRange {
    ranges: Vec<Part>,
    text: String,
}

/// One range.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    All,
    Nothing,
    Greater(Version),
    AtLeast(Version),
    Less(Version),
    AtMost(Version),
    Equal(Version),
    Both(Box<Part>, Box<Part>),
}

/// Why a text is no range, in Ruby's words.
type Parsed<T> = Result<T, String>;

impl VersionRange {
    /// The range that is written so.
    pub fn parse(text: &str) -> Parsed<VersionRange> {
        static GLUE: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(r"([><=~^])(?:[ \t\r\n\x0b\x0c]+|[ \t\r\n\x0b\x0c]*v)").ok());
        static OR: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(r"[ \t\r\n\x0b\x0c]*\|\|[ \t\r\n\x0b\x0c]*").ok());
        let glued = GLUE.as_ref().map_or_else(|| text.into(), |glue| glue.replace_all(text, "$1"));
        let parts = split(OR.as_ref(), &glued);
        if parts.is_empty() {
            return Ok(VersionRange { ranges: vec![Part::All], text: "*".into() });
        }
        let mut ranges: Vec<Part> = Vec::new();
        for part in parts {
            if let Some(part) = one_range(part, text)?.filter(|part| !ranges.contains(part)) {
                ranges.push(part);
            }
        }
        Ok(VersionRange { ranges: merged(ranges)?, text: text.to_owned() })
    }

    /// The versions from `min` to `max`. It is written the wrong way round, as Puppet does.
    pub fn between(min: Version, max: Version, exclude_max: bool) -> Parsed<VersionRange> {
        let text = if exclude_max { format!(">={max} <{min}") } else { format!("{max} - {min}") };
        let upper = if exclude_max { Part::Less(max) } else { Part::AtMost(max) };
        let part = Part::AtLeast(min).intersection(&upper);
        Ok(VersionRange { ranges: merged(part.into_iter().collect())?, text })
    }

    /// Whether a version is in it; one that is no release only if a range speaks of such of the same numbers.
    pub fn includes(&self, version: &Version) -> bool {
        let fits = |part: &Part| part.includes(version) && (version.is_stable() || part.takes_prerelease(version));
        self.ranges.iter().any(fits)
    }

    /// Ruby's `inspect`: what the range is, however it was written.
    pub fn inspect(&self) -> String {
        self.ranges.iter().map(ToString::to_string).collect::<Vec<_>>().join(" || ")
    }

    fn only(&self) -> Option<&Part> {
        match self.ranges.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }

    /// Whether all of it is in `other`; nothing where Ruby fails, since one of them is no single range.
    pub fn is_covered_by(&self, other: &VersionRange) -> Option<bool> {
        let (a, b) = (self.only()?, other.only()?);
        Some(
            b.start() <= a.start() && {
                let order = b.end().cmp(&a.end());
                order == Ordering::Greater || order == Ordering::Equal && (!b.excludes_end() || a.excludes_end())
            },
        )
    }

    /// The one range that two are that overlap or touch; none if they do not, nothing where Ruby fails.
    pub fn union(&self, other: &VersionRange) -> Option<Option<Parsed<VersionRange>>> {
        let (a, b) = (self.only()?, other.only()?);
        let (starts, ends) = ((a.start(), b.start()), (a.end(), b.end()));
        if self.includes(&starts.1) || other.includes(&starts.0) {
            let max = ends.0.clone().max(ends.1.clone());
            let excluded = if a.excludes_end() {
                max == ends.0 && (max > ends.1 || b.excludes_end())
            } else {
                b.excludes_end() && max == ends.1 && (max > ends.0 || a.excludes_end())
            };
            return Some(Some(VersionRange::between(starts.0.min(starts.1), max, excluded)));
        }
        if a.excludes_end() && ends.0 == starts.1 {
            return Some(Some(VersionRange::between(starts.0, ends.1, b.excludes_end())));
        }
        if b.excludes_end() && ends.1 == starts.0 {
            return Some(Some(VersionRange::between(starts.1, ends.0, a.excludes_end())));
        }
        Some(None)
    }
}

/// Ruby's `split`: nothing empty at the end.
fn split<'t>(separator: Option<&Regex>, text: &'t str) -> Vec<&'t str> {
    let mut parts: Vec<&str> = separator.map_or_else(|| vec![text], |separator| separator.split(text).collect());
    while parts.last().is_some_and(|last| last.is_empty()) {
        parts.pop();
    }
    parts
}

const ANY: &str = r"(?:x|X|\*|0|[1-9][0-9]*)";
const QUALIFIER: &str =
    r"(?:-(?:[0-9A-Za-z-]+)(?:\.(?:[0-9A-Za-z-]+))*)?(?:\+(?:[0-9A-Za-z-]+)(?:\.(?:[0-9A-Za-z-]+))*)?";

fn partial() -> String {
    format!(r"{ANY}(?:\.{ANY}(?:\.{ANY}{QUALIFIER})?)?")
}

fn one_range(range: &str, whole: &str) -> Parsed<Option<Part>> {
    static HYPHEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let (partial, blank) = (partial(), "[ \\t\\r\\n\\x0b\\x0c]+");
        Regex::new(&format!(r"\A({partial}){blank}-{blank}({partial})\z")).ok()
    });
    static BLANK: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[ \t\r\n\x0b\x0c]+").ok());
    if let Some(found) = HYPHEN.as_ref().and_then(|hyphen| hyphen.captures(range)) {
        let version = |n: usize| Partial::parse(found.get(n).map_or("", |part| part.as_str()))?.version();
        return Ok(Part::AtLeast(version(1)?).intersection(&Part::AtMost(version(2)?)));
    }
    let mut simples = Vec::new();
    for text in split(BLANK.as_ref(), range) {
        simples.push(simple(text, whole)?);
    }
    let mut simples = simples.into_iter();
    let Some(first) = simples.next() else { return Ok(None) };
    let mut all = Some(first);
    for next in simples {
        // Ruby asks nothing for its intersection.
        let Some(part) = &all else {
            return Err("undefined method `intersection' for nil:NilClass".into());
        };
        all = part.intersection(&next);
    }
    Ok(all)
}

fn simple(text: &str, whole: &str) -> Parsed<Part> {
    static SIMPLE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(&format!(r"\A([<>=~^]|<=|>=|~>|~=)?({})\z", partial())).ok());
    let found = SIMPLE.as_ref().and_then(|simple| simple.captures(text));
    let found = found.ok_or_else(|| format!("Unparsable version range: \"{whole}\""))?;
    let version = Partial::parse(found.get(2).map_or("", |part| part.as_str()))?;
    match found.get(1).map(|sign| sign.as_str()) {
        Some("~" | "~>" | "~=") => version.patches(true),
        Some("^") if version.major == Some(Value::Integer(0)) => version.patches(true),
        Some("^") => version.minors(),
        Some(">") => version.greater(),
        Some(">=") => Ok(Part::AtLeast(version.version()?)),
        Some("<") => Ok(Part::Less(version.version()?)),
        Some("<=") => version.at_most(),
        _ => version.patches(false),
    }
}

/// A version of which numbers may be missing.
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

    /// `1.2` or `~1.2.3`.
    fn patches(&self, open: bool) -> Parsed<Part> {
        let Some(major) = &self.major else { return Ok(Part::All) };
        let next_major = Version::new(plus_one(major), 0, 0);
        let Some(minor) = &self.minor else { return Ok(between(Version::new(major.clone(), 0, 0), next_major)) };
        let next_minor = Version::new(major.clone(), plus_one(minor), 0);
        if self.patch.is_none() {
            return Ok(between(Version::new(major.clone(), minor.clone(), 0), next_minor));
        }
        let version = self.version()?;
        Ok(if open { between(version, next_minor) } else { Part::Equal(version) })
    }

    /// `^1.2.3`.
    fn minors(&self) -> Parsed<Part> {
        let major = self.major.as_ref().ok_or_else(no_singleton)?;
        let version = match (&self.minor, &self.patch) {
            (Some(_), Some(_)) => Version { build: None, ..self.version()? },
            (Some(minor), None) => Version::new(major.clone(), minor.clone(), 0),
            (None, _) => Version::new(major.clone(), 0, 0),
        };
        let version = if version.prerelease.is_some() { self.version()? } else { version };
        Ok(between(version, Version::new(plus_one(major), 0, 0)))
    }

    /// `>1.2`.
    fn greater(&self) -> Parsed<Part> {
        Ok(match (&self.major, &self.minor, &self.patch) {
            (None, ..) => Part::Nothing,
            (Some(major), None, _) => Part::AtLeast(Version::new(plus_one(major), 0, 0)),
            (Some(major), Some(minor), None) => Part::AtLeast(Version::new(major.clone(), plus_one(minor), 0)),
            _ => Part::Greater(self.version()?),
        })
    }

    /// `<=1.2`.
    fn at_most(&self) -> Parsed<Part> {
        Ok(match (&self.major, &self.minor, &self.patch) {
            (None, ..) => return Err(no_singleton()),
            (Some(major), None, _) => Part::Less(Version::new(plus_one(major), 0, 0)),
            (Some(major), Some(minor), None) => Part::Less(Version::new(major.clone(), plus_one(minor), 0)),
            _ => Part::AtMost(self.version()?),
        })
    }
}

fn between(from: Version, to: Version) -> Part {
    Part::Both(Box::new(Part::AtLeast(from)), Box::new(Part::Less(to)))
}

/// A slip of the library's.
fn no_singleton() -> String {
    "undefined method `SINGLETON' for SemanticPuppet::VersionRange::AllRange:Class".into()
}

/// Ranges that overlap or touch become one, until none does.
fn merged(mut ranges: Vec<Part>) -> Parsed<Vec<Part>> {
    let mut again = true;
    while ranges.len() > 1 && again {
        again = false;
        let mut result = Vec::new();
        while let Some(mut one) = ranges.pop() {
            let mut apart = Vec::new();
            for other in ranges {
                match one.merge(&other)? {
                    Some(both) => {
                        again = true;
                        one = both;
                    }
                    None => apart.push(other),
                }
            }
            result.push(one);
            ranges = apart;
        }
        result.reverse();
        ranges = result;
    }
    Ok(if ranges.is_empty() { vec![Part::Nothing] } else { ranges })
}

impl Part {
    fn includes(&self, version: &Version) -> bool {
        match self {
            Part::All => true,
            Part::Nothing => *version < Version::min(),
            Part::Greater(own) => version > own,
            Part::AtLeast(own) => version >= own,
            Part::Less(own) => version < own,
            Part::AtMost(own) => version <= own,
            Part::Equal(own) => version == own,
            Part::Both(min, max) => min.includes(version) && max.includes(version),
        }
    }

    fn takes_prerelease(&self, version: &Version) -> bool {
        match self {
            Part::All => true,
            Part::Nothing => false,
            Part::Both(min, max) => min.takes_prerelease(version) || max.takes_prerelease(version),
            Part::Greater(own) | Part::AtLeast(own) | Part::Less(own) | Part::AtMost(own) | Part::Equal(own) => {
                !own.is_stable() && own.same_numbers(version)
            }
        }
    }

    fn start(&self) -> Version {
        match self {
            Part::Greater(own) | Part::AtLeast(own) | Part::Equal(own) => own.clone(),
            Part::Both(min, _) => min.start(),
            _ => Version::min(),
        }
    }

    fn end(&self) -> Version {
        match self {
            Part::Less(own) | Part::AtMost(own) | Part::Equal(own) => own.clone(),
            Part::Nothing => Version::min(),
            Part::Both(_, max) => max.end(),
            _ => Version::max(),
        }
    }

    fn excludes_start(&self) -> bool {
        match self {
            Part::Greater(_) => true,
            Part::Both(min, _) => min.excludes_start(),
            _ => false,
        }
    }

    fn excludes_end(&self) -> bool {
        match self {
            Part::Less(_) | Part::Nothing => true,
            Part::Both(_, max) => max.excludes_end(),
            _ => false,
        }
    }

    fn has_start(&self) -> bool {
        match self {
            Part::Greater(_) => true,
            Part::AtLeast(own) | Part::Equal(own) => *own != Version::min(),
            Part::Both(min, _) => min.has_start(),
            _ => false,
        }
    }

    fn has_end(&self) -> bool {
        match self {
            Part::Less(_) | Part::Nothing => true,
            Part::AtMost(own) | Part::Equal(own) => *own != Version::max(),
            Part::Both(_, max) => max.has_end(),
            _ => false,
        }
    }

    fn intersection(&self, other: &Part) -> Option<Part> {
        if let Part::All = self {
            return Some(other.clone());
        }
        for (a, b) in [(self, other), (other, self)] {
            match a.start().cmp(&b.end()) {
                Ordering::Greater => return None,
                Ordering::Equal if a.excludes_start() || b.excludes_end() => return None,
                Ordering::Equal => return Some(Part::Equal(a.start())),
                Ordering::Less => {}
            }
        }
        let min = match self.start().cmp(&other.start()) {
            Ordering::Less => other,
            Ordering::Equal if !self.excludes_start() => other,
            _ => self,
        };
        let max = match self.end().cmp(&other.end()) {
            Ordering::Greater => other,
            Ordering::Equal if !self.excludes_end() => other,
            _ => self,
        };
        Some(match (min.has_start(), max.has_end()) {
            (_, false) => min.clone(),
            (false, true) => max.clone(),
            (true, true) => both(min, max),
        })
    }

    fn merge(&self, other: &Part) -> Parsed<Option<Part>> {
        if let Part::All = self {
            return Ok(Some(Part::All));
        }
        if self.includes(&other.start()) || other.includes(&self.start()) {
            return self.overlap(other).map(Some);
        }
        let touches = |a: &Part, b: &Part| a.excludes_end() && !b.excludes_start() && a.end() == b.start();
        let follows =
            |a: &Part, b: &Part| !a.excludes_end() && !b.excludes_start() && a.end().next_patch() == b.start();
        Ok(if touches(self, other) {
            from_to(self, other)
        } else if touches(other, self) {
            from_to(other, self)
        } else if follows(self, other) {
            from_to(self, other)
        } else if follows(other, self) {
            from_to(other, self)
        } else {
            None
        })
    }

    fn overlap(&self, other: &Part) -> Parsed<Part> {
        let (min, open) = match self.start().cmp(&other.start()) {
            Ordering::Less => (self.start(), self.excludes_start()),
            Ordering::Greater => (other.start(), other.excludes_start()),
            Ordering::Equal => (self.start(), self.excludes_start() && other.excludes_start()),
        };
        let (max, excluded) = match self.end().cmp(&other.end()) {
            Ordering::Greater => (self.end(), self.excludes_end()),
            Ordering::Less => (other.end(), other.excludes_end()),
            Ordering::Equal => return Err(self.no_exclude_end()),
        };
        let lower = if open { Part::Greater(min) } else { Part::AtLeast(min) };
        let upper = if excluded { Part::Less(max) } else { Part::AtMost(max) };
        lower.intersection(&upper).ok_or_else(String::new)
    }

    /// A slip of the library's.
    fn no_exclude_end(&self) -> String {
        let class = match self {
            Part::Both(..) => "MinMaxRange",
            Part::Greater(_) => "GtRange",
            Part::AtLeast(_) => "GtEqRange",
            Part::Less(_) | Part::Nothing => "LtRange",
            Part::AtMost(_) => "LtEqRange",
            Part::Equal(_) => "EqRange",
            Part::All => "AllRange",
        };
        format!("undefined local variable or method `exclude_end' for {self}:SemanticPuppet::VersionRange::{class}")
    }
}

fn both(min: &Part, max: &Part) -> Part {
    let min = if let Part::Both(min, _) = min { (**min).clone() } else { min.clone() };
    let max = if let Part::Both(_, max) = max { (**max).clone() } else { max.clone() };
    Part::Both(Box::new(min), Box::new(max))
}

fn from_to(a: &Part, b: &Part) -> Option<Part> {
    let lower = if a.excludes_start() { Part::Greater(a.start()) } else { Part::AtLeast(a.start()) };
    let upper = if b.excludes_end() { Part::Less(b.end()) } else { Part::AtMost(b.end()) };
    lower.intersection(&upper)
}

/// How it was written does not count.
impl PartialEq for VersionRange {
    fn eq(&self, other: &VersionRange) -> bool {
        self.ranges == other.ranges
    }
}

impl Eq for VersionRange {}

impl Hash for VersionRange {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inspect().hash(state);
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::All => f.write_str("*"),
            Part::Nothing => f.write_str("<0.0.0"),
            Part::Greater(own) => write!(f, ">{own}"),
            Part::AtLeast(own) => write!(f, ">={own}"),
            Part::Less(own) => write!(f, "<{own}"),
            Part::AtMost(own) => write!(f, "<={own}"),
            Part::Equal(own) => write!(f, "{own}"),
            Part::Both(min, max) => write!(f, "{min} {max}"),
        }
    }
}
