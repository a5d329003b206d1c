//! Gives Hiera access to this machine's files and environment variables.

use std::io;
use std::path::Path;

use crate::disk::read_regular;
use crate::hiera::backend::host::HostAccess;

/// The maximum size, in bytes, of a file that is read. Files of keys have a few thousand.
const MAX_FILE_SIZE: u64 = 1 << 20;

/// The files and the environment variables of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Host;

impl HostAccess for Host {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        read_regular(Path::new(path), MAX_FILE_SIZE)
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}
