//! What the system tells the process: to end, or to read its settings again.

use std::io;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    /// To end, in good order.
    End,
    /// To read the settings again.
    Reload,
}

#[cfg(unix)]
pub(super) use unix::Signals;

#[cfg(unix)]
mod unix {
    use tokio::signal::unix::{Signal as Source, SignalKind, signal};

    use super::{Signal, io};

    /// SIGINT and SIGTERM end the process, SIGHUP has it read its settings again.
    pub(in crate::cli) struct Signals {
        interrupt: Source,
        terminate: Source,
        hang_up: Source,
    }

    impl Signals {
        pub(in crate::cli) fn new() -> io::Result<Signals> {
            Ok(Signals {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
                hang_up: signal(SignalKind::hangup())?,
            })
        }

        /// The next one.
        pub(in crate::cli) async fn next(&mut self) -> Signal {
            let signal = tokio::select! {
                _ = self.interrupt.recv() => Signal::End,
                _ = self.terminate.recv() => Signal::End,
                _ = self.hang_up.recv() => Signal::Reload,
            };
            if signal == Signal::End {
                tracing::info!("told to end");
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
