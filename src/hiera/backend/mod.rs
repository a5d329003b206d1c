//! Data provider functions: the implementations of a level's `data_hash`, `lookup_key` or `data_dig`.
//!
//! [`DataFile`] is a parsed file of `yaml_data`, `json_data` or `hocon_data`. [`DataFiles`] is the store that parses
//! each content once, and only the changed part of a file's new version. [`KeyQuota`] sets files aside if a revision
//! has too many keys. [`DeclaredFunction`] is the settings' declaration of a function that hierad does not have.
//! [`eyaml`] opens encrypted texts.

mod converted;
pub mod eyaml;
mod file;
mod files;
mod functions;
pub mod host;
mod key_quota;
mod mentions;
mod otherwise;
mod packed;
mod reading;
mod version;

pub use converted::ConvertedFiles;
pub use file::{ANOTHER_CONTENT, DataFile, Format};
pub use files::{DataFiles, FileId, FileMemory, ParsedFiles};
pub use functions::{
    Answer, Backends, Bridge, Call, Code, Command, CommandBackend, DeclaredFunction, Folder, NestedLookup, Runner,
};
pub use key_quota::KeyQuota;
pub use mentions::Mentions;

use super::LookupError;
use super::config::{Function, FunctionKind};
use crate::diagnostic::Subject;

/// The implementation of a level's function.
#[derive(Debug, Clone)]
pub enum Backend {
    /// A parsed file for each location.
    Files(Format),
    /// A parsed file for each location, whose texts contain encrypted blocks.
    Eyaml(Format),
    /// A declared function.
    Declared(DeclaredFunction),
    /// A class of Hiera 3 that is not installed: it finds nothing.
    Absent,
    /// A call that always fails in this way.
    Fails(LookupError),
}

/// The backends that come with Hiera 3 and hiera-eyaml. All others are assumed not to be installed.
const INSTALLED_BACKENDS: [&str; 3] = ["eyaml", "json", "yaml"];

/// The function of hiera-eyaml.
const EYAML: &str = "eyaml_lookup_key";

impl Backend {
    /// Returns the backend of `function`. `declared` has the functions of the settings, and `only_path` is true if
    /// the function is passed nothing but a path.
    pub fn of(function: &Function, declared: &Backends, only_path: bool, config_path: &str) -> Backend {
        let name = &function.loaded_name();
        if let Some(declared) = self::declared(function, declared) {
            return Backend::Declared(declared.clone());
        }
        if let Some(format) = Format::of_function(name).filter(|_| function.kind != FunctionKind::Hiera3Backend) {
            return match function.kind {
                FunctionKind::DataHash if only_path => Backend::Files(format),
                FunctionKind::DataHash => Backend::Fails(LookupError::bare(format!(
                    "'{name}' one of 'path', 'paths' 'glob', 'globs' or 'mapped_paths' must be declared in hiera.yaml when using this data_hash function"
                ))),
                _ => Backend::Fails(LookupError::puppet(format!("'{name}' expects 2 arguments, got 3"))),
            };
        }
        match (&**name, function.kind) {
            (_, FunctionKind::Hiera3Backend) if INSTALLED_BACKENDS.contains(&&*name.to_lowercase()) => {
                let error = LookupError::unknown(format!("the function '{name}' is not supported"));
                Backend::Fails(error.about(Subject::Function(function.name.clone())))
            }
            (_, FunctionKind::Hiera3Backend) => Backend::Absent,
            (EYAML, FunctionKind::LookupKey) => Backend::Eyaml(Format::Yaml),
            (EYAML, FunctionKind::DataDig) => Backend::Fails(LookupError::puppet(format!(
                "'{name}' parameter 'key' expects a String value, got Tuple"
            ))),
            (EYAML, _) => Backend::Fails(LookupError::puppet(format!("'{name}' expects 3 arguments, got 2"))),
            _ => {
                let (kind, name) = (function.kind.tag(), &function.name);
                let text = format!("Unable to find '{kind}' function named '{name}' (file: {config_path})");
                Backend::Fails(LookupError::bare(text).about(Subject::Function(name.clone())))
            }
        }
    }
}

/// Returns true for a function of Puppet or hiera-eyaml, which reads only the paths of its level.
pub fn is_installed(function: &Function) -> bool {
    let name = function.loaded_name();
    Format::of_function(&name).is_some() || name == EYAML
}

/// Returns true if a level's function is the site's own and not declared in the settings.
pub fn is_own(function: &Function, declared: &Backends) -> bool {
    !is_installed(function) && self::declared(function, declared).is_none()
}

/// Returns the settings' declaration of a function. They may name it as `hiera.yaml` does or as Puppet's loaders do.
fn declared<'d>(function: &Function, declared: &'d Backends) -> Option<&'d DeclaredFunction> {
    declared.get(&*function.name).or_else(|| declared.get(&*function.loaded_name()))
}
