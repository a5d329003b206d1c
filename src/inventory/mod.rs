//! Node profiles from files, and from sources that are queried over the network or by running a program, with the
//! files that keep their answers.
//!
//! The answer of a source is kept in a file below the git directory, one profile per line ([`Store`]), which is then
//! read like any other file of profiles. It is used for the time that `refresh` in the settings allows. If a source
//! cannot be asked, its last answer stays in use, and callers get a notice.
//!
//! A daemon keeps using the answers of its last reports ([`AnswerSet`]) until it has reported what newer ones change.
//!
//! Entries are joined by the names of nodes, later ones over earlier ones: see `joined`. [`Overview`] and
//! [`Inventory::describe`] show which entry each part of a node comes from.
//!
//! [`Inventory::open`] makes one [`ProfileSource`](crate::node::ProfileSource) of all entries of `profiles`.

mod answers;
mod entries;
mod error;
mod fact_names;
mod factsets;
mod fetched;
pub mod files;
mod joined;
mod overview;
mod site_pp;
mod sourced;
mod sources;

pub use answers::answer_set::AnswerSet;
pub use answers::changes::FactsChange;
pub use answers::store::{Header, Store, Stored};
pub use entries::{Inventory, OpenError};
pub use error::FetchError;
pub use fact_names::FactNames;
pub use fetched::{Request, SourceFiles, age_in_words};
pub use joined::EntryProfile;
pub use overview::{Described, EntryState, KnownNode, Origin, Overview};
pub use sourced::Opened;
