//! The signals that end the daemon or make it reload its settings.

use std::io;

/// A request to the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    /// Shut down cleanly.
    End,
    /// Reload the settings.
    Reload,
}

#[cfg(unix)]
pub(in crate::app) use unix::Signals;

#[cfg(unix)]
mod unix {
    use tokio::signal::unix::{Signal as Source, SignalKind, signal};

    use super::{Signal, io};

    /// SIGINT and SIGTERM end the process, SIGHUP makes it reload its settings.
    pub(in crate::app) struct Signals {
        interrupt: Source,
        terminate: Source,
        hang_up: Source,
    }

    impl Signals {
        pub(in crate::app) fn new() -> io::Result<Signals> {
            Ok(Signals {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
                hang_up: signal(SignalKind::hangup())?,
            })
        }

        /// Waits for the next request.
        pub(in crate::app) async fn next(&mut self) -> Signal {
            let signal = tokio::select! {
                _ = self.interrupt.recv() => Signal::End,
                _ = self.terminate.recv() => Signal::End,
                _ = self.hang_up.recv() => Signal::Reload,
            };
            if signal == Signal::End {
                tracing::info!("a signal asks the daemon to end");
            }
            signal
        }
    }
}

/// Ctrl-C ends the process.
#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub(super) fn new() -> io::Result<Signals> {
        Ok(Signals)
    }

    pub(super) async fn next(&mut self) -> Signal {
        _ = tokio::signal::ctrl_c().await;
        Signal::End
    }
}
