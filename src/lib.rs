//! hierad shows what a commit to a Puppet Hiera data repository really does to every node.
//!
//! A [`tree`] of files from [`git`] and a [`node`]'s facts give [`hiera`] a hierarchy; lookups give the [`fleet`] its effective
//! values; two of those make a [`diff`]; the diff becomes a [`report`]; a [`snapshot`] holds a node's values. The [`pipeline`]
//! is one such pass; the [`daemon`] makes one for each commit, and the [`cli`] is how people and scripts ask for one.
//!
//! | module | owns |
//! |---|---|
//! | [`value`] | Puppet's data; YAML as Psych reads it, JSON, Ruby's texts of values |
//! | [`diagnostic`] | what is wrong, and where |
//! | [`tree`] | a tree of files, wherever it is stored |
//! | [`git`] | repositories, revisions, commits as trees, branches |
//! | [`node`] | node profiles, sets of nodes |
//! | [`hiera`] | Hiera and nothing else: configuration, hierarchy, lookup, interpolation, merges, explanation |
//! | [`fleet`] | every key on every node of one revision |
//! | [`diff`] | two revisions' effective values, and what changes at the leaves |
//! | [`report`] | the plain-data report and its writers |
//! | [`snapshot`] | per-node snapshots |
//! | [`pipeline`] | one pass over one or two revisions |
//! | [`settings`] | hierad.yaml |
//! | [`daemon`] | watching branches |
//! | [`cli`] | arguments, subcommands, exit codes |
//!
//! Each module may use those above it in this table and none below. What is wrong with data is a result, never a failure:
//! values travel with diagnostics, and an error of one key stays with that key and node. An answer is Puppet's, or says that
//! it is unknown.

pub mod value;

pub mod diagnostic;

pub mod tree;

pub mod git;

pub mod node;

pub mod hiera;

pub mod fleet;

pub mod snapshot;

pub mod pipeline;

pub mod settings;

pub mod cli;
