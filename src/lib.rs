//! hierad shows what a commit to a Puppet Hiera data repository really does to every node.
//!
//! The flow: a [`tree`] of files, from [`git`] or the [`disk`], and the facts of a [`node`] give [`hiera`] a hierarchy; its lookups
//! give the [`fleet`] its effective values; two revisions of those make a [`diff`]; that becomes a [`report`], beside the
//! [`snapshot`]s of a revision, and [`delivery`] carries it to where it is wanted. A [`pipeline`] is one pass through all of this:
//! the [`cli`] makes it once, the [`daemon`] for each commit. The [`app`] puts the parts together for a run of the program.
//!
//! [`puppet`] is the wall around emulation: all that Ruby, its libraries and Puppet's language do, byte for byte.
//!
//! Each module may use those above it in the list below, and none that stand below it; a test keeps that true.

pub mod value;

pub mod diagnostic;

pub mod workers;

pub mod tree;

pub mod puppet;

pub mod disk;

pub mod git;

pub mod event;

pub mod pattern;

pub mod node;

pub mod hiera;

pub mod disclosure;

pub mod fleet;

pub mod diff;

pub mod report;

pub mod snapshot;

pub mod schedule;

pub mod process;

pub mod pipeline;

pub mod delivery;

pub mod settings;

pub mod daemon;

pub mod app;

pub mod cli;
