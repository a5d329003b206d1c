//! `path` and `paths`: files, in the order in which they are declared.

use super::{Count, Form, LocationKind};

#[derive(Debug)]
pub(super) struct Paths;

impl LocationKind for Paths {
    fn keys(&self) -> &'static [(&'static str, Count)] {
        &[("path", Count::One), ("paths", Count::AtLeastOne)]
    }

    fn form(&self) -> Form {
        Form::Path
    }
}
