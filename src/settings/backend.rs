//! Checks `backends:`, the declarations of functions that hierad does not have.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::origin::Origin;
use super::source::SourceFile;
use super::{SettingsError, raw};
use crate::disk;
use crate::hiera::backend::{Command, DeclaredFunction};
use crate::pipeline::backend_command::BackendCommand;
use crate::puppet::yaml;
use crate::value::Hash;

/// The default time limit of an answer, in seconds.
const DEFAULT_TIMEOUT: f64 = 10.0;

/// The most bytes of a file of values.
const MAX_VALUES_SIZE: u64 = 64 << 20;

/// The longest time limit of an answer, in seconds.
const MAX_TIMEOUT: f64 = 3600.0;

/// Checks the declaration of the function `name`.
pub(super) fn check(source: &SourceFile<'_>, name: &str, raw: raw::Backend) -> Result<DeclaredFunction, SettingsError> {
    let invalid = |text: &str| source.invalid(&["backends", name], format!("backend '{name}' {text}"));
    let for_commands = raw.timeout.is_some() || raw.scope.is_some();
    match (raw.not_found, &raw.values, &raw.command) {
        (Some(true), None, None) | (None | Some(false), Some(_), None) if for_commands => {
            Err(invalid("has no 'command', so 'timeout' and 'scope' mean nothing"))
        }
        (Some(true), None, None) => Ok(DeclaredFunction::NotFound),
        (None | Some(false), Some(path), None) => {
            let path = source.folder.join(path);
            if !path.is_file() {
                return Err(invalid(&format!("needs the file {}, which is not there", path.display())));
            }
            Ok(DeclaredFunction::Values(Arc::new(read_values(source, &path)?)))
        }
        (None | Some(false), None, Some(_)) => command(source, name, raw),
        _ => Err(invalid("needs one of 'not_found: true', 'values: FILE' and 'command: [PROGRAM, ...]'")),
    }
}

fn command(source: &SourceFile<'_>, name: &str, raw: raw::Backend) -> Result<DeclaredFunction, SettingsError> {
    let invalid = |setting: &str, text: String| {
        source.invalid(&["backends", name, setting], format!("backend '{name}': '{setting}' {text}"))
    };
    let mut words = raw.command.unwrap_or_default().into_iter();
    let Some(program) = words.next().filter(|program| !program.is_empty()) else {
        return Err(invalid("command", "needs a program".into()));
    };
    let timeout = raw.timeout.unwrap_or(DEFAULT_TIMEOUT);
    if !(timeout > 0.0 && timeout <= MAX_TIMEOUT) {
        return Err(invalid("timeout", format!("must be a number of seconds up to {MAX_TIMEOUT}, not {timeout}")));
    }
    let scope = raw.scope.unwrap_or_default();
    if let Some(bad) = scope.iter().find(|name| crate::hiera::key::split(name).is_none()) {
        return Err(invalid("scope", format!("has '{bad}', which is no name of a variable")));
    }
    let program = source.program(&program);
    let limit = Duration::from_secs_f64(timeout);
    let backend = BackendCommand::new(program, words.collect(), source.folder.to_owned(), limit);
    Ok(DeclaredFunction::Command(Command { scope: scope.into(), backend: Arc::new(backend) }))
}

/// Reads a file of values by key.
fn read_values(source: &SourceFile<'_>, path: &Path) -> Result<Hash, SettingsError> {
    let content = match source.origin {
        Origin::Trusted => disk::read_regular(path, MAX_VALUES_SIZE),
        Origin::Tree(place) => disk::read_below(&place.root, path, MAX_VALUES_SIZE),
    };
    let content = content.map_err(|source| SettingsError::Read { path: path.into(), source })?;
    let parsed = yaml::parse(&content);
    let invalid = |line: Option<u32>, text: &str| SettingsError::Invalid {
        path: path.into(),
        line: line.map(|line| line as usize),
        text: text.to_owned(),
    };
    match (parsed.fault, parsed.value.as_hash()) {
        (Some(fault), _) => Err(invalid(Some(fault.line), &fault.text)),
        (None, Some(hash)) => Ok(hash.clone()),
        (None, None) => Err(invalid(None, "a file of values must be a hash of keys and values")),
    }
}
