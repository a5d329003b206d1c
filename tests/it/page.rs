//! The page: what its views say, and to whom.

mod agreement;
mod hostile;
mod html;
