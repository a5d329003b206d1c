//! The binary as its users call it, on real repositories.

mod backends;
mod branches;
mod bridge;
mod cache;
mod check;
mod compare;
mod demo;
mod diff;
mod environments;
#[cfg(unix)]
mod fingerprint_key;
mod help;
mod hiera3;
mod init_accepts;
mod inputs;
mod keys_counted;
mod lacking_facts;
mod layers;
mod lookup;
mod lookup_is;
mod merges_in_manifests;
mod misnamed_files;
mod module_repositories;
mod narrowed;
mod odd_keys;
mod other_versions;
mod pager;
mod places;
mod profile_documents;
mod profiles;
mod puppetfile_modules;
mod read_otherwise;
mod render;
mod settings;
mod standing;
mod submodules;
mod table;
mod trouble;
#[cfg(unix)]
mod trust;
mod uncompared;
#[cfg(unix)]
mod untracked;
mod verdict;
mod verify;
#[cfg(unix)]
mod verify_reach;
mod version;
mod watch;
mod what_if;
