//! Decides if Hiera 3 answers for a repository instead of Puppet.
//!
//! Puppet ignores a hiera.yaml of version 3 in an environment, so a repository without any other is probably not an
//! environment. Unless the settings decide, such a file is read as Hiera 3 reads it if nothing points to Puppet's
//! layers: neither an environment.conf next to the file nor a global layer.

use std::sync::Arc;

use super::loader::{ConfigFile, Loader, read};
use crate::diagnostic::{Diagnostic, Place};
use crate::hiera::config::Config;
use crate::hiera::{LookupError, Reader};
use crate::tree::{Target, TreeError, follow};

impl Loader<'_> {
    /// Returns the configuration of a repository for Hiera 3, or `None` if Puppet reads it. `is_environment` is true
    /// if there is an environment.conf.
    pub(super) fn hiera3(
        &mut self,
        file: &ConfigFile<'_>,
        is_environment: bool,
    ) -> Result<Option<Result<Arc<Config>, LookupError>>, TreeError> {
        let reader = self.options.reader;
        if reader == Reader::Puppet {
            return Ok(None);
        }
        let path = file.path;
        let parsed = || {
            let none = || LookupError::puppet(format!("Config file {path} not found")).at(Place::file(path));
            let content = read(&**file.tree, path)?.ok_or_else(none);
            let (takes_aliases, notation) = (self.options.hiera3_yaml_aliases, self.options.ruby.notation());
            let parse = |content: Vec<u8>| Config::parse_hiera3(&content, path, takes_aliases, notation).map(Arc::new);
            Ok(Some(content.and_then(parse)))
        };
        if reader == Reader::Hiera3 {
            return parsed();
        }
        let Target::File(_, id) = follow(&**file.tree, path)? else { return Ok(None) };
        if !self.read(file, id)?.is_hiera3 {
            return Ok(None);
        }
        if reader == Reader::Auto && (is_environment || self.options.global.is_some()) {
            let text = "Puppet reads a hiera.yaml of version 3 in the global layer only; --hiera 3 takes the repository as one of Hiera 3, --hiera by-version where its hiera.yaml is of version 3";
            self.add_note(file, text);
            return Ok(None);
        }
        let text = "read as the configuration of Hiera 3; Puppet would ignore it in an environment, as --hiera 5 does";
        self.add_note(file, text);
        parsed()
    }

    fn add_note(&mut self, file: &ConfigFile<'_>, text: &str) {
        self.diagnostics.push(Diagnostic::note("hiera-3", Some(Place::file(file.path)), text));
    }
}
