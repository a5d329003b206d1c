//! Failures of a forge's HTTP API, with advice on what to do.

use std::time::Duration;

/// A request to a forge that failed.
#[derive(Debug, thiserror::Error)]
pub enum ForgeError {
    /// The client cannot be made from its options.
    #[error("{0}")]
    Options(String),
    /// The forge did not answer.
    #[error("{call}: {reason}")]
    Unreachable {
        /// The method and the address.
        call: String,
        /// The reason, in one line.
        reason: String,
    },
    /// The forge answered, but refused the request.
    #[error("{call}: the forge answers {status}{}{}", separated(": ", message), separated("; ", advice))]
    Refused {
        /// The method and the address.
        call: String,
        /// The status.
        status: u16,
        /// Its message, in one line.
        message: String,
        /// The advice for whoever set this up; empty if there is none.
        advice: String,
        /// The wait that it asks for, if the same request may succeed later.
        retry: Option<Duration>,
    },
    /// The answer does not have the documented form.
    #[error("{call}: the answer is not what the forge's API describes: {reason}")]
    Unexpected {
        /// The method and the address.
        call: String,
        /// The reason.
        reason: String,
    },
}

impl ForgeError {
    /// Returns the status of a refusal, or 0 if there was no answer.
    pub fn status(&self) -> u16 {
        if let ForgeError::Refused { status, .. } = self { *status } else { 0 }
    }

    /// Returns true if the token seems to be invalid or to lack a permission.
    pub fn is_forbidden(&self) -> bool {
        matches!(self.status(), 401 | 403 | 404) && self.retry().is_none()
    }

    /// Returns the minimum time to wait before the same request may succeed, or `None` if it never will.
    pub fn retry(&self) -> Option<Duration> {
        match self {
            ForgeError::Unreachable { .. } => Some(Duration::ZERO),
            ForgeError::Refused { retry, .. } => *retry,
            ForgeError::Options(_) | ForgeError::Unexpected { .. } => None,
        }
    }
}

/// Returns `separator` and `text`, or nothing if the text is empty.
fn separated(separator: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{separator}{text}") }
}
