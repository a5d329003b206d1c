//! The arguments that commands share which inspect one revision.

use clap::{Args, ValueEnum};

/// The revision to inspect, and the format of the findings.
#[derive(Debug, Args)]
pub(super) struct Inspection {
    /// The revision; '.' is the checked-out files
    #[arg(value_name = "REV", default_value = "HEAD")]
    pub(super) revision: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(super) format: Format,
}

/// A format for people, or for programs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    #[default]
    Text,
    Json,
}
