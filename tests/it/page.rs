//! The page: what its views say, and to whom.

mod agreement;
mod browser;
mod hostile;
mod html;
mod names;
