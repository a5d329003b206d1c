//! Schedules: cron expressions in a time zone. This module reads no clock.

use std::time::{Duration, SystemTime};

use croner::Cron;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, Zoned};

/// The times at which work is due.
#[derive(Debug, Clone)]
pub struct Schedule {
    expressions: Vec<Cron>,
    zone: TimeZone,
}

/// A schedule is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// An expression cannot be read.
    #[error("'{expression}' is not a cron expression such as '30 6 * * 1-5': {reason}")]
    Expression {
        /// The expression as it was given.
        expression: String,
        /// The reason.
        reason: String,
    },
    /// An expression never matches, such as one for 30 February.
    #[error("the cron expression '{0}' never matches any time")]
    Never(String),
    /// There is no such time zone.
    #[error("there is no time zone '{0}': use a name such as Europe/Berlin")]
    Zone(String),
}

impl Schedule {
    /// Makes a schedule of the times that any of the `expressions` matches: five fields as in crontab(5), six with
    /// seconds in front, or a word such as `@daily`. The times are those of `zone`, an IANA name, or of this system.
    ///
    /// Unless the expression matches in every hour, a time that the clocks skip is due at the end of the gap, and a
    /// time that they show twice is due once.
    pub fn new<S: AsRef<str>>(expressions: &[S], zone: Option<&str>) -> Result<Schedule, ScheduleError> {
        let zone = match zone {
            Some(name) => TimeZone::get(name).map_err(|_| ScheduleError::Zone(name.to_owned()))?,
            None => TimeZone::system(),
        };
        let expressions = expressions.iter().map(|text| parse_expression(text.as_ref()));
        let schedule = Schedule { expressions: expressions.collect::<Result<_, _>>()?, zone };
        let never = schedule.expressions.iter().find(|cron| schedule.next_of(cron, SystemTime::UNIX_EPOCH).is_none());
        match never {
            Some(cron) => Err(ScheduleError::Never(cron.as_str().to_owned())),
            None => Ok(schedule),
        }
    }

    /// Returns the first time after `time`, or `None` if there is none.
    pub fn next(&self, time: SystemTime) -> Option<SystemTime> {
        self.expressions.iter().filter_map(|cron| self.next_of(cron, time)).min()
    }

    /// Returns a time in the zone, in the form of RFC 3339.
    pub fn show(&self, time: SystemTime) -> String {
        let time = Timestamp::try_from(time).map(|time| Zoned::new(time, self.zone.clone()));
        time.map_or_else(|_| "never".to_owned(), |time| time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
    }

    fn next_of(&self, cron: &Cron, time: SystemTime) -> Option<SystemTime> {
        let time = Timestamp::try_from(time).ok()?;
        let local_time = time.to_zoned(self.zone.clone());
        if is_due_each_hour(cron) {
            return Some(cron.find_next_occurrence(&local_time, false).ok()?.timestamp().into());
        }
        // Searches local times, as if the zone's clocks were never set. Each of these times is due once.
        let mut clock = local_time.datetime();
        loop {
            let next = cron.find_next_occurrence(&clock.to_zoned(TimeZone::UTC).ok()?, false).ok()?;
            clock = next.datetime();
            let due = self.due(clock)?;
            if due > time {
                return Some(due.into());
            }
        }
    }

    /// Returns the moment at which a local time is due: the first one at which the clocks show it or, if they skip
    /// it, the end of the gap.
    fn due(&self, clock: DateTime) -> Option<Timestamp> {
        let moments = self.zone.to_ambiguous_timestamp(clock);
        let first = moments.earlier().ok()?;
        match moments.offset() {
            AmbiguousOffset::Gap { .. } => Some(self.zone.following(first).next()?.timestamp()),
            AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => Some(first),
        }
    }
}

/// Returns true if an expression matches in every hour, so that no run is missed if the clocks skip an hour.
fn is_due_each_hour(cron: &Cron) -> bool {
    cron.pattern.hours.values().len() == 24
}

/// The runs of scheduled work, by a clock that may be set forwards or backwards.
#[derive(Debug, Clone)]
pub struct Runs {
    /// The schedule.
    pub schedule: Schedule,
    /// The time of the last run.
    last: SystemTime,
}

impl Runs {
    /// Makes the runs of work that was last done at `last`.
    pub fn since(schedule: Schedule, last: SystemTime) -> Runs {
        Runs { schedule, last }
    }

    /// Returns the time of the next run, or `None` if there is none.
    pub fn next(&self) -> Option<SystemTime> {
        self.schedule.next(self.last)
    }

    /// Records a run that began at `start`.
    pub fn done(&mut self, start: SystemTime) {
        self.last = start;
    }

    /// Returns true, and goes on from `now`, if that is before the last run by at least half the time to the next
    /// one. Then the clock was ahead, and what is due from now on has not been done. A smaller difference is a small
    /// correction, and what is due again has already been done.
    pub fn put_right(&mut self, now: SystemTime) -> bool {
        let Ok(set_back) = self.last.duration_since(now) else { return false };
        let gap = self.next().and_then(|next| next.duration_since(self.last).ok());
        let was_ahead = !set_back.is_zero() && gap.is_none_or(|gap: Duration| set_back >= gap / 2);
        if was_ahead {
            self.last = now;
        }
        was_ahead
    }
}

fn parse_expression(text: &str) -> Result<Cron, ScheduleError> {
    let wrong = |reason: &dyn std::error::Error| ScheduleError::Expression {
        expression: text.to_owned(),
        reason: reason.to_string(),
    };
    text.parse().map_err(|error| wrong(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns at most `count` times after `start`, in UTC.
    fn times(expressions: &[&str], zone: &str, start: &str, count: usize) -> Vec<String> {
        let schedule = Schedule::new(expressions, Some(zone)).unwrap();
        let start = start.parse::<Timestamp>().unwrap().into();
        let next = |time: &SystemTime| schedule.next(*time);
        let times = std::iter::successors(Some(start), next).skip(1).take(count);
        times.map(|time| Timestamp::try_from(time).unwrap().to_string()).collect()
    }

    #[test]
    fn it_is_due_by_the_clocks_of_its_zone() {
        let berlin = times(&["30 6 * * 1-5"], "Europe/Berlin", "2026-11-20T05:30:00Z", 2);
        assert_eq!(berlin, ["2026-11-23T05:30:00Z", "2026-11-24T05:30:00Z"]);
        let schedule = Schedule::new(&["@daily"], Some("Asia/Kolkata")).unwrap();
        assert_eq!(schedule.show(SystemTime::UNIX_EPOCH), "1970-01-01T05:30:00+05:30");
        let utc = times(&["30 6 * * 1-5"], "UTC", "2026-11-20T05:30:00Z", 1);
        assert_eq!(utc, ["2026-11-20T06:30:00Z"]);
    }

    #[test]
    fn any_of_several_expressions_counts() {
        let both = times(&["0 3 * * *", "@hourly", "0 12 1 1 *"], "UTC", "2026-12-31T23:10:00Z", 2);
        assert_eq!(both, ["2027-01-01T00:00:00Z", "2027-01-01T01:00:00Z"]);
        assert_eq!(times(&["*/20 * * * * *"], "UTC", "2026-01-01T00:00:05Z", 1), ["2026-01-01T00:00:20Z"]);
    }

    #[test]
    fn what_clocks_skip_is_due_when_they_go_on_and_what_they_repeat_is_due_once() {
        let spring = times(&["30 2 * * *"], "Europe/Berlin", "2026-03-28T12:00:00Z", 2);
        assert_eq!(spring, ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]);
        let autumn = times(&["30 2 * * *"], "Europe/Berlin", "2026-10-24T12:00:00Z", 2);
        assert_eq!(autumn, ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]);
        let hours = times(&["0 * * * *"], "Europe/Berlin", "2026-10-24T23:00:00Z", 3);
        assert_eq!(hours, ["2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"]);
    }

    #[test]
    fn several_times_a_day_are_neither_lost_nor_doubled() {
        let twice = |start: &str| times(&["30 2,14 * * *"], "Europe/Berlin", start, 3);
        assert_eq!(
            twice("2026-03-28T12:00:00Z"),
            ["2026-03-28T13:30:00Z", "2026-03-29T01:00:00Z", "2026-03-29T12:30:00Z"]
        );
        assert_eq!(
            twice("2026-10-24T12:30:00Z"),
            ["2026-10-25T00:30:00Z", "2026-10-25T13:30:00Z", "2026-10-26T01:30:00Z"]
        );
        // The second time that the clocks show it is ignored, wherever the search begins.
        assert_eq!(twice("2026-10-25T01:10:00Z")[0], "2026-10-25T13:30:00Z");
        let often = times(&["*/20 1,2 * * *"], "Europe/Berlin", "2026-03-29T00:20:00Z", 3);
        assert_eq!(often, ["2026-03-29T00:40:00Z", "2026-03-29T01:00:00Z", "2026-03-29T23:00:00Z"]);
        // Midnight is skipped there.
        let daily = times(&["@daily"], "Africa/Cairo", "2026-04-23T12:00:00Z", 2);
        assert_eq!(daily, ["2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"]);
    }

    /// Returns the seconds at which an expression of minutes and hours is due in some days, by looking at each minute.
    fn looked_up(minutes: &[i8], hours: &[i8], zone: &TimeZone, days: (Timestamp, Timestamp)) -> Vec<i64> {
        let is_meant = |minute: i8, hour: i8| minutes.contains(&minute) && hours.contains(&hour);
        let shown = |second: i64| Timestamp::from_second(second).unwrap().to_zoned(zone.clone()).datetime();
        let (start, end) = (days.0.as_second(), days.1.as_second());
        let mut seen = std::collections::BTreeSet::new();
        let mut due = Vec::new();
        for second in (start..end).step_by(60) {
            let (now, before) = (shown(second), shown(second - 60));
            let is_new = seen.insert(now);
            let skipped =
                std::iter::successors(Some(before), |clock| clock.checked_add(jiff::Span::new().minutes(1)).ok());
            let mut skipped = skipped.skip(1).take_while(|clock| *clock < now);
            let is_due = is_meant(now.minute(), now.hour()) && (is_new || hours.len() == 24);
            if is_due || (hours.len() < 24 && skipped.any(|clock| is_meant(clock.minute(), clock.hour()))) {
                due.push(second);
            }
        }
        due
    }

    #[test]
    fn whatever_clocks_skip_and_repeat_nothing_is_lost_or_doubled() {
        let mut state = 7u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for (zone, change) in [
            ("Europe/Berlin", "2026-03-29T01:00:00Z"),
            ("Europe/Berlin", "2026-10-25T01:00:00Z"),
            ("America/New_York", "2026-11-01T06:00:00Z"),
            ("Africa/Cairo", "2026-04-23T22:00:00Z"),
            ("Africa/Cairo", "2026-10-29T21:00:00Z"),
            ("Australia/Lord_Howe", "2026-04-04T15:00:00Z"),
            ("Australia/Lord_Howe", "2026-10-03T15:30:00Z"),
            ("Antarctica/Troll", "2026-03-29T01:00:00Z"),
        ] {
            let (tz, change) = (TimeZone::get(zone).unwrap(), change.parse::<Timestamp>().unwrap());
            let days = (change - jiff::SignedDuration::from_hours(26), change + jiff::SignedDuration::from_hours(26));
            for _ in 0..12 {
                let mut some = |of: i8, most: u64| -> Vec<i8> {
                    (0..=below(most)).map(|_| i8::try_from(below(of.unsigned_abs().into())).unwrap()).collect()
                };
                let (minutes, mut hours) = (some(60, 3), some(4, 3));
                let mut text: Vec<String> = hours.iter().map(i8::to_string).collect();
                if hours.len() == 3 {
                    (hours, text) = ((0..24).collect(), vec!["*".to_owned()]);
                }
                let minutes_text: Vec<String> = minutes.iter().map(i8::to_string).collect();
                let cron = format!("{} {} * * *", minutes_text.join(","), text.join(","));
                let schedule = Schedule::new(&[&cron], Some(zone)).unwrap();
                let expected = looked_up(&minutes, &hours, &tz, days);
                // The search may begin at any time, since a daemon may be started whenever.
                for _ in 0..40 {
                    let second = days.0.as_second() + i64::try_from(below(52 * 3600)).unwrap();
                    let asked = Timestamp::from_second(second).unwrap();
                    let next = Timestamp::try_from(schedule.next(asked.into()).unwrap()).unwrap().as_second();
                    let wanted = expected.iter().find(|due| **due > second);
                    let is_right = wanted.map_or(next >= days.1.as_second(), |wanted| *wanted == next);
                    assert!(is_right, "{cron} in {zone} after {asked}: {next}, and not {wanted:?}");
                }
            }
        }
    }

    #[test]
    fn clocks_that_are_set_lose_and_double_no_run() {
        let at = |text: &str| SystemTime::from(text.parse::<Timestamp>().unwrap());
        let runs = |cron: &str, last: &str| Runs::since(Schedule::new(&[cron], Some("UTC")).unwrap(), at(last));
        // Set back a little: what is due again was done.
        let mut hourly = runs("@hourly", "2026-01-01T10:00:00Z");
        assert!(!hourly.put_right(at("2026-01-01T09:59:58Z")));
        assert_eq!(hourly.next(), Some(at("2026-01-01T11:00:00Z")));
        assert!(!hourly.put_right(at("2026-01-01T10:20:00Z")));
        // Set back further: the clock was ahead, perhaps by a year.
        for now in ["2026-01-01T09:10:00Z", "2025-01-01T09:10:00Z"] {
            let mut hourly = runs("@hourly", "2026-01-01T10:00:00Z");
            assert!(hourly.put_right(at(now)));
            assert_eq!(hourly.next(), Some(at(now) + Duration::from_mins(50)));
            assert!(!hourly.put_right(at(now)), "once");
        }
        // Set forward: what was skipped is made up for once.
        let mut hourly = runs("@hourly", "2026-01-01T10:00:00Z");
        assert!(hourly.next() < Some(at("2026-06-01T00:10:00Z")));
        hourly.done(at("2026-06-01T00:10:00Z"));
        assert_eq!(hourly.next(), Some(at("2026-06-01T01:00:00Z")));
    }

    #[test]
    fn what_is_no_schedule_is_told() {
        let error = |expression: &str, zone| Schedule::new(&[expression], zone).unwrap_err().to_string();
        assert!(error("every day", None).starts_with("'every day' is not a cron expression such as '30 6 * * 1-5': "));
        assert!(error("61 * * * *", None).starts_with("'61 * * * *' is not a cron expression"));
        assert!(error("", None).starts_with("'' is not a cron expression"));
        assert_eq!(error("0 0 30 2 *", None), "the cron expression '0 0 30 2 *' never matches any time");
        assert_eq!(
            error("@daily", Some("Mars/Olympus")),
            "there is no time zone 'Mars/Olympus': use a name such as Europe/Berlin"
        );
    }
}
