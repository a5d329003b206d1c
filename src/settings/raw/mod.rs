//! `hierad.yaml` as written: the structs that serde fills in. Nothing is checked here but types and names.

pub(super) mod profiles;

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::LazyLock;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::forge::ALL;

/// The policies of a file in which something else may be wrong.
#[derive(Debug, Deserialize)]
pub(super) struct Policies {
    pub(super) policies: Option<IgnoredAny>,
}

/// The faults that `hierad check` reports.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a hash such as {severity: error, allow: [CODE]}")]
pub(super) struct Check {
    pub(super) severity: Option<String>,
    pub(super) allow: OneOrMany,
}

/// Snapshots that the daemon writes.
#[derive(Debug, Default, Deserialize)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a name with a hash such as {ref: true} or {folder: DIR, schedule: '0 3 * * *'}"
)]
pub(super) struct Snapshots {
    #[serde(rename = "ref")]
    pub(super) reference: bool,
    pub(super) folder: Option<String>,
    pub(super) mode: Option<String>,
    pub(super) push: Option<String>,
    /// The time limit of a push, in seconds.
    pub(super) push_timeout: Option<f64>,
    pub(super) prune: Option<bool>,
    /// In hours.
    pub(super) retry_for: Option<f64>,
    pub(super) branches: OneOrMany,
    /// Cron expressions; on each commit if there are none.
    pub(super) schedule: OneOrMany,
    pub(super) time_zone: Option<String>,
}

/// A repository that the daemon watches.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a hash such as {path: DIR} or {url: URL}")]
pub(super) struct Repository {
    pub(super) path: Option<String>,
    pub(super) url: Option<String>,
    /// The interval between fetches, in seconds.
    pub(super) fetch: Option<f64>,
    /// The time limit of a fetch, in seconds.
    pub(super) fetch_timeout: Option<f64>,
    pub(super) branches: OneOrMany,
    /// The repository's own settings.
    pub(super) config: Option<String>,
}

/// Reviews of the requests of a project on a forge.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a hash such as {forge: github, project: OWNER/NAME, token_file: FILE}")]
pub(super) struct Review {
    pub(super) repository: Option<String>,
    pub(super) forge: String,
    /// A text, or the number of a project on GitLab.
    pub(super) project: serde_yaml::Value,
    pub(super) api: Option<String>,
    pub(super) token_file: String,
    pub(super) remote: Option<String>,
    pub(super) comment: Option<String>,
    pub(super) check: Option<String>,
    pub(super) exit_code: Option<String>,
    #[serde(default)]
    pub(super) with_keys: bool,
    pub(super) id: Option<String>,
    /// In hours.
    pub(super) retry_for: Option<f64>,
}

/// A sink of reports.
#[derive(Debug, Default, Deserialize)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a hash such as {folder: DIR}, {command: [PROGRAM]}, {webhook: URL} or {mail: {server: URL, ...}}"
)]
pub(super) struct Sink {
    pub(super) stdout: Option<bool>,
    pub(super) folder: Option<String>,
    /// The mode of the folder's files.
    pub(super) mode: Option<String>,
    pub(super) command: Option<Vec<String>>,
    pub(super) webhook: Option<String>,
    /// The file with the key that signs bodies for the webhook.
    pub(super) secret_file: Option<String>,
    pub(super) headers: BTreeMap<String, String>,
    /// The file with the certificates of authorities for the webhook's server.
    pub(super) ca_file: Option<String>,
    pub(super) mail: Option<Mail>,
    /// The time limit of the command or of the server's answer, in seconds.
    pub(super) timeout: Option<f64>,
    /// The largest report for the command or the webhook, in MiB.
    pub(super) max_size: Option<f64>,
    /// In hours.
    pub(super) retry_for: Option<f64>,
    pub(super) repositories: OneOrMany,
    pub(super) branches: OneOrMany,
    pub(super) nodes: OneOrMany,
    pub(super) keys: OneOrMany,
    pub(super) minimum: usize,
}

/// Mail and its server.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a hash such as {server: 'smtps://HOST', from: ADDRESS, to: [ADDRESS]}")]
pub(super) struct Mail {
    pub(super) server: String,
    pub(super) from: String,
    pub(super) to: OneOrMany,
    pub(super) user: Option<String>,
    pub(super) password_file: Option<String>,
    pub(super) starttls: Option<String>,
    pub(super) ca_file: Option<String>,
}

/// The daemon's HTTP server.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a hash such as {listen: ADDRESS, token_file: FILE}")]
pub(super) struct Http {
    pub(super) listen: Option<String>,
    /// The address that others reach it at.
    pub(super) url: Option<String>,
    pub(super) token_file: Option<String>,
    pub(super) webhook_secret_files: WebhookSecretFiles,
    /// In seconds.
    pub(super) timeout: Option<f64>,
}

/// The files with the secrets of webhooks, by the names of forges.
#[derive(Debug, Default)]
pub(super) struct WebhookSecretFiles(pub(super) BTreeMap<&'static str, Option<String>>);

/// The names of forges, which are the fields of [`WebhookSecretFiles`].
static FORGES: LazyLock<Vec<&str>> = LazyLock::new(|| ALL.iter().map(|forge| forge.name()).collect());

impl<'de> Deserialize<'de> for WebhookSecretFiles {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<WebhookSecretFiles, D::Error> {
        deserializer.deserialize_struct("WebhookSecretFiles", &FORGES, WebhookSecretFiles::default())
    }
}

impl<'de> Visitor<'de> for WebhookSecretFiles {
    type Value = WebhookSecretFiles;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a hash such as {github: FILE}")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut files: A) -> Result<WebhookSecretFiles, A::Error> {
        while let Some(name) = files.next_key::<String>()? {
            let known = FORGES.iter().find(|forge| **forge == name);
            let forge = known.ok_or_else(|| de::Error::unknown_field(&name, &FORGES))?;
            if self.0.contains_key(forge) {
                return Err(de::Error::duplicate_field(forge));
            }
            self.0.insert(forge, files.next_value()?);
        }
        Ok(self)
    }
}

/// The most that hierad may use. Sizes are numbers of bytes, or texts such as `64MiB`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a hash such as {file: 64MiB, memory: 2GiB}")]
pub(super) struct Limits {
    pub(super) file: Option<serde_yaml::Value>,
    pub(super) steps: Option<NonZeroUsize>,
    /// In seconds.
    pub(super) time: Option<f64>,
    pub(super) memory: Option<serde_yaml::Value>,
}

/// The keys of encrypted data: `none`, or which.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged, expecting = "must be 'none', or a hash such as {pkcs7_private_key: FILE} or {allowed_keys: [PATH]}")]
pub(super) enum Eyaml {
    Word(String),
    Keys(EyamlKeys),
}

impl Default for Eyaml {
    fn default() -> Eyaml {
        Eyaml::Keys(EyamlKeys::default())
    }
}

/// The keys of encrypted data.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct EyamlKeys {
    pub(super) pkcs7_private_key: Option<String>,
    pub(super) pkcs7_public_key: Option<String>,
    pub(super) allowed_keys: OneOrMany,
}

/// A declared function.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a hash such as {not_found: true}, {values: FILE}, {command: [PROGRAM]} or {puppet: true}"
)]
pub(super) struct Backend {
    pub(super) not_found: Option<bool>,
    pub(super) values: Option<String>,
    pub(super) command: Option<Vec<String>>,
    /// The revision whose Ruby the machine's Puppet runs.
    pub(super) puppet: Option<CodeRevision>,
    /// The Ruby that has Puppet.
    pub(super) ruby: Option<String>,
    /// The time limit of an answer, in seconds.
    pub(super) timeout: Option<f64>,
    /// The variables that the command receives.
    pub(super) scope: Option<Vec<String>>,
    /// The files that a function in Ruby reads.
    pub(super) reads: Option<PromisedFiles>,
}

/// The files that a function in Ruby is promised to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", expecting = "must be 'path'")]
pub(super) enum PromisedFiles {
    /// Files that begin with the path that the function is called for.
    Path,
}

impl Backend {
    /// Returns true if it makes code run.
    pub(super) fn runs_code(&self) -> bool {
        let Backend { not_found: _, values: _, command, puppet, ruby, timeout: _, scope: _, reads: _ } = self;
        command.is_some() || puppet.is_some() || ruby.is_some()
    }
}

/// A revision whose code is trusted: `true` for that of the default branch, or which.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged, expecting = "must be true or a revision such as origin/production")]
pub(super) enum CodeRevision {
    Default(bool),
    Named(String),
}

/// The global layer's hiera.yaml.
#[derive(Debug, PartialEq)]
pub(super) enum GlobalConfig {
    File(String),
    InRepository(RepositoryFile),
}

/// A file in a repository.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a hash such as {repo: DIR, rev: REV, path: FILE}")]
pub(super) struct RepositoryFile {
    pub(super) repo: Option<String>,
    pub(super) rev: Option<String>,
    pub(super) path: String,
}

impl<'de> Deserialize<'de> for GlobalConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<GlobalConfig, D::Error> {
        deserializer.deserialize_any(GlobalConfigVisitor)
    }
}

/// Names the expected forms in errors, which an untagged enum would not.
struct GlobalConfigVisitor;

impl<'de> Visitor<'de> for GlobalConfigVisitor {
    type Value = GlobalConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("'none', a file or {repo: DIR, rev: REV, path: FILE}")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<GlobalConfig, E> {
        Ok(GlobalConfig::File(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<GlobalConfig, A::Error> {
        Deserialize::deserialize(MapAccessDeserializer::new(entries)).map(GlobalConfig::InRepository)
    }
}

/// A string or a list of strings.
#[derive(Debug, PartialEq)]
pub(super) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OneOrMany, D::Error> {
        deserializer.deserialize_any(OneOrManyVisitor)
    }
}

/// Names the expected forms in errors, which an untagged enum would not.
struct OneOrManyVisitor;

impl<'de> Visitor<'de> for OneOrManyVisitor {
    type Value = OneOrMany;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of texts")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<OneOrMany, E> {
        Ok(OneOrMany::One(text.to_owned()))
    }

    fn visit_unit<E: de::Error>(self) -> Result<OneOrMany, E> {
        Ok(OneOrMany::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<OneOrMany, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(items)).map(OneOrMany::Many)
    }
}

impl Default for OneOrMany {
    fn default() -> OneOrMany {
        OneOrMany::Many(Vec::new())
    }
}

impl OneOrMany {
    pub(super) fn as_slice(&self) -> &[String] {
        match self {
            OneOrMany::One(text) => std::slice::from_ref(text),
            OneOrMany::Many(texts) => texts,
        }
    }

    pub(super) fn into_vec(self) -> Vec<String> {
        match self {
            OneOrMany::One(text) => vec![text],
            OneOrMany::Many(texts) => texts,
        }
    }
}

/// A rule on what a change does.
#[derive(Debug, Default, Deserialize)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a hash such as {name: NAME, level: failure, message: TEXT, keys: ['sudo::*']}"
)]
pub(super) struct Policy {
    pub(super) name: Option<String>,
    pub(super) level: Option<String>,
    pub(super) message: Option<String>,
    pub(super) reviewers: OneOrMany,
    pub(super) keys: OneOrMany,
    pub(super) nodes: OneOrMany,
    pub(super) files: OneOrMany,
    pub(super) kinds: OneOrMany,
    pub(super) before: Option<ValueTest>,
    pub(super) after: Option<ValueTest>,
    pub(super) more_than: Option<MoreThan>,
    pub(super) lines: OneOrMany,
    pub(super) blind_spots: OneOrMany,
}

/// A condition on a value.
#[derive(Debug, Default, Deserialize)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a hash such as {equals: VALUE}, {matches: PATTERN} or {type: Integer}"
)]
pub(super) struct ValueTest {
    /// Parsed again as a data file is, since it is data.
    pub(super) equals: Option<IgnoredAny>,
    pub(super) matches: OneOrMany,
    #[serde(rename = "type")]
    pub(super) type_name: Option<String>,
}

/// Numbers that must be exceeded.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a hash such as {nodes: 10}, {nodes: 25%} or {keys: 5, groups: 3}")]
pub(super) struct MoreThan {
    pub(super) nodes: Option<Amount>,
    pub(super) keys: Option<Amount>,
    pub(super) groups: Option<usize>,
}

/// A number, or a share such as `25%`.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a number such as 10, or a share such as 25%")]
pub(super) enum Amount {
    Number(usize),
    Share(String),
}

/// A waiver of a rule.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a hash such as {policy: NAME, reason: TEXT, expires: 2027-01-31}")]
pub(super) struct Waiver {
    pub(super) policy: Option<String>,
    pub(super) keys: OneOrMany,
    pub(super) nodes: OneOrMany,
    pub(super) files: OneOrMany,
    pub(super) reason: Option<String>,
    pub(super) expires: Option<String>,
}
