//! Lists the effective settings, with the source of each, and the refused ones, for `hierad settings`.

use std::ffi::OsStr;
use std::path::PathBuf;

use super::{not_located, settings_files};
use crate::app::{Overrides, Result};
use crate::settings::{Origin, Refusal, Written, is_judging, is_of_daemon, names};

/// The flags that can be given as environment variables, too.
const VARIABLES: [(&str, &str); 2] = [("--config", "HIERAD_CONFIG"), ("--fingerprint-key", "HIERAD_FINGERPRINT_KEY")];

/// The settings of a run.
#[derive(Debug)]
pub struct Counting {
    /// The files that were read, in order of precedence; true for those that are trusted.
    pub files: Vec<(PathBuf, bool)>,
    /// The settings, in the order in which they are checked, then flags that are not settings.
    pub settings: Vec<Counted>,
    /// The refused settings and files.
    pub refused: Vec<Refusal>,
}

/// An effective setting.
#[derive(Debug)]
pub struct Counted {
    /// The name.
    pub setting: String,
    /// The value as JSON; `None` for a default, and for flags without a value.
    pub value: Option<String>,
    /// The place that it comes from.
    pub source: Source,
}

/// The place that a setting comes from.
#[derive(Debug)]
pub enum Source {
    /// A flag.
    Flag(&'static str),
    /// A variable of the environment.
    Variable(&'static str),
    /// A file.
    File {
        /// The path.
        path: PathBuf,
        /// The line, counted from 1, if it is known.
        line: Option<usize>,
        /// True if the setting applies as it is in the base revision.
        is_of_base: bool,
    },
    /// No place: the default applies.
    Default,
}

/// Returns the settings of a run with these flags. Fails if they cannot be used.
pub fn counting(overrides: &Overrides) -> Result<Counting> {
    let repository = overrides.repository().map_err(|error| not_located(error, overrides))?;
    let found = settings_files::find(overrides, &repository)?;
    overrides.apply_to(&mut found.settings.clone())?;
    let mut written = Vec::new();
    for file in &found.files {
        written.push((file, file.counting()?));
    }
    let mut flags = flags(overrides);
    let mut settings = Vec::new();
    for name in names() {
        let of_flags: Vec<Counted> = flags.extract_if(.., |flag| flag.setting == name).collect();
        let is_this_setting =
            |setting: &&Written| setting.setting == name && (found.daemon_settings_apply || !is_of_daemon(name));
        let of_file = written.iter().find_map(|(file, all)| Some((*file, all.iter().find(is_this_setting)?)));
        match of_file {
            _ if !of_flags.is_empty() => settings.extend(of_flags),
            None => settings.push(Counted { setting: name.to_owned(), value: None, source: Source::Default }),
            Some((file, Written { line, value, .. })) => {
                let is_of_base = file.origin != Origin::Trusted && is_judging(name);
                let source = Source::File { path: file.path.clone(), line: *line, is_of_base };
                settings.push(Counted { setting: name.to_owned(), value: Some(value.clone()), source });
            }
        }
    }
    settings.extend(flags);
    let files = found.files.iter().map(|file| (file.path.clone(), file.origin == Origin::Trusted)).collect();
    Ok(Counting { files, settings, refused: found.refused })
}

/// Returns the flags, each under the setting that it overrides. The value of a fingerprint key is left out.
fn flags(overrides: &Overrides) -> Vec<Counted> {
    let given = overrides.given_flags().into_iter().map(|(flag, value)| {
        let is_of = |(variable_flag, variable): &&(&str, &str)| {
            *variable_flag == flag && std::env::var_os(variable).as_deref() == value.as_deref()
        };
        let variable = VARIABLES.iter().find(is_of).map(|(_, variable)| Source::Variable(variable));
        let value = value.as_deref().map(OsStr::to_string_lossy);
        let value = value.map(|value| serde_json::Value::from(&*value).to_string());
        Counted { setting: setting_of(flag), value, source: variable.unwrap_or(Source::Flag(flag)) }
    });
    let key = overrides.fingerprint_key.as_ref().map(|key| {
        let [_, (flag, variable)] = VARIABLES;
        let is_variable = std::env::var(variable).is_ok_and(|value| value == *key);
        let source = if is_variable { Source::Variable(variable) } else { Source::Flag(flag) };
        Counted { setting: setting_of(flag), value: None, source }
    });
    given.chain(key).collect()
}

/// Returns the setting that a flag overrides.
fn setting_of(flag: &str) -> String {
    match flag {
        "--pkcs7-private-key" | "--pkcs7-public-key" | "--no-keys" => "eyaml".to_owned(),
        _ => flag.trim_start_matches('-').replace('-', "_"),
    }
}
