//! The keys that test data is encrypted for: nobody's, made by `tests/puppet/eyaml.rb`.

use std::io;
use std::path::PathBuf;

use hierad::hiera::host::HostAccess;

/// A world in which the test keys are in `/keys`, and two of them in environment variables.
#[derive(Debug)]
pub(crate) struct TestKeys;

/// The place of a test key.
pub(crate) fn key_file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/eyaml/keys").join(name)
}

impl HostAccess for TestKeys {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        std::fs::read(key_file(path.strip_prefix("/keys/").ok_or(io::ErrorKind::NotFound)?))
    }

    fn variable(&self, name: &str) -> Option<String> {
        let file = match name {
            "EYAML_PRIVATE_KEY" => "default.key.pem",
            "EYAML_PUBLIC_KEY" => "default.pub.pem",
            _ => return None,
        };
        std::fs::read_to_string(key_file(file)).ok()
    }
}
