//! A figure that was taken several times.

use std::fmt;

/// The median, the least and the greatest of a figure.
#[derive(Debug, Clone)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
    count: usize,
    unit: &'static str,
}

/// The limit on the median.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wanted {
    AtMost(f64),
    AtLeast(f64),
}

impl Spread {
    /// The spread of `values`, of which there is at least one.
    pub(crate) fn new(values: impl IntoIterator<Item = f64>, unit: &'static str) -> Spread {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let count = values.len();
        Spread { median: values[count / 2], least: values[0], most: values[count - 1], count, unit }
    }

    /// `figure` of this and of `other`, where it grows with this and shrinks with `other`. They were measured apart, so
    /// its least is that of the least of the one and the greatest of the other.
    pub(crate) fn against(&self, other: &Spread, unit: &'static str, figure: impl Fn(f64, f64) -> f64) -> Spread {
        Spread {
            median: figure(self.median, other.median),
            least: figure(self.least, other.most),
            most: figure(self.most, other.least),
            count: self.count.min(other.count),
            unit,
        }
    }

    /// Returns the ratio of this to `other`.
    pub(crate) fn over(&self, other: &Spread) -> Spread {
        self.against(other, "times", |this, other| this / other)
    }

    /// The same figure in another unit.
    pub(crate) fn scaled(&self, factor: f64, unit: &'static str) -> Spread {
        let Spread { median, least, most, count, .. } = *self;
        Spread { median: median * factor, least: least * factor, most: most * factor, count, unit }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = match self.median {
            median if median >= 1000.0 => 0,
            median if median >= 100.0 => 1,
            _ => 2,
        };
        let Spread { median, least, most, count, unit } = self;
        let runs = if *count == 1 { "run" } else { "runs" };
        write!(f, "{median:10.digits$} {unit:<5} ({least:.digits$} - {most:.digits$}, {count} {runs})")
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wanted::AtMost(limit) => write!(f, "<= {limit}"),
            Wanted::AtLeast(limit) => write!(f, ">= {limit}"),
        }
    }
}

/// Prints a line: what was measured, the figure, and what is wanted of it.
pub(crate) fn print(what: &str, figure: &Spread, wanted: Option<Wanted>) {
    let Some(wanted) = wanted else { return println!("{what:<56} {figure}") };
    let is_met = match wanted {
        Wanted::AtMost(limit) => figure.median <= limit,
        Wanted::AtLeast(limit) => figure.median >= limit,
    };
    let verdict = if is_met { "met" } else { "not met" };
    println!("{what:<56} {:<42} wanted {wanted}: {verdict}", figure.to_string());
}
