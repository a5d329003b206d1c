//! The `hierad` command.

fn main() {}
