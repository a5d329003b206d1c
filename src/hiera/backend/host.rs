//! Access to the host, for keys that are on disk or in the process's environment.
//!
//! The edge of the program implements [`HostAccess`]; [`NoHost`] is a host without anything.

use std::fmt;
use std::io;

/// The parts of the host that hierarchies need.
pub trait HostAccess: fmt::Debug + Send + Sync {
    /// Returns the content of the file at the absolute `path`.
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;

    /// Returns the variable `name` of the process's environment, or `None` if it is not set.
    fn variable(&self, name: &str) -> Option<String>;
}

/// A host without files and variables.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHost;

impl HostAccess for NoHost {
    fn read(&self, _path: &str) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn variable(&self, _name: &str) -> Option<String> {
        None
    }
}
