//! Failures to fetch profiles.

/// A source that cannot be asked, or whose answer cannot be used. Messages contain neither tokens nor passwords.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The source cannot be asked as the settings say.
    #[error("{0}")]
    Settings(String),
    /// There is no answer.
    #[error("there is no answer from {url}: {reason}")]
    Unreachable {
        /// The address.
        url: String,
        /// The reason.
        reason: String,
    },
    /// The server refuses.
    #[error("{url} answers {status}{body}{advice}", body = in_brackets(body_start), advice = advised(advice))]
    Refused {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The beginning of the answer, on one line.
        body_start: String,
        /// The remedy; empty if none is known.
        advice: &'static str,
    },
    /// The answer is not what it should be.
    #[error("{url} returns an unusable answer: {reason}")]
    Malformed {
        /// The address.
        url: String,
        /// The fault.
        reason: String,
    },
    /// A program fails for every node.
    #[error("{0}")]
    Program(String),
    /// The nodes changed during each attempt.
    #[error("{url}: the nodes changed between pages, {attempts} times in a row; try again later")]
    Changing {
        /// The address.
        url: String,
        /// The number of attempts.
        attempts: usize,
    },
    /// The answer cannot be kept.
    #[error("cannot keep the answer in {path}: {source}")]
    Store {
        /// The file or the folder.
        path: String,
        /// The reason.
        source: std::io::Error,
    },
}

fn in_brackets(body_start: &str) -> String {
    if body_start.is_empty() { String::new() } else { format!(" ({body_start})") }
}

fn advised(advice: &str) -> String {
    if advice.is_empty() { String::new() } else { format!(": {advice}") }
}
