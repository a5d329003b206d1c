//! A range of semantic versions.
//!
//! Source: `semantic_puppet/version_range.rb`, bugs included.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use super::version::Version;

/// The versions in any of several ranges, with the text that they were written as.
#[derive(Debug, Clone)]
pub struct VersionRange {
    ranges: Vec<Comparator>,
    text: String,
}

/// One range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Comparator {
    /// All versions.
    All,
    /// No version.
    Nothing,
    /// `>`
    Greater(Version),
    /// `>=`
    AtLeast(Version),
    /// `<`
    Less(Version),
    /// `<=`
    AtMost(Version),
    /// One version.
    Equal(Version),
    /// The versions in two ranges, the first with a start and the second with an end.
    Both(Box<Comparator>, Box<Comparator>),
}

/// A result, or the message of Ruby's exception.
type Checked<T> = Result<T, String>;

impl VersionRange {
    /// Returns the versions in any of `parts`, written as `text`. Fails like the library on parts with the same end.
    pub fn new(parts: Vec<Comparator>, text: String) -> Checked<VersionRange> {
        Ok(VersionRange { ranges: merged(parts)?, text })
    }

    /// Returns the versions from `min` to `max`. The text has them in reverse order, as in Puppet.
    pub fn between(min: Version, max: Version, exclude_max: bool) -> Checked<VersionRange> {
        let text = if exclude_max { format!(">={max} <{min}") } else { format!("{max} - {min}") };
        let upper = if exclude_max { Comparator::Less(max) } else { Comparator::AtMost(max) };
        let part = Comparator::AtLeast(min).intersection(&upper);
        VersionRange::new(part.into_iter().collect(), text)
    }

    /// Returns true if it includes a version. A pre-release is included only if a range names one with the same
    /// numbers.
    pub fn includes(&self, version: &Version) -> bool {
        let fits =
            |part: &Comparator| part.includes(version) && (version.is_stable() || part.takes_prerelease(version));
        self.ranges.iter().any(fits)
    }

    /// Returns Ruby's `inspect`: the normalised ranges, however they were written.
    pub fn inspect(&self) -> String {
        self.ranges.iter().map(ToString::to_string).collect::<Vec<_>>().join(" || ")
    }

    fn single_range(&self) -> Option<&Comparator> {
        match self.ranges.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }

    /// Returns true if `other` contains all of it, or `None` if Ruby fails because one of the two is not a single
    /// range.
    pub fn is_covered_by(&self, other: &VersionRange) -> Option<bool> {
        let (a, b) = (self.single_range()?, other.single_range()?);
        Some(
            b.start() <= a.start() && {
                let order = b.end().cmp(&a.end());
                order == Ordering::Greater || order == Ordering::Equal && (!b.excludes_end() || a.excludes_end())
            },
        )
    }

    /// Joins two ranges that overlap or touch. The inner `None` says that they do not, the outer one that Ruby fails.
    pub fn union(&self, other: &VersionRange) -> Option<Option<Checked<VersionRange>>> {
        let (a, b) = (self.single_range()?, other.single_range()?);
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

/// Joins ranges that overlap or touch, until none do.
fn merged(mut ranges: Vec<Comparator>) -> Checked<Vec<Comparator>> {
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
    Ok(if ranges.is_empty() { vec![Comparator::Nothing] } else { ranges })
}

impl Comparator {
    fn includes(&self, version: &Version) -> bool {
        match self {
            Comparator::All => true,
            Comparator::Nothing => *version < Version::min(),
            Comparator::Greater(bound) => version > bound,
            Comparator::AtLeast(bound) => version >= bound,
            Comparator::Less(bound) => version < bound,
            Comparator::AtMost(bound) => version <= bound,
            Comparator::Equal(bound) => version == bound,
            Comparator::Both(min, max) => min.includes(version) && max.includes(version),
        }
    }

    fn takes_prerelease(&self, version: &Version) -> bool {
        match self {
            Comparator::All => true,
            Comparator::Nothing => false,
            Comparator::Both(min, max) => min.takes_prerelease(version) || max.takes_prerelease(version),
            Comparator::Greater(bound)
            | Comparator::AtLeast(bound)
            | Comparator::Less(bound)
            | Comparator::AtMost(bound)
            | Comparator::Equal(bound) => !bound.is_stable() && bound.same_numbers(version),
        }
    }

    fn start(&self) -> Version {
        match self {
            Comparator::Greater(bound) | Comparator::AtLeast(bound) | Comparator::Equal(bound) => bound.clone(),
            Comparator::Both(min, _) => min.start(),
            _ => Version::min(),
        }
    }

    fn end(&self) -> Version {
        match self {
            Comparator::Less(bound) | Comparator::AtMost(bound) | Comparator::Equal(bound) => bound.clone(),
            Comparator::Nothing => Version::min(),
            Comparator::Both(_, max) => max.end(),
            _ => Version::max(),
        }
    }

    fn excludes_start(&self) -> bool {
        match self {
            Comparator::Greater(_) => true,
            Comparator::Both(min, _) => min.excludes_start(),
            _ => false,
        }
    }

    fn excludes_end(&self) -> bool {
        match self {
            Comparator::Less(_) | Comparator::Nothing => true,
            Comparator::Both(_, max) => max.excludes_end(),
            _ => false,
        }
    }

    fn has_start(&self) -> bool {
        match self {
            Comparator::Greater(_) => true,
            Comparator::AtLeast(bound) | Comparator::Equal(bound) => *bound != Version::min(),
            Comparator::Both(min, _) => min.has_start(),
            _ => false,
        }
    }

    fn has_end(&self) -> bool {
        match self {
            Comparator::Less(_) | Comparator::Nothing => true,
            Comparator::AtMost(bound) | Comparator::Equal(bound) => *bound != Version::max(),
            Comparator::Both(_, max) => max.has_end(),
            _ => false,
        }
    }

    /// Returns the versions in both ranges, or `None` if there are none.
    pub fn intersection(&self, other: &Comparator) -> Option<Comparator> {
        if let Comparator::All = self {
            return Some(other.clone());
        }
        for (a, b) in [(self, other), (other, self)] {
            match a.start().cmp(&b.end()) {
                Ordering::Greater => return None,
                Ordering::Equal if a.excludes_start() || b.excludes_end() => return None,
                Ordering::Equal => return Some(Comparator::Equal(a.start())),
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

    fn merge(&self, other: &Comparator) -> Checked<Option<Comparator>> {
        if let Comparator::All = self {
            return Ok(Some(Comparator::All));
        }
        if self.includes(&other.start()) || other.includes(&self.start()) {
            return self.overlap(other).map(Some);
        }
        let touches = |a: &Comparator, b: &Comparator| a.excludes_end() && !b.excludes_start() && a.end() == b.start();
        let follows = |a: &Comparator, b: &Comparator| {
            !a.excludes_end() && !b.excludes_start() && a.end().next_patch() == b.start()
        };
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

    fn overlap(&self, other: &Comparator) -> Checked<Comparator> {
        let (min, open) = match self.start().cmp(&other.start()) {
            Ordering::Less => (self.start(), self.excludes_start()),
            Ordering::Greater => (other.start(), other.excludes_start()),
            Ordering::Equal => (self.start(), self.excludes_start() && other.excludes_start()),
        };
        let (max, excluded) = match self.end().cmp(&other.end()) {
            Ordering::Greater => (self.end(), self.excludes_end()),
            Ordering::Less => (other.end(), other.excludes_end()),
            Ordering::Equal => return Err(self.missing_method_message()),
        };
        let lower = if open { Comparator::Greater(min) } else { Comparator::AtLeast(min) };
        let upper = if excluded { Comparator::Less(max) } else { Comparator::AtMost(max) };
        lower.intersection(&upper).ok_or_else(String::new)
    }

    /// Returns the message of Ruby's exception, since the library calls a method that does not exist.
    fn missing_method_message(&self) -> String {
        let class = match self {
            Comparator::Both(..) => "MinMaxRange",
            Comparator::Greater(_) => "GtRange",
            Comparator::AtLeast(_) => "GtEqRange",
            Comparator::Less(_) | Comparator::Nothing => "LtRange",
            Comparator::AtMost(_) => "LtEqRange",
            Comparator::Equal(_) => "EqRange",
            Comparator::All => "AllRange",
        };
        format!("undefined local variable or method `exclude_end' for {self}:SemanticPuppet::VersionRange::{class}")
    }
}

fn both(min: &Comparator, max: &Comparator) -> Comparator {
    let min = if let Comparator::Both(min, _) = min { (**min).clone() } else { min.clone() };
    let max = if let Comparator::Both(_, max) = max { (**max).clone() } else { max.clone() };
    Comparator::Both(Box::new(min), Box::new(max))
}

fn from_to(a: &Comparator, b: &Comparator) -> Option<Comparator> {
    let lower = if a.excludes_start() { Comparator::Greater(a.start()) } else { Comparator::AtLeast(a.start()) };
    let upper = if b.excludes_end() { Comparator::Less(b.end()) } else { Comparator::AtMost(b.end()) };
    lower.intersection(&upper)
}

/// Ignores the text that a range was written as.
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

impl fmt::Display for Comparator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Comparator::All => f.write_str("*"),
            Comparator::Nothing => f.write_str("<0.0.0"),
            Comparator::Greater(bound) => write!(f, ">{bound}"),
            Comparator::AtLeast(bound) => write!(f, ">={bound}"),
            Comparator::Less(bound) => write!(f, "<{bound}"),
            Comparator::AtMost(bound) => write!(f, "<={bound}"),
            Comparator::Equal(bound) => write!(f, "{bound}"),
            Comparator::Both(min, max) => write!(f, "{min} {max}"),
        }
    }
}
