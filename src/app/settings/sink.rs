//! Checks `sinks:`, the destinations of the daemon's reports.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::HttpSetting;
use crate::delivery::{
    Command, Each, Filter, Folder, Mail, MailError, MailOptions, MailServer, MailTls, Mailbox, Private, Sink,
    SizeLimit, Stream, Target, Webhook, WebhookError, WebhookOptions, WholeReports, mailbox,
};
use crate::disk::{FileMode, SecretError, read_regular, read_secret};
use crate::git::BranchPatterns;
use crate::pattern::Pattern;
use crate::settings::source::SourceFile;
use crate::settings::{RepositorySetting, SettingsError, raw};

/// The name of standard output as a sink if the settings have no sinks.
pub const STDOUT: &str = "stdout";

/// The default time limit of a delivery, in seconds.
const DEFAULT_TIMEOUT: f64 = 30.0;

/// The longest time limit of a delivery, in seconds.
const MAX_TIMEOUT: f64 = 3600.0;

/// The default size of the largest report for a command or a webhook, in MiB.
const DEFAULT_MAX_SIZE: f64 = 16.0;

/// The default time for which a delivery is retried, in hours.
const DEFAULT_RETRY_FOR: f64 = 24.0;

/// The maximum size of a certificate file, in bytes.
const MAX_PEM: u64 = 16 << 20;

/// A sink as declared. Its secrets are read only when the daemon opens it, since users who only compare revisions may
/// not be allowed to read them.
#[derive(Debug, Clone)]
pub struct SinkSetting {
    /// The name.
    pub name: String,
    filter: Filter,
    retry_for: Duration,
    limit: Duration,
    /// The maximum size of a report, in bytes.
    max_size: usize,
    target: SinkTarget,
}

#[derive(Debug, Clone)]
enum SinkTarget {
    Stdout,
    Folder(PathBuf, FileMode),
    Command { program: String, arguments: Vec<String>, folder: PathBuf },
    Webhook(WebhookSetting),
    Mail(MailSetting),
}

#[derive(Debug, Clone)]
struct WebhookSetting {
    url: Private<String>,
    secret_file: Option<PathBuf>,
    headers: Private<Vec<(String, String)>>,
    /// The names of headers, each with the file that contains its value.
    header_files: Vec<(String, PathBuf)>,
    ca_file: Option<PathBuf>,
}

#[derive(Debug, Clone)]
struct MailSetting {
    server: MailServer,
    /// The user's name and the file with the password.
    user: Option<(String, PathBuf)>,
    ca_file: Option<PathBuf>,
    from: Mailbox,
    to: Vec<Mailbox>,
}

/// A sink that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("sink '{sink}': {fault}")]
pub struct SinkError {
    /// The sink.
    pub sink: String,
    /// The fault.
    #[source]
    pub fault: SinkFault,
}

/// The fault of a sink.
#[derive(Debug, thiserror::Error)]
pub enum SinkFault {
    /// One of its files cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// Its key or password cannot be read.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The file with its password or a header is not UTF-8.
    #[error("the file {} is not UTF-8", .0.display())]
    NoText(PathBuf),
    /// Its address, headers or certificates cannot be used.
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    /// Its server or certificates cannot be used.
    #[error(transparent)]
    Mail(#[from] MailError),
}

impl SinkSetting {
    /// Returns true if the sink takes whole pushes.
    pub fn takes_pushes(&self) -> bool {
        self.filter.each == Each::Push
    }

    /// Returns the places of whole reports: the daemon's own address, if it has one, and the folders among its sinks.
    pub fn whole_reports(sinks: &[SinkSetting], http: Option<&HttpSetting>) -> WholeReports {
        let folder = |sink: &SinkSetting| match &sink.target {
            SinkTarget::Folder(folder, _) => Some((folder.clone(), sink.filter.clone())),
            _ => None,
        };
        let url = http.and_then(HttpSetting::url).and_then(|url| Webhook::check(&url).ok());
        WholeReports { url, folders: sinks.iter().filter_map(folder).collect() }
    }

    /// Opens the sink. Lines for standard output go to `output`; `whole` has reports that are too large for the sink.
    pub fn open(&self, output: &Stream, whole: &Arc<WholeReports>) -> Result<Sink, SinkError> {
        let target = self.target(output, whole).map_err(|fault| SinkError { sink: self.name.clone(), fault })?;
        Ok(Sink { name: self.name.clone(), filter: self.filter.clone(), retry_for: self.retry_for, target })
    }

    fn target(&self, output: &Stream, whole: &Arc<WholeReports>) -> Result<Target, SinkFault> {
        let size = SizeLimit { bytes: Some(self.max_size), whole: whole.clone() };
        Ok(match self.target.clone() {
            SinkTarget::Stdout => Target::Stream(output.clone()),
            SinkTarget::Folder(folder, mode) => Target::Folder(Folder::new(folder, mode)),
            SinkTarget::Command { program, arguments, folder } => {
                Target::Command(Command::new(program, arguments, folder, self.limit).with_size(size))
            }
            SinkTarget::Webhook(webhook) => Target::Webhook(webhook.open(self.limit, size)?),
            SinkTarget::Mail(mail) => Target::Mail(mail.open(self.limit, whole.clone())?),
        })
    }
}

impl WebhookSetting {
    fn open(self, limit: Duration, size: SizeLimit) -> Result<Webhook, SinkFault> {
        let WebhookSetting { url, secret_file, mut headers, header_files, ca_file } = self;
        for (name, path) in header_files {
            headers.0.push((name, read_text(path)?));
        }
        let secret = secret_file.map(|path| read_secret(&path).map(Private)).transpose()?;
        let authorities = ca_file.as_deref().map(read).transpose()?;
        Ok(Webhook::new(WebhookOptions { url, secret, headers, authorities, limit, size })?)
    }
}

impl MailSetting {
    fn open(self, limit: Duration, whole: Arc<WholeReports>) -> Result<Mail, SinkFault> {
        let MailSetting { server, user, ca_file, from, to } = self;
        let with_password = |(user, path): (String, PathBuf)| Ok::<_, SinkFault>((user, Private(read_text(path)?)));
        let credentials = user.map(with_password).transpose()?;
        let authorities = ca_file.as_deref().map(read).transpose()?;
        Ok(Mail::new(MailOptions { server, credentials, authorities, from, to, limit, whole })?)
    }
}

/// Reads a secret that is text.
fn read_text(path: PathBuf) -> Result<String, SinkFault> {
    String::from_utf8(read_secret(&path)?.to_vec()).map_err(|_| SinkFault::NoText(path))
}

fn read(path: &Path) -> Result<Vec<u8>, SinkFault> {
    read_regular(path, MAX_PEM).map_err(|source| SinkFault::Read { path: path.into(), source })
}

/// Checks all sinks of a daemon that watches `repositories`.
pub(super) fn check_all(
    source: &SourceFile<'_>,
    repositories: &[RepositorySetting],
    raw: BTreeMap<String, raw::Sink>,
) -> Result<Vec<SinkSetting>, SettingsError> {
    raw.into_iter().map(|(name, raw)| check(source, repositories, &name, raw)).collect()
}

fn check(
    source: &SourceFile<'_>,
    repositories: &[RepositorySetting],
    name: &str,
    raw: raw::Sink,
) -> Result<SinkSetting, SettingsError> {
    let checker = SinkChecker { source, repositories, name };
    let filter = checker.filter(&raw)?;
    let retry_for = checker.time("retry_for", raw.retry_for.unwrap_or(DEFAULT_RETRY_FOR), 3600.0)?;
    let limit = checker.limit(raw.timeout.unwrap_or(DEFAULT_TIMEOUT))?;
    let max_size = checker.size(raw.max_size.unwrap_or(DEFAULT_MAX_SIZE))?;
    Ok(SinkSetting { name: name.to_owned(), filter, retry_for, limit, max_size, target: checker.target(raw)? })
}

/// The context of a sink's checks.
struct SinkChecker<'a> {
    source: &'a SourceFile<'a>,
    repositories: &'a [RepositorySetting],
    name: &'a str,
}

impl SinkChecker<'_> {
    fn invalid(&self, text: impl std::fmt::Display) -> SettingsError {
        self.source.invalid(&["sinks", self.name], format!("sink '{}' {text}", self.name))
    }

    fn wrong(&self, setting: &str, text: impl std::fmt::Display) -> SettingsError {
        self.source.invalid(&["sinks", self.name, setting], format!("sink '{}': '{setting}': {text}", self.name))
    }

    fn filter(&self, raw: &raw::Sink) -> Result<Filter, SettingsError> {
        let branches = BranchPatterns::new(raw.branches.as_slice()).map_err(|error| self.wrong("branches", error))?;
        let patterns = |setting: &str, texts: &raw::OneOrMany| {
            let patterns = texts.as_slice().iter().map(|pattern| pattern.parse());
            patterns.collect::<Result<Vec<Pattern>, _>>().map_err(|error| self.wrong(setting, error))
        };
        let (nodes, keys) = (patterns("nodes", &raw.nodes)?, patterns("keys", &raw.keys)?);
        let repositories = patterns("repositories", &raw.repositories)?;
        for (pattern, text) in repositories.iter().zip(raw.repositories.as_slice()) {
            // Otherwise the sink would get no reports and nobody would notice.
            if !self.repositories.iter().any(|repository| pattern.matches(&repository.name)) {
                return Err(self.wrong("repositories", format!("there is no watched repository '{text}'")));
            }
        }
        // Nobody reads two hundred mails about one push.
        let default = if raw.mail.is_some() { "push" } else { "commit" };
        let each = match raw.each.as_deref().unwrap_or(default) {
            "push" => Each::Push,
            "commit" => Each::Commit,
            other => return Err(self.wrong("each", format!("must be commit or push, not '{other}'"))),
        };
        Ok(Filter { repositories, branches, nodes, keys, minimum: raw.minimum, each })
    }

    fn time(&self, setting: &str, number: f64, unit: f64) -> Result<Duration, SettingsError> {
        let time = Duration::try_from_secs_f64(number * unit).ok().filter(|time| !time.is_zero());
        time.ok_or_else(|| self.wrong(setting, format!("must be a number above 0, not {number}")))
    }

    fn limit(&self, seconds: f64) -> Result<Duration, SettingsError> {
        if seconds > MAX_TIMEOUT {
            return Err(self.wrong("timeout", format!("must be at most {MAX_TIMEOUT} seconds, not {seconds}")));
        }
        self.time("timeout", seconds, 1.0)
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the number is in between")]
    fn size(&self, mebibytes: f64) -> Result<usize, SettingsError> {
        let bytes = mebibytes * f64::from(1 << 20);
        if !(1.0..=f64::from(1 << 30)).contains(&bytes) {
            return Err(self.wrong("max_size", format!("must be a number of MiB up to 1024, not {mebibytes}")));
        }
        Ok(bytes as usize)
    }

    fn target(&self, raw: raw::Sink) -> Result<SinkTarget, SettingsError> {
        let has_headers = !raw.headers.is_empty() || !raw.header_files.is_empty();
        if raw.webhook.is_none() && (raw.secret_file.is_some() || raw.ca_file.is_some() || has_headers) {
            let settings = "'secret_file', 'ca_file', 'headers' and 'header_files'";
            return Err(self.invalid(format!("has no 'webhook', so {settings} have no effect")));
        }
        let given_twice = |name: &&String| raw.headers.keys().any(|other| other.eq_ignore_ascii_case(name));
        if let Some(name) = raw.header_files.keys().find(given_twice) {
            return Err(self.wrong("header_files", format!("'{name}' is in 'headers', too")));
        }
        if raw.webhook.is_none() && raw.command.is_none() && raw.mail.is_none() && raw.timeout.is_some() {
            return Err(self.invalid("has no 'webhook', 'command' or 'mail', so 'timeout' has no effect"));
        }
        if raw.webhook.is_none() && raw.command.is_none() && raw.max_size.is_some() {
            return Err(self.invalid("has no 'webhook' or 'command', so 'max_size' has no effect"));
        }
        if raw.folder.is_none() && raw.mode.is_some() {
            return Err(self.invalid("has no 'folder', so 'mode' has no effect"));
        }
        let mode = raw.mode.map_or(Ok(FileMode::PRIVATE), |mode| mode.parse());
        let mode = mode.map_err(|error| self.wrong("mode", error))?;
        let file = |path: String| self.source.folder.join(path);
        match (raw.stdout, raw.folder, raw.command, raw.webhook, raw.mail) {
            (Some(true), None, None, None, None) => Ok(SinkTarget::Stdout),
            (None, Some(path), None, None, None) => Ok(SinkTarget::Folder(file(path), mode)),
            (None, None, Some(words), None, None) => self.command(words.into_vec()),
            (None, None, None, Some(url), None) => {
                Webhook::check(&url).map_err(|error| self.wrong("webhook", error))?;
                let (url, headers) = (Private(url), Private(raw.headers.into_iter().collect()));
                let header_files = raw.header_files.into_iter().map(|(name, path)| (name, file(path))).collect();
                let (secret_file, ca_file) = (raw.secret_file.map(file), raw.ca_file.map(file));
                Ok(SinkTarget::Webhook(WebhookSetting { url, secret_file, headers, header_files, ca_file }))
            }
            (None, None, None, None, Some(mail)) => Ok(SinkTarget::Mail(self.mail(mail)?)),
            _ => Err(self.invalid(
                "needs one of 'stdout: true', 'folder: DIR', 'command: [PROGRAM, ...]', 'webhook: URL' and 'mail: {...}'",
            )),
        }
    }

    fn command(&self, words: Vec<String>) -> Result<SinkTarget, SettingsError> {
        let mut words = words.into_iter();
        let Some(program) = words.next().filter(|program| !program.is_empty()) else {
            return Err(self.wrong("command", "needs a program"));
        };
        let (program, folder) = (self.source.program(&program), self.source.folder.to_owned());
        Ok(SinkTarget::Command { program, arguments: words.collect(), folder })
    }

    fn mail(&self, raw: raw::Mail) -> Result<MailSetting, SettingsError> {
        let wrong = |text: &dyn std::fmt::Display| self.wrong("mail", text);
        let mut server = MailServer::parse(&raw.server).map_err(|error| wrong(&error))?;
        server.tls = match (raw.starttls.as_deref(), server.tls) {
            (None, tls) => tls,
            (Some(_), MailTls::Implicit) => return Err(wrong(&"'starttls' cannot be used with smtps://")),
            (Some("required"), _) => MailTls::Required,
            (Some("opportunistic"), _) => MailTls::Opportunistic,
            (Some("none"), _) => MailTls::None,
            (Some(other), _) => {
                return Err(wrong(&format!("'starttls' must be required, opportunistic or none, not {other}")));
            }
        };
        let file = |path: String| self.source.folder.join(path);
        let user = match (raw.user, raw.password_file) {
            (None, None) => None,
            (Some(user), Some(path)) => Some((user, file(path))),
            _ => return Err(wrong(&"'user' and 'password_file' must be given together")),
        };
        let is_open = matches!(server.tls, MailTls::Opportunistic | MailTls::None) && !server.is_here();
        if user.is_some() && is_open {
            return Err(wrong(&"with 'starttls: opportunistic' or 'none', the password could be intercepted"));
        }
        let from = mailbox(&raw.from).map_err(|error| wrong(&error))?;
        let to = raw.to.as_slice().iter().map(|to| mailbox(to)).collect::<Result<Vec<_>, _>>();
        let to = to.map_err(|error| wrong(&error))?;
        if to.is_empty() {
            return Err(wrong(&"'to' is empty"));
        }
        Ok(MailSetting { server, user, ca_file: raw.ca_file.map(file), from, to })
    }
}
