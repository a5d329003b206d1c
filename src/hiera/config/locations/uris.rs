//! `uri` and `uris`: places that only the function can read.

use super::{Count, Form, LocationKind};

#[derive(Debug)]
pub(super) struct Uris;

impl LocationKind for Uris {
    fn keys(&self) -> &'static [(&'static str, Count)] {
        &[("uri", Count::One), ("uris", Count::AtLeastOne)]
    }

    fn form(&self) -> Form {
        Form::Uri
    }
}
