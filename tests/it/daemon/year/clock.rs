//! The clock of the daemon, which the test sets, and the runs of scheduled work by it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::civil::{Date, Weekday, date};

use crate::support::preload::Library;

pub(super) const HOUR: i64 = 3600;
pub(super) const DAY: i64 = 24 * HOUR;

/// A clock for programs that are started with it.
pub(super) struct Clock {
    library: Library,
    path: PathBuf,
    file: File,
}

impl Clock {
    /// Makes a clock that shows the right time, or returns `None` where there is no C compiler.
    pub(super) fn new(path: PathBuf) -> Option<Clock> {
        let library = Library::of(include_str!("clock.c"))?;
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        file.write_all_at(&[0; 16], 0).unwrap();
        Some(Clock { library, path, file })
    }

    /// Has a program go by it.
    pub(super) fn give(&self, command: &mut Command) {
        command.env("LD_PRELOAD", self.library.path()).env("CLOCK", &self.path);
    }

    /// Sets it to a time in seconds since 1970. It goes on from there.
    pub(super) fn set(&self, time: i64) {
        self.write(time - real(), 0);
    }

    /// Has it stand still at a time, until it is set.
    pub(super) fn stop(&self, time: i64) {
        self.write(time - real(), time);
    }

    fn write(&self, ahead: i64, still: i64) {
        let [ahead, still] = [ahead, still].map(i64::to_ne_bytes);
        self.file.write_all_at(&[ahead, still].concat(), 0).unwrap();
    }

    pub(super) fn now(&self) -> i64 {
        let mut ahead = [0; 8];
        self.file.read_exact_at(&mut ahead, 0).unwrap();
        real() + i64::from_ne_bytes(ahead)
    }
}

fn real() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap()
}

/// The runs of scheduled work that are to be expected, as the clock is set.
pub(super) struct Expected {
    /// Returns the first time at which it is due after another one.
    next: fn(i64) -> i64,
    last: i64,
    pub(super) runs: usize,
}

impl Expected {
    /// Those of work that was not due before `start`.
    pub(super) fn new(next: fn(i64) -> i64, start: i64) -> Expected {
        Expected { next, last: start, runs: 0 }
    }

    /// The daemon looks at the clock at this time.
    pub(super) fn at(&mut self, now: i64) {
        let gap = (self.next)(self.last) - self.last;
        if now < self.last && self.last - now >= gap / 2 {
            // It was ahead.
            self.last = now;
        }
        if (self.next)(self.last) <= now {
            self.runs += 1;
            self.last = now;
        }
    }
}

/// The next full hour.
pub(super) fn hourly(after: i64) -> i64 {
    (after.div_euclid(HOUR) + 1) * HOUR
}

/// The next time that is half past two in Berlin or, where that is skipped, when the clocks go on; the first of two.
pub(super) fn nightly(after: i64) -> i64 {
    let day = after.div_euclid(DAY);
    (day..day + 3).map(half_past_two).find(|due| *due > after).unwrap()
}

fn half_past_two(day: i64) -> i64 {
    let year = Timestamp::from_second(day * DAY).unwrap().to_zoned(jiff::tz::TimeZone::UTC).year();
    let (spring, autumn) = (last_sunday(year, 3), last_sunday(year, 10));
    let utc = if day == spring {
        HOUR
    } else if day > spring && day <= autumn {
        HOUR / 2
    } else {
        HOUR + HOUR / 2
    };
    day * DAY + utc
}

/// The day, from 1970 on, on which the clocks are changed in this month.
pub(super) fn last_sunday(year: i16, month: i8) -> i64 {
    day(date(year, month, 1).nth_weekday_of_month(-1, Weekday::Sunday).unwrap())
}

/// The number of a day from 1970 on.
pub(super) fn day(date: Date) -> i64 {
    let days = date.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp().as_second();
    days.div_euclid(DAY)
}

/// A time for people.
pub(super) fn show(time: i64) -> String {
    Timestamp::from_second(time).unwrap().to_string()
}

#[test]
fn half_past_two_comes_once_a_day() {
    let mut time = "2026-03-28T12:00:00Z".parse::<Timestamp>().unwrap().as_second();
    let mut shown = Vec::new();
    for _ in 0..2 {
        time = nightly(time);
        shown.push(show(time));
    }
    assert_eq!(shown, ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]);
    let autumn = "2026-10-24T12:00:00Z".parse::<Timestamp>().unwrap().as_second();
    assert_eq!(show(nightly(autumn)), "2026-10-25T00:30:00Z");
    assert_eq!(show(nightly(nightly(autumn))), "2026-10-26T01:30:00Z");
}
