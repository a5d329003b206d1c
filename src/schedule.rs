//! Schedules: cron expressions in a time zone. It knows no clock.

use std::time::SystemTime;

use croner::Cron;
use jiff::tz::TimeZone;
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
    #[error("'{expression}' is no cron expression, such as '30 6 * * 1-5': {reason}")]
    Expression {
        /// The expression as it was given.
        expression: String,
        /// The reason.
        reason: String,
    },
    /// The day that an expression means does not come.
    #[error("the time of the cron expression '{0}' never comes")]
    Never(String),
    /// There is no such time zone.
    #[error("there is no time zone '{0}': it needs a name such as Europe/Berlin")]
    Zone(String),
}

impl Schedule {
    /// Makes a schedule of the times that any of the `expressions` means: five fields as in crontab(5), six with
    /// seconds in front, or a word such as `@daily`. The times are those of `zone`, an IANA name, or of this system.
    ///
    /// A time in an hour that the clocks skip is due when they go on. A time in an hour that comes twice is due once,
    /// unless it is due each hour or more often.
    pub fn new<S: AsRef<str>>(expressions: &[S], zone: Option<&str>) -> Result<Schedule, ScheduleError> {
        let zone = match zone {
            Some(name) => TimeZone::get(name).map_err(|_| ScheduleError::Zone(name.to_owned()))?,
            None => TimeZone::system(),
        };
        let expressions = expressions.iter().map(|text| expression(text.as_ref()));
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
        let time = Zoned::new(Timestamp::try_from(time).ok()?, self.zone.clone());
        cron.find_next_occurrence(&time, false).ok().map(|next| next.timestamp().into())
    }
}

fn expression(text: &str) -> Result<Cron, ScheduleError> {
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
    fn what_is_no_schedule_is_told() {
        let error = |expression: &str, zone| Schedule::new(&[expression], zone).unwrap_err().to_string();
        assert!(error("every day", None).starts_with("'every day' is no cron expression, such as '30 6 * * 1-5': "));
        assert!(error("61 * * * *", None).starts_with("'61 * * * *' is no cron expression"));
        assert!(error("", None).starts_with("'' is no cron expression"));
        assert_eq!(error("0 0 30 2 *", None), "the time of the cron expression '0 0 30 2 *' never comes");
        assert_eq!(
            error("@daily", Some("Mars/Olympus")),
            "there is no time zone 'Mars/Olympus': it needs a name such as Europe/Berlin"
        );
    }
}
