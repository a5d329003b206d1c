//! Logging set-up: to standard error, by `-v` or `HIERAD_LOG`.

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

use super::{Global, output};

/// How log lines look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people.
    #[default]
    Text,
    /// An object a line.
    Json,
}

/// Starts logging: warnings by default, `-v` and `-vv` for more, `HIERAD_LOG` as `tracing` filters are written. The line of
/// progress makes way.
pub(super) fn start(global: &Global, format: Format) {
    let progress = global.progress.clone();
    let default = match global.verbose {
        0 => "warn",
        1 => "hierad=info,warn",
        _ => "hierad=debug,info",
    };
    let filter = EnvFilter::try_from_env("HIERAD_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(move || progress.stderr());
    let log = log.with_target(false).with_ansi(output::log_color(global));
    _ = match format {
        Format::Text => log.try_init(),
        Format::Json => log.json().flatten_event(true).with_span_list(false).try_init(),
    };
}
