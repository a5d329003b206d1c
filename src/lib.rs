//! hierad shows what a commit to a Puppet Hiera data repository really does to every node.

pub mod value;

pub mod diagnostic;

pub mod workers;

pub mod tree;

pub mod disk;

pub mod git;

pub mod node;

pub mod hiera;

pub mod disclosure;

pub mod fleet;

pub mod diff;

pub mod report;

pub mod snapshot;

pub mod pattern;

pub mod schedule;

pub mod pipeline;

pub mod delivery;

pub mod settings;

pub mod daemon;

pub mod cli;
