//! Values that no log may show.

use std::fmt;

/// A value with a secret in it, such as an address with a token, a header or a key. Its debug form does not show it.
#[derive(Clone)]
pub struct Private<T>(pub T);

impl<T> fmt::Debug for Private<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(not shown)")
    }
}
