//! Node profiles: from files, and from sources that are asked over the network or by a program, with the files that
//! keep their answers.
//!
//! A source is fetched into a file of hierad's own, one profile a line, below the git directory ([`Store`]); profiles
//! are then read from it as from any other file. An answer counts for some time, `refresh` in the settings. If a source
//! cannot be asked, the last answer stays in use, and callers are told of it.
//!
//! A daemon goes on with the answers that its last reports were made with ([`AnswerSet`]), until it has told what newer
//! ones change.
//!
//! Entries are joined by the names of nodes, later ones over earlier ones: see `joined`. [`Overview`] and
//! [`Inventory::describe`] tell which of them says what of a node.
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
pub use answers::store::{Header, Store, Stored};
pub use entries::{Inventory, OpenError};
pub use error::FetchError;
pub use fact_names::FactNames;
pub use fetched::{Request, SourceFiles, age_in_words};
pub use joined::EntryProfile;
pub use overview::{Described, EntryState, KnownNode, Origin, Overview};
pub use sourced::Opened;
