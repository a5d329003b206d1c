//! Repositories of every kind, revisions, history and trees, each against what the `git` command says.

mod history;
mod kinds;
mod merges;
mod names;
mod revisions;
mod trees;
