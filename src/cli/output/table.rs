//! Tables of text, and ages.

use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use unicode_width::UnicodeWidthStr;

use crate::cli::output::{HEADING, painted};
use crate::inventory::age_in_words;
use crate::visible::visible;

/// The maximum width to which a column is padded.
const WIDEST: usize = 60;

/// Writes rows in columns as wide as their widest entry. The last one is not padded; the first row is the heading.
pub(in crate::cli) fn write(rows: &[Vec<String>], color: bool, out: &mut dyn Write) -> std::io::Result<()> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| Some(row.get(column)?.width())).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(|column| width(column).min(WIDEST)).collect();
    for (number, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (at, (entry, width)) in row.iter().zip(&widths).enumerate() {
            let entry = visible(entry).to_string();
            line.push_str(&entry);
            if at + 1 < row.len() {
                line.push_str(&" ".repeat(width.saturating_sub(entry.width()) + 2));
            }
        }
        writeln!(out, "{}", painted(color && number == 0, HEADING, line.trim_end()))?;
    }
    Ok(())
}

/// Returns the seconds since 1970.
pub(in crate::cli) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs().cast_signed())
}

/// Returns the age of a time, in seconds since 1970, such as `3 h`.
pub(in crate::cli) fn age(time: i64) -> String {
    age_in_words(Duration::from_secs((now() - time).max(0).cast_unsigned()))
}
