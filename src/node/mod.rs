//! Nodes: their profiles, the files that profiles come in, and sets of nodes.
//!
//! - [`NodeProfile`] is everything that a lookup needs to know about a machine; [`read_profiles`] reads it from files
//!   in many forms.
//! - [`ProfileSource`] provides profiles, and again whenever something new is [`Wanted`] of them.
//! - [`NodeSet`] is a set of the nodes of one fleet, numbered by [`NodeId`].
//!
//! Nothing here touches the disk or the network, and nothing knows about hierarchies.
//!
//! ```
//! use hierad::node::read_profiles;
//!
//! let file = b"name: web01.example.com\nfacts: {os: {family: Debian}}\nvariables: {role: web}\n";
//! let (profiles, errors) = read_profiles(file, "web01.yaml", "production");
//! assert!(errors.is_empty());
//! assert_eq!((&*profiles[0].name, &*profiles[0].environment), ("web01.example.com", "production"));
//! assert_eq!(profiles[0].trusted.get("domain"), Some(&"example.com".into()));
//! ```

mod catalog;
mod document;
mod fields;
mod keepsake;
mod members;
mod packed;
mod profile;
mod reader;
mod rows;
mod set;
mod source;
mod text;
mod time;
mod wanted;
mod what_if;

pub use catalog::{Catalog, Names};
pub(crate) use document::trusted_names;
pub(crate) use fields::CLASSES;
pub use fields::{FACTS, FIELDS, Field, REFUSAL, REFUSED_LATE, VARIABLES, is_refused};
pub use keepsake::{Keepsake, LeftOut};
pub use packed::{pack, unpack};
pub use profile::{NodeProfile, ProfileError};
pub use reader::{Form, ProfileReader, ReadProfiles, read_facts, read_profiles};
pub use rows::begins_with_fact_row;
pub(crate) use set::{NodeClasses, Partition};
pub use set::{NodeId, NodeSet};
pub use source::{Batch, ProfilePlace, ProfileSource};
pub use time::timestamp;
pub use wanted::Wanted;
pub use what_if::{Assignment, WhatIf};
