//! hierad shows what a commit to a Puppet Hiera data repository really does to every node.
pub mod diagnostic;
pub mod fleet;
pub mod hiera;
pub mod node;
pub mod settings;
pub mod snapshot;
pub mod tree;
pub mod value;
