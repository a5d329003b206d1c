//! Gives Hiera access to this machine's files and environment variables.

use std::io;

use crate::hiera::host::HostAccess;

/// The files and the environment variables of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Host;

impl HostAccess for Host {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}
