//! Checks `limits:`, the resources that hierad may use for what others commit.

use std::time::Duration;

use super::source::SourceFile;
use super::{SettingsError, raw};
use crate::tree::FILE_LIMIT;
use crate::workers::RunLimits;

/// The default time of a run, in seconds.
const DEFAULT_TIME: f64 = 3600.0;

/// Divides the memory limit: parsed files may take one such part, and reading files another.
const FILES_DIVISOR: usize = 4;

/// Divides the memory limit: the texts made on one side of a run may take one such part. The report contains them,
/// too.
const TEXTS_DIVISOR: usize = 16;

/// The resources that hierad may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The size of the largest file that is read, in bytes.
    pub file: u64,
    /// The maximum cost of the keys of a run.
    pub run: RunLimits,
    /// The time of a run.
    pub time: Duration,
    /// The memory of the process, in bytes.
    pub memory: Option<usize>,
}

impl Default for Limits {
    fn default() -> Limits {
        let time = Duration::from_secs_f64(DEFAULT_TIME);
        Limits { file: FILE_LIMIT, run: RunLimits::default(), time, memory: None }
    }
}

impl Limits {
    /// Returns the part of the memory limit that files may take; `usize::MAX` if there is no limit.
    pub fn memory_of_files(&self) -> usize {
        self.memory.map_or(usize::MAX, |memory| memory / FILES_DIVISOR)
    }
}

pub(crate) fn check(source: &SourceFile<'_>, raw: &raw::Limits) -> Result<Limits, SettingsError> {
    let wrong = |name: &str, text: String| source.invalid(&["limits", name], format!("'{name}' of 'limits' {text}"));
    let size = |name: &str, value: &Option<serde_yaml::Value>| {
        let Some(value) = value else { return Ok(None) };
        let bytes = value.as_u64().or_else(|| value.as_str().and_then(size)).filter(|bytes| *bytes > 0);
        let text = || "must be a number of bytes, or a size such as 64MiB".to_owned();
        bytes.map(Some).ok_or_else(|| wrong(name, text()))
    };
    let seconds = raw.time.unwrap_or(DEFAULT_TIME);
    let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
    let to_usize = |bytes: Option<u64>| bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    let memory = to_usize(size("memory", &raw.memory)?);
    let run = RunLimits {
        steps: raw.steps.map(std::num::NonZeroUsize::get),
        text_ceiling: memory.map(|memory| memory / TEXTS_DIVISOR),
    };
    Ok(Limits {
        file: size("file", &raw.file)?.unwrap_or(FILE_LIMIT),
        run,
        time: time.ok_or_else(|| wrong("time", format!("must be a number of seconds, not {seconds}")))?,
        memory,
    })
}

/// Parses a size such as `64MiB`.
fn size(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let shift = match unit.trim() {
        "" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}
