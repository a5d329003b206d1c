//! Functions that hierad does not have: a command or Puppet itself answers for them.

pub mod bridge;
pub mod command;
