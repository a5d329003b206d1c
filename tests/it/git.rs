//! Repositories of every kind, revisions, history and trees, each against what the `git` command says.

mod history;
mod kinds;
mod merges;
mod names;
mod packs;
mod revisions;
mod trees;
