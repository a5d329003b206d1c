//! The arguments shared by the commands that inspect one revision.

use clap::{Args, ValueEnum};

/// The revision to inspect, and the format of the findings.
#[derive(Debug, Args)]
pub(in crate::cli) struct Inspection {
    /// The revision; '.' is the checked-out files
    #[arg(value_name = "REV", default_value = "HEAD")]
    pub(in crate::cli) revision: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) format: Format,
}

/// A format for people, or for programs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Format {
    #[default]
    Text,
    Json,
}
