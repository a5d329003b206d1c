//! Checks `backends:`, the declarations of functions that hierad does not have.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::disk;
use crate::functions::bridge::PuppetBridge;
use crate::functions::command::BackendCommand;
use crate::hiera::backend::{Backends, Command, DeclaredFunction, Runner};
use crate::puppet::yaml;
use crate::settings::Origin;
use crate::settings::raw::{CodeRevision, OneOrMany, PromisedFiles};
use crate::settings::source::SourceFile;
use crate::settings::{SettingsError, raw};
use crate::value::Hash;

/// The default time limit of an answer, in seconds.
const DEFAULT_TIMEOUT: f64 = 10.0;

/// The maximum size of a file of values, in bytes.
const MAX_VALUES_SIZE: u64 = 64 << 20;

/// The longest time limit of an answer, in seconds.
const MAX_TIMEOUT: f64 = 3600.0;

/// Functions that hierad does not have, as the settings declare them.
#[derive(Debug, Clone, Default)]
pub struct Declared {
    /// The declarations.
    pub functions: Backends,
    /// The files of values that they name.
    pub value_files: Vec<PathBuf>,
    /// The words of their commands, each with the folder that the command runs in.
    pub commands: Vec<(PathBuf, String)>,
    /// The bridges of those that the machine's Puppet runs. Their repository is set later.
    pub bridges: Vec<Arc<PuppetBridge>>,
}

/// Checks all declarations.
pub(super) fn check_all(
    source: &SourceFile<'_>,
    raw: BTreeMap<String, raw::Backend>,
) -> Result<Declared, SettingsError> {
    let mut declared = Declared::default();
    for (name, raw) in raw {
        declared.value_files.extend(raw.values.as_ref().map(|path| source.folder.join(path)));
        declared.commands.extend(
            raw.command.iter().flat_map(OneOrMany::as_slice).map(|word| (source.folder.to_owned(), word.clone())),
        );
        let function = check(source, &name, raw, &mut declared.bridges)?;
        declared.functions.insert(name, function);
    }
    Ok(declared)
}

/// Checks the declaration of the function `name`. Adds its bridge to `bridges` if the machine's Puppet runs it.
fn check(
    source: &SourceFile<'_>,
    name: &str,
    raw: raw::Backend,
    bridges: &mut Vec<Arc<PuppetBridge>>,
) -> Result<DeclaredFunction, SettingsError> {
    let invalid = |text: &str| source.invalid(&["backends", name], format!("backend '{name}' {text}"));
    let is_run = raw.command.is_some() || raw.puppet.is_some();
    if !is_run && (raw.timeout.is_some() || raw.scope.is_some()) {
        return Err(invalid("has no 'command' or 'puppet', so 'timeout' and 'scope' have no effect"));
    }
    if raw.puppet.is_none() && raw.ruby.is_some() {
        return Err(invalid("has no 'puppet', so 'ruby' has no effect"));
    }
    if raw.puppet.is_none() && raw.reads.is_some() {
        return Err(invalid("has no 'puppet', so 'reads' has no effect"));
    }
    match (raw.not_found, &raw.values, &raw.command, &raw.puppet) {
        (Some(true), None, None, None) => Ok(DeclaredFunction::NotFound),
        (None | Some(false), Some(path), None, None) => {
            let path = source.folder.join(path);
            if !path.is_file() {
                return Err(invalid(&format!("needs the file {}, which is not there", path.display())));
            }
            Ok(DeclaredFunction::Values(Arc::new(read_values(source, &path)?)))
        }
        (None | Some(false), None, Some(_), None) => command(source, name, raw),
        (None | Some(false), None, None, Some(revision)) => {
            let revision = match revision {
                CodeRevision::Default(true) => None,
                CodeRevision::Named(revision) if !revision.is_empty() => Some(revision.clone()),
                _ => return Err(invalid("needs 'puppet: true' or 'puppet: REVISION'")),
            };
            let limit = limit(source, name, &raw)?;
            let ruby = raw.ruby.as_deref().map(|ruby| source.program(ruby).into());
            let bridge = Arc::new(PuppetBridge::new(revision, ruby, source.folder.to_owned(), limit));
            bridges.push(bridge.clone());
            let scope = scope(source, name, raw.scope)?;
            let reads_path = raw.reads == Some(PromisedFiles::Path);
            Ok(DeclaredFunction::Command(Command { scope, runner: Runner::Bridge(bridge), reads_path }))
        }
        _ => {
            Err(invalid("needs one of 'not_found: true', 'values: FILE', 'command: [PROGRAM, ...]' and 'puppet: true'"))
        }
    }
}

fn command(source: &SourceFile<'_>, name: &str, raw: raw::Backend) -> Result<DeclaredFunction, SettingsError> {
    let limit = limit(source, name, &raw)?;
    let mut words = raw.command.unwrap_or_default().into_vec().into_iter();
    let Some(program) = words.next().filter(|program| !program.is_empty()) else {
        return Err(invalid(source, name, "command", "needs a program"));
    };
    let scope = scope(source, name, raw.scope)?;
    let program = source.program(&program);
    let backend = BackendCommand::new(program, words.collect(), source.folder.to_owned(), limit);
    Ok(DeclaredFunction::Command(Command { scope, runner: Runner::Program(Arc::new(backend)), reads_path: false }))
}

fn invalid(source: &SourceFile<'_>, name: &str, setting: &str, text: &str) -> SettingsError {
    source.invalid(&["backends", name, setting], format!("backend '{name}': '{setting}' {text}"))
}

/// Checks the time limit of an answer.
fn limit(source: &SourceFile<'_>, name: &str, raw: &raw::Backend) -> Result<Duration, SettingsError> {
    let timeout = raw.timeout.unwrap_or(DEFAULT_TIMEOUT);
    if !(timeout > 0.0 && timeout <= MAX_TIMEOUT) {
        let text = format!("must be a number of seconds up to {MAX_TIMEOUT}, not {timeout}");
        return Err(invalid(source, name, "timeout", &text));
    }
    Ok(Duration::from_secs_f64(timeout))
}

/// Checks the names of variables.
fn scope(source: &SourceFile<'_>, name: &str, scope: Option<Vec<String>>) -> Result<Arc<[String]>, SettingsError> {
    let scope = scope.unwrap_or_default();
    if let Some(bad) = scope.iter().find(|name| crate::hiera::key::split(name).is_none()) {
        return Err(invalid(source, name, "scope", &format!("has '{bad}', which is not the name of a variable")));
    }
    Ok(scope.into())
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

#[cfg(test)]
mod tests {
    use crate::app::settings::tests::refuses_trusted;

    #[test]
    fn faults_are_told() {
        for (backend, error) in [
            ("{puppet: false}", "needs 'puppet: true' or 'puppet: REVISION'"),
            ("{puppet: true, not_found: true}", "needs one of"),
            ("{ruby: x}", "has no 'puppet', so 'ruby' has no effect"),
            ("{not_found: true, reads: path}", "has no 'puppet', so 'reads' has no effect"),
            ("{puppet: true, reads: all}", "expected `path`"),
            ("{puppet: true, timeout: 0}", "'timeout' must be"),
            ("{puppet: [x]}", "must be true or a revision"),
        ] {
            refuses_trusted(&format!("backends: {{'site::own': {backend}}}\n"), error);
        }
    }
}
