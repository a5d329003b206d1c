//! `glob` and `globs`: all files that a pattern matches.

use super::{Count, Form, LocationKind};

#[derive(Debug)]
pub(super) struct Globs;

impl LocationKind for Globs {
    fn keys(&self) -> &'static [(&'static str, Count)] {
        &[("glob", Count::One), ("globs", Count::AtLeastOne)]
    }

    fn form(&self) -> Form {
        Form::Glob
    }
}
