//! Checks `profiles:`, the files and other sources of node profiles.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::raw_profiles::{ProfileEntry as RawEntry, ProfileSource, Profiles, PuppetDb};
use super::source::SourceFile;
use super::{Settings, SettingsError};
use crate::delivery::Webhook;

/// The default time limit of an answer and the most, in seconds.
const TIMEOUT: (f64, f64) = (60.0, 3600.0);

/// The default age from which a source is asked again and the most, in hours.
const REFRESH: (f64, f64) = (1.0, 1_000_000.0);

/// An entry of `profiles`.
#[derive(Debug, Clone, PartialEq)]
pub enum ProfileEntry {
    /// A file, a folder or a glob.
    Files(PathBuf),
    /// Another source.
    Source(SourceSetting),
}

/// A source of profiles other than files.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceSetting {
    /// A `PuppetDB`.
    PuppetDb(PuppetDbSetting),
}

/// A `PuppetDB`, and the nodes to ask it for.
#[derive(Debug, Clone, PartialEq)]
pub struct PuppetDbSetting {
    /// The address, with neither a path of the interface nor credentials.
    pub url: String,
    /// The filter of nodes, in Puppet's query language; all nodes if `None`.
    pub query: Option<String>,
    /// The token to send.
    pub token: Option<TokenSetting>,
    /// The files with the client's certificate and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// The file with the certificates of authorities, in place of the system's.
    pub authorities: Option<PathBuf>,
    /// The time limit of an answer.
    pub timeout: Duration,
    /// The age from which profiles are fetched again.
    pub refresh: Duration,
}

/// The place of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenSetting {
    /// A file.
    File(PathBuf),
    /// A variable of the environment.
    Variable(String),
}

impl ProfileEntry {
    /// Returns the entry for a path that a flag names.
    pub fn files(path: impl Into<PathBuf>) -> ProfileEntry {
        ProfileEntry::Files(path.into())
    }
}

impl fmt::Display for ProfileEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProfileEntry::Files(path) => write!(f, "{}", path.display()),
            ProfileEntry::Source(SourceSetting::PuppetDb(setting)) => write!(f, "PuppetDB at {}", setting.url),
        }
    }
}

impl Settings {
    /// Returns the paths of profiles, without the other sources.
    pub fn profile_paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.profiles.iter().filter_map(|entry| match entry {
            ProfileEntry::Files(path) => Some(path),
            ProfileEntry::Source(_) => None,
        })
    }
}

/// Checks all entries.
pub(super) fn check(source: &SourceFile<'_>, raw: Profiles) -> Result<Vec<ProfileEntry>, SettingsError> {
    let is_list = source.lines.value(["profiles"]).is_some_and(|value| value.as_array().is_some());
    let check = |(number, entry): (usize, RawEntry)| match entry {
        RawEntry::Path(path) => Ok(ProfileEntry::Files(source.folder.join(path))),
        RawEntry::Source(raw) => Checked { source, number: is_list.then(|| number.to_string()) }.check(*raw),
    };
    raw.0.into_iter().enumerate().map(check).collect()
}

/// One entry.
struct Checked<'a> {
    source: &'a SourceFile<'a>,
    /// The number in the list, or `None` if it is no list.
    number: Option<String>,
}

impl Checked<'_> {
    fn invalid(&self, names: &[&str], text: impl Into<String>) -> SettingsError {
        let names: Vec<&str> =
            ["profiles"].into_iter().chain(self.number.as_deref()).chain(names.iter().copied()).collect();
        self.source.invalid(&names, text)
    }

    fn check(&self, raw: ProfileSource) -> Result<ProfileEntry, SettingsError> {
        if raw.names().len() != 1 {
            return Err(
                self.invalid(&[], "an entry of 'profiles' is a path, or a hash with exactly one source: puppetdb")
            );
        }
        let ProfileSource { puppetdb } = raw;
        let puppetdb = puppetdb.map(|raw| self.puppetdb(raw)).transpose()?.map(SourceSetting::PuppetDb);
        let none = || self.invalid(&[], "an entry of 'profiles' needs a source");
        puppetdb.map(ProfileEntry::Source).ok_or_else(none)
    }

    fn puppetdb(&self, raw: PuppetDb) -> Result<PuppetDbSetting, SettingsError> {
        let wrong =
            |name: &str, text: &str| self.invalid(&["puppetdb", name], format!("'{name}' of 'puppetdb' {text}"));
        let file = |path: String| self.source.folder.join(path);
        let url = server(&raw.url).map_err(|text| wrong("url", &text))?;
        let token = match (raw.token_file, raw.token_env) {
            (None, None) => None,
            (Some(path), None) => Some(TokenSetting::File(file(path))),
            (None, Some(name)) => Some(TokenSetting::Variable(name)),
            (Some(_), Some(_)) => return Err(wrong("token_env", "is one too many: there is 'token_file'")),
        };
        let certificate = match (raw.cert, raw.key) {
            (None, None) => None,
            (Some(cert), Some(key)) => Some((file(cert), file(key))),
            (Some(_), None) => return Err(wrong("cert", "needs 'key', the file with its private key")),
            (None, Some(_)) => return Err(wrong("key", "needs 'cert', the file with its certificate")),
        };
        if (token.is_some() || certificate.is_some()) && !url.starts_with("https:") {
            return Err(wrong("url", "must begin with https:// if a token or a certificate is sent"));
        }
        Ok(PuppetDbSetting {
            url,
            query: raw.query.filter(|query| !query.trim().is_empty()),
            token,
            certificate,
            authorities: raw.ca.map(file),
            timeout: self.time("puppetdb", "timeout", raw.timeout, TIMEOUT, 1.0)?,
            refresh: self.time("puppetdb", "refresh", raw.refresh, REFRESH, 3600.0)?,
        })
    }

    /// Returns a time of so many `seconds` each, or the default.
    fn time(
        &self,
        of: &str,
        name: &str,
        value: Option<f64>,
        (default, most): (f64, f64),
        seconds: f64,
    ) -> Result<Duration, SettingsError> {
        let value = value.unwrap_or(default);
        let is_allowed = (0.0..=most).contains(&value) && (name == "refresh" || value > 0.0);
        let time = is_allowed.then_some(value * seconds).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        time.ok_or_else(|| {
            let unit = if name == "refresh" { "hours" } else { "seconds" };
            let text = format!("'{name}' of '{of}' must be a number of {unit} up to {most}, not {value}");
            self.invalid(&[of, name], text)
        })
    }
}

/// Returns an address without a slash at its end.
fn server(text: &str) -> Result<String, String> {
    let url = Webhook::check(text).map_err(|error| error.to_string())?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not have a password: name the file of a token in 'token_file'".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() || url.path().contains("/pdb") {
        return Err("must be the server's alone, such as https://puppetdb.example.com:8081".to_owned());
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}
