//! The ranges of numbers, sizes and times that a type can have.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use crate::value::Value;

/// A range of numbers, both ends included; an end that is open is infinite.
#[derive(Debug, Clone)]
pub struct Range {
    /// The least; `-Infinity` if there is none.
    pub from: Value,
    /// The greatest; `Infinity` if there is none.
    pub to: Value,
}

impl Range {
    /// All numbers.
    pub const ALL: Range = Range { from: Value::Float(f64::NEG_INFINITY), to: Value::Float(f64::INFINITY) };

    /// Returns the numbers from `from` to `to`.
    pub fn new(from: impl Into<Value>, to: impl Into<Value>) -> Range {
        Range { from: from.into(), to: to.into() }
    }

    /// Returns the numbers from `from` on.
    pub fn at_least(from: impl Into<Value>) -> Range {
        Range { from: from.into(), to: Value::Float(f64::INFINITY) }
    }

    /// One number.
    pub fn exactly(n: impl Into<Value>) -> Range {
        let n = n.into();
        Range { from: n.clone(), to: n }
    }

    /// The size of a collection of `count` things.
    pub fn count(count: usize) -> Range {
        Range::exactly(i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// Returns the least number, or `None` if there is none.
    pub fn lower(&self) -> Option<&Value> {
        Some(&self.from).filter(|from| !from.equals(&Value::Float(f64::NEG_INFINITY)))
    }

    /// Returns the greatest number, or `None` if there is none.
    pub fn upper(&self) -> Option<&Value> {
        Some(&self.to).filter(|to| !to.equals(&Value::Float(f64::INFINITY)))
    }

    /// Returns true if both ends are open.
    pub fn is_all(&self) -> bool {
        self.lower().is_none() && self.upper().is_none()
    }

    /// Returns true if it contains only zero.
    pub fn is_zero(&self) -> bool {
        let zero = |n: &Value| n.equals(&Value::Integer(0));
        zero(&self.from) && zero(&self.to)
    }

    /// Returns true if `n` is in it.
    pub fn contains(&self, n: &Value) -> bool {
        is_at_most(&self.from, n) && is_at_most(n, &self.to)
    }

    /// Returns true if it contains all of `other`.
    pub fn covers(&self, other: &Range) -> bool {
        is_at_most(&self.from, &other.from) && is_at_most(&other.to, &self.to)
    }

    /// Returns true if the two ranges overlap.
    pub fn meets(&self, other: &Range) -> bool {
        !(is_less(&self.to, &other.from) || is_less(&other.to, &self.from))
    }

    /// Returns the smallest range that contains both.
    #[must_use]
    pub fn span(&self, other: &Range) -> Range {
        let from = if is_at_most(&self.from, &other.from) { &self.from } else { &other.from };
        let to = if is_at_most(&other.to, &self.to) { &self.to } else { &other.to };
        Range { from: from.clone(), to: to.clone() }
    }

    /// Returns the range as one of sizes, which are never negative: the negative part is cut off.
    #[must_use]
    pub fn to_size(self) -> Range {
        let zero = Value::Integer(0);
        if is_at_most(&zero, &self.from) {
            return self;
        }
        let to = if is_less(&self.to, &zero) { zero.clone() } else { self.to };
        Range { from: zero, to }
    }
}

/// Ruby's `a <= b`.
fn is_at_most(a: &Value, b: &Value) -> bool {
    matches!(a.compare(b), Some(Ordering::Less | Ordering::Equal))
}

fn is_less(a: &Value, b: &Value) -> bool {
    a.compare(b) == Some(Ordering::Less)
}

impl PartialEq for Range {
    fn eq(&self, other: &Range) -> bool {
        self.from.equals(&other.from) && self.to.equals(&other.to)
    }
}

impl Eq for Range {}

/// Hashes an integer as its nearest float, since the two may be equal.
impl Hash for Range {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for end in [&self.from, &self.to] {
            let near = match end {
                #[expect(clippy::cast_precision_loss, reason = "near is enough")]
                Value::Integer(n) => *n as f64,
                Value::Float(f) => *f,
                _ => 0.0,
            };
            (near + 0.0).to_bits().hash(state);
        }
    }
}

/// A range of nanoseconds, both ends included; an end may be open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TimeRange {
    /// The least.
    pub from: Option<i128>,
    /// The greatest.
    pub to: Option<i128>,
}

impl TimeRange {
    /// One time.
    pub fn exactly(time: i128) -> TimeRange {
        TimeRange { from: Some(time), to: Some(time) }
    }

    /// Returns true if `time` is in it.
    pub fn contains(self, time: i128) -> bool {
        self.from.is_none_or(|from| from <= time) && self.to.is_none_or(|to| time <= to)
    }

    /// Returns true if it contains all of `other`.
    pub fn covers(self, other: TimeRange) -> bool {
        self.from.is_none_or(|from| other.from.is_some_and(|other| from <= other))
            && self.to.is_none_or(|to| other.to.is_some_and(|other| other <= to))
    }
}
