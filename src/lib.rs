//! hierad shows what a commit to a Puppet Hiera data repository really does to every node.
pub mod diagnostic;
pub mod diff;
pub mod fleet;
pub mod hiera;
pub mod node;
pub mod report;
pub mod tree;
pub mod value;
