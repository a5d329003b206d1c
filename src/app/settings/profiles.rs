//! Checks `profiles:`, the files and other sources of node profiles.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Settings;
use crate::delivery::Webhook;
use crate::settings::raw::profiles::{ProfileEntry as RawEntry, ProfileSource, Profiles, Program, PuppetDb, SitePp};
use crate::settings::source::SourceFile;
use crate::settings::{
    ProfileEntry, ProgramSetting, PuppetDbSetting, ServerSetting, SettingsError, SitePpSetting, SourceSetting,
    TokenSetting,
};

/// The default and the maximum time limit of a server's answer, in seconds.
const TIMEOUT: (f64, f64) = (60.0, 3600.0);

/// The default and the maximum time limit of a program's answer, in seconds.
const PROGRAM_TIMEOUT: (f64, f64) = (10.0, 3600.0);

/// The default and the minimum number of nodes in an answer. `PuppetDB` sorts all nodes for each answer, so few
/// answers are best.
const DEFAULT_PAGE: usize = 20_000;
const MIN_PAGE: usize = 20;

/// The default and the maximum age from which a source is asked again, in hours.
const REFRESH: (f64, f64) = (1.0, 1_000_000.0);

impl Settings {
    /// Returns the paths of profiles, without the other sources.
    pub fn profile_paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.profiles.iter().filter_map(|entry| match entry {
            ProfileEntry::Files(path) | ProfileEntry::Factsets(path) => Some(path),
            ProfileEntry::Cache(_) | ProfileEntry::SitePp(_) | ProfileEntry::Source(_) => None,
        })
    }

    /// Returns the words of the commands of profiles and backends, each with the folder where its command runs.
    pub fn commands(&self) -> impl Iterator<Item = (&Path, &str)> {
        let of_profiles = self.profiles.iter().filter_map(|entry| match entry {
            ProfileEntry::Source(SourceSetting::Enc(program) | SourceSetting::TrustedExternal(program)) => {
                Some(program)
            }
            _ => None,
        });
        let of_profiles = of_profiles.flat_map(|program| {
            let words = [&program.program].into_iter().chain(&program.arguments);
            words.map(|word| (program.folder.as_path(), word.as_str()))
        });
        of_profiles.chain(self.backends.commands.iter().map(|(folder, word)| (folder.as_path(), word.as_str())))
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
    /// The number in the list, or `None` if `profiles` is not a list.
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
                self.invalid(&[], "an entry of 'profiles' is a path, or a hash with exactly one source: puppetdb, enc, trusted_external, puppet_cache, factsets, site_pp")
            );
        }
        let ProfileSource { puppetdb, enc, trusted_external, puppet_cache, factsets, site_pp } = raw;
        if let Some(raw) = site_pp {
            return self.site_pp(raw).map(ProfileEntry::SitePp);
        }
        if let Some(path) = factsets {
            return Ok(ProfileEntry::Factsets(self.source.folder.join(path)));
        }
        let source = match (puppetdb, enc, trusted_external, puppet_cache) {
            (Some(raw), ..) => SourceSetting::PuppetDb(self.puppetdb(raw)?),
            (_, Some(raw), ..) => SourceSetting::Enc(self.program("enc", raw)?),
            (_, _, Some(raw), _) => SourceSetting::TrustedExternal(self.program("trusted_external", raw)?),
            (.., folder) => return Ok(ProfileEntry::Cache(self.source.folder.join(folder.unwrap_or_default()))),
        };
        Ok(ProfileEntry::Source(source))
    }

    fn site_pp(&self, raw: SitePp) -> Result<SitePpSetting, SettingsError> {
        let invalid = |text: String| self.invalid(&["site_pp", "role"], format!("'role' of 'site_pp' {text}"));
        let call = raw.role.map(|role| role.parse().map_err(invalid)).transpose()?;
        let separator = raw.separator.unwrap_or_else(|| "::".to_owned());
        Ok(SitePpSetting { file: self.source.folder.join(raw.file), call, separator })
    }

    fn program(&self, name: &str, raw: Program) -> Result<ProgramSetting, SettingsError> {
        let (words, timeout, refresh) = match raw {
            Program::Plain(program) => (vec![program], None, None),
            Program::Full(full) => (full.command.into_vec(), full.timeout, full.refresh),
        };
        let mut words = words.into_iter();
        let program = words.next().filter(|program| !program.is_empty());
        let program = program.ok_or_else(|| self.invalid(&[name], format!("'{name}' needs a program")))?;
        Ok(ProgramSetting {
            program: self.source.program(&program),
            arguments: words.collect(),
            folder: std::path::absolute(self.source.folder).unwrap_or_else(|_| self.source.folder.to_owned()),
            timeout: self.time(name, "timeout", timeout, PROGRAM_TIMEOUT, 1.0)?,
            refresh: self.time(name, "refresh", refresh, REFRESH, 3600.0)?,
        })
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
            (Some(_), Some(_)) => return Err(wrong("token_env", "cannot be used together with 'token_file'")),
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
        let page = raw.page.unwrap_or(DEFAULT_PAGE);
        if page < MIN_PAGE {
            return Err(wrong("page", &format!("must be at least {MIN_PAGE}, not {page}")));
        }
        let timeout = self.time("puppetdb", "timeout", raw.timeout, TIMEOUT, 1.0)?;
        Ok(PuppetDbSetting {
            server: ServerSetting { url, token, certificate, authorities: raw.ca.map(file), timeout },
            page,
            query: raw.query.filter(|query| !query.trim().is_empty()),
            classes: raw.classes,
            refresh: self.time("puppetdb", "refresh", raw.refresh, REFRESH, 3600.0)?,
        })
    }

    /// Returns a duration of a number of units, each `seconds` long, or the default.
    fn time(
        &self,
        source_name: &str,
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
            let text = format!("'{name}' of '{source_name}' must be a number of {unit} up to {most}, not {value}");
            self.invalid(&[source_name, name], text)
        })
    }
}

/// Checks the address of a server, and returns it without a slash at its end.
fn server(text: &str) -> Result<String, String> {
    let url = Webhook::check(text).map_err(|error| format!("cannot be used: {error}"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not have a password: name the file of a token in 'token_file'".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() || url.path().contains("/pdb") {
        return Err("must be the address of the server only, such as https://puppetdb.example.com:8081".to_owned());
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use crate::app::settings::tests::refuses_trusted;

    #[test]
    fn faults_are_told_with_their_line() {
        for (entry, words) in [
            ("{nonsense: x}", "unknown field `nonsense`"),
            ("{}", "an entry of 'profiles' is a path, or a hash with exactly one source"),
            ("{puppetdb: {}}", "missing field `url`"),
            (
                "{puppetdb: {url: 'ftp://x'}}",
                "'url' of 'puppetdb' cannot be used: this is not a valid address: it must begin with http:// or https://",
            ),
            ("{puppetdb: {url: 'https://a:b@x'}}", "'url' of 'puppetdb' must not have a password"),
            (
                "{puppetdb: {url: 'https://x/pdb/query/v4'}}",
                "'url' of 'puppetdb' must be the address of the server only",
            ),
            ("{puppetdb: {url: 'https://x', cert: a}}", "'cert' of 'puppetdb' needs 'key'"),
            ("{puppetdb: {url: 'https://x', key: a}}", "'key' of 'puppetdb' needs 'cert'"),
            ("{puppetdb: {url: 'http://x', token_file: a}}", "'url' of 'puppetdb' must begin with https://"),
            (
                "{puppetdb: {url: 'https://x', token_file: a, token_env: B}}",
                "'token_env' of 'puppetdb' cannot be used together with 'token_file'",
            ),
            (
                "{puppetdb: {url: 'https://x', timeout: 0}}",
                "'timeout' of 'puppetdb' must be a number of seconds up to 3600",
            ),
            ("{puppetdb: {url: 'https://x', refresh: -1}}", "'refresh' of 'puppetdb' must be a number of hours"),
            ("{enc: {command: []}}", "'enc' needs a program"),
            ("{enc: {command: [x], timeout: 0}}", "'timeout' of 'enc' must be a number of seconds up to 3600, not 0"),
            ("{enc: [x]}", "expected a program, or a hash such as"),
            ("{enc: x, trusted_external: y}", "exactly one source"),
            ("[x]", "expected a path, or a hash with one source such as {puppetdb: {url: URL}}"),
        ] {
            let settings = format!("environment: e\nprofiles:\n  - profiles\n  - {entry}\n");
            refuses_trusted(&settings, "/hierad.yaml:4: ");
            refuses_trusted(&settings, words);
        }
    }
}
