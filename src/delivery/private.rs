//! What no log may show.

use std::fmt;

/// An address with a token in it, a header, a key: it is written nowhere by accident.
#[derive(Clone)]
pub struct Private<T>(pub T);

impl<T> fmt::Debug for Private<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(not shown)")
    }
}
