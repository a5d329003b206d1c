//! hierad shows what a commit to a Puppet Hiera data repository really does to every node.
pub mod daemon;
pub mod diagnostic;
pub mod git;
pub mod tree;
pub mod value;
