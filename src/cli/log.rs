//! Logging set-up: to standard error, by `-v` or `HIERAD_LOG`.

use tracing_subscriber::EnvFilter;

use super::progress::Progress;

/// Starts logging: warnings by default, `-v` and `-vv` for more, `HIERAD_LOG` as `tracing` filters are written. The line of
/// `progress` makes way.
pub(super) fn start(verbose: u8, progress: Progress) {
    let default = match verbose {
        0 => "warn",
        1 => "hierad=info,warn",
        _ => "hierad=debug,info",
    };
    let filter = EnvFilter::try_from_env("HIERAD_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    let log =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(move || progress.stderr()).with_target(false);
    _ = log.try_init();
}
