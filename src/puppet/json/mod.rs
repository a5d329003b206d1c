//! JSON: data files read as Ruby's `json` 2.6 reads them, and values written canonically.

mod read;
mod select;
mod write;

pub use read::parse;
pub use select::select;
pub use write::{compact, indented, pretty, string, write, write_text};
