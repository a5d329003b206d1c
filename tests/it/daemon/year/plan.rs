//! The days of a year, and the troubles of each.

use jiff::civil::date;

use super::clock::{DAY, HOUR, day, last_sunday};
use crate::daemon::receiver::Mood;

/// A day.
#[derive(Clone, Copy)]
pub(super) struct Day {
    /// Ten past ten, from 1970 on.
    pub(super) morning: i64,
    /// The number of commits.
    pub(super) commits: usize,
    /// The daemon is killed while it works, and not only told to reload.
    pub(super) is_killed: bool,
    /// The seconds by which the clock is wrong for a while.
    pub(super) wrong: Option<i64>,
    /// The mood of the webhook's receiver.
    pub(super) web: Mood,
    /// True if the command fails.
    pub(super) is_told_dead: bool,
    /// The repositories that cannot be reached: `c` is not in the settings, `m` has no source.
    pub(super) without: &'static [&'static str],
    /// True if the daemon loses its mirror.
    pub(super) loses_mirror: bool,
    /// The minutes of the night that are lived through, in UTC.
    pub(super) night: &'static [i64],
}

/// More than a year.
const YEAR: i64 = 366 * DAY;

/// The wrong clocks.
const WRONG: [i64; 6] = [YEAR, -5 * HOUR, -YEAR, 5 * DAY, -8 * HOUR, -40 * 60];

/// The days of each other month on which the daemon is killed.
const KILLS: [usize; 9] = [1, 5, 8, 12, 14, 17, 22, 25, 28];

/// A day on which nothing happens.
pub(super) fn quiet(number: i64, commits: usize) -> Day {
    Day {
        morning: number * DAY + 10 * HOUR + 10 * 60,
        commits,
        is_killed: false,
        wrong: None,
        web: Mood::Good,
        is_told_dead: false,
        without: &[],
        loses_mirror: false,
        night: &[],
    }
}

/// A year with so many commits.
pub(super) fn year(commits: usize) -> Vec<Day> {
    let first = day(date(2026, 1, 1));
    let nights = [last_sunday(2026, 3), last_sunday(2026, 10)];
    let day = |i: usize| {
        let (month, of_month) = (i / 30, i % 30);
        let number = first + i64::try_from(i).unwrap();
        let some = commits * (i + 1) / 365 - commits * i / 365;
        Day {
            is_killed: month % 2 == 0 && KILLS.contains(&of_month),
            wrong: [(3, 0), (19, 1)].iter().find(|(at, _)| *at == of_month).map(|(_, n)| WRONG[(2 * month + n) % 6]),
            web: if (2..5).contains(&of_month) {
                [Mood::Broken, Mood::Silent, Mood::Rude][month % 3]
            } else {
                Mood::Good
            },
            is_told_dead: (9..14).contains(&of_month),
            without: match i % 20 {
                5..8 | 15..18 => &["c"],
                11..13 => &["m"],
                _ => &[],
            },
            loses_mirror: month % 4 == 2 && of_month == 22,
            night: if nights.contains(&number) { &[30, 60, 90, 120] } else { &[] },
            ..quiet(number, some)
        }
    };
    (0..365).map(day).collect()
}

/// Five days with so many commits each, among them the change to summer time.
pub(super) fn days(commits: usize) -> Vec<Day> {
    let spring = last_sunday(2026, 3);
    let mut days: Vec<Day> = (-3..2).map(|i| quiet(spring + i, commits)).collect();
    days[0].is_told_dead = true;
    days[1].is_killed = true;
    days[1].without = &["c"];
    days[2].wrong = Some(YEAR);
    days[2].web = Mood::Broken;
    days[3].wrong = Some(-YEAR);
    days[3].night = &[60];
    days[4].is_killed = true;
    days[4].without = &["m"];
    days
}
