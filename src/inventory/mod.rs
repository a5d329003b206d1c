//! Node profiles from elsewhere than files: sources that are asked over the network, and the files that keep their
//! answers.
//!
//! A source is fetched into a file of hierad's own, one profile a line, below the git directory ([`Store`]); profiles
//! are then read from it as from any other file. An answer counts for some time, `refresh` in the settings. If a source
//! cannot be asked, the last answer stays in use, and callers are told of it.
//!
//! [`Inventory::open`] makes one [`ProfileSource`](crate::node::ProfileSource) of all entries of `profiles`.

mod entries;
mod error;
mod fact_names;
mod fetched;
mod http;
mod puppetdb;
mod store;

pub use entries::{Inventory, OpenError, Opened};
pub use error::FetchError;
pub use fact_names::FactNames;
pub use fetched::SourceFiles;
pub use store::{Header, Store, Stored};
