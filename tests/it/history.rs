//! Histories of values: `log`, `blame` and `bisect` say what comes out if each commit is resolved by itself.

mod brute;
mod commands;
mod daemon;
mod former;
pub(crate) mod site;
