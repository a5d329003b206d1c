//! Profiles from sources other than files, against servers that refuse whatever the documentation of the real ones does
//! not allow.

mod drift;
mod factsets;
mod nodes;
mod programs;
mod puppetdb;
mod refresh;
pub(crate) mod server;
mod settings;
mod site_pp;
mod table;
mod trouble;
mod two_sets;
