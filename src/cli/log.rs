//! Logging set-up: to standard error, by `-v` or `HIERAD_LOG`.

use std::fmt::Display;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

use super::{Global, output};

/// The format of log lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people.
    #[default]
    Text,
    /// An object a line.
    Json,
}

/// The target of lines that no filter hides.
const NOTICE: &str = "hierad::notice";

/// Tells the user a line that no filter hides, and that scripts may wait for.
pub(super) fn tell(format: Format, line: &dyn Display) {
    match format {
        Format::Text => anstream::eprintln!("hierad: {line}"),
        Format::Json => tracing::info!(target: NOTICE, "{line}"),
    }
}

/// Tells the reason why the process ends.
pub(super) fn fail(format: Format, line: &dyn Display) {
    match format {
        Format::Text => anstream::eprintln!("hierad: {line}"),
        Format::Json => tracing::error!(target: NOTICE, "{line}"),
    }
}

/// Starts logging: warnings by default, more with `-v` and `-vv`, or by the `tracing` filter in `HIERAD_LOG`. Lines
/// go above the line of progress.
pub(super) fn start(global: &Global, format: Format) {
    let progress = global.progress.clone();
    let default = match global.verbose {
        0 => "warn",
        1 => "hierad=info,warn",
        _ => "hierad=debug,info",
    };
    let filter = EnvFilter::try_from_env("HIERAD_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    let filter = match format!("{NOTICE}=info").parse() {
        Ok(notice) => filter.add_directive(notice),
        Err(_) => filter,
    };
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(move || progress.stderr());
    let log = log.with_target(false).with_ansi(output::log_color(global));
    _ = match format {
        Format::Text => log.try_init(),
        Format::Json => log.json().flatten_event(true).with_span_list(false).try_init(),
    };
}
