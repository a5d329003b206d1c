//! What commands that look at one revision and tell what they find have in common.

use clap::{Args, ValueEnum};

/// Which revision to look at, and how to tell.
#[derive(Debug, Args)]
pub(super) struct Inspection {
    /// The revision; '.' is the checked-out files
    #[arg(value_name = "REV", default_value = "HEAD")]
    pub(super) revision: String,
    /// How to write
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(super) format: Format,
}

/// For people, or for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Text,
    Json,
}
