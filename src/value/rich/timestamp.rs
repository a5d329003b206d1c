//! A point in time as text.
//!
//! Source: `pops/time/timestamp.rb`.

/// The nanoseconds of a second.
pub const SECOND: i128 = 1_000_000_000;

/// The seconds of a day.
pub const DAY: i128 = 86_400;

/// `2020-01-31T12:00:00.000000000 UTC`.
pub fn text(time: i128) -> String {
    let (seconds, nanos) = (time.div_euclid(SECOND), time.rem_euclid(SECOND));
    let (days, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let year = if year < 0 { format!("-{:04}", -year) } else { format!("{year:04}") };
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09} UTC")
}

/// Returns the Gregorian date of a day counted from 1970. Internally, years begin in March and form eras of 400.
fn date(days: i128) -> (i128, i128, i128) {
    const ERA: i128 = 146_097;
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(ERA), shifted.rem_euclid(ERA));
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year + era * 400 + i128::from(month <= 2), month, day)
}

/// Returns the day, counted from 1970 on, of a Gregorian date; the day of the month may be beyond its end.
pub fn days(year: i128, month: i128, day: i128) -> i128 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let shifted_month = (month + 9) % 12;
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_each_other() {
        for day in (-1_000_000..1_000_000).step_by(97) {
            let (year, month, of_month) = date(day);
            assert_eq!(days(year, month, of_month), day);
        }
        assert_eq!(text(0), "1970-01-01T00:00:00.000000000 UTC");
    }
}
