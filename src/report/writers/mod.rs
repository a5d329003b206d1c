//! The formats of a report. A writer decides nothing: everything it writes is in the report.

pub(super) mod annotation;
pub(super) mod format;
pub mod github;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod sarif;
pub mod text;
