//! `hierad review` against servers made from the forges' published descriptions of their APIs, which refuse whatever
//! those do not allow.

mod daemon;
mod description;
mod elsewhere;
mod fetching;
pub(crate) mod hooked;
mod life;
mod links;
mod policies;
mod quarantine;
mod races;
mod saved;
mod scene;
mod server;
mod strangers;
mod trouble;
