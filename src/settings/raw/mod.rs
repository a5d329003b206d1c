//! `hierad.yaml` as written: the structs that serde fills in. Only types and names are checked here.

pub(crate) mod profiles;

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::LazyLock;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::forge::ALL;

/// The faults that `hierad check` reports.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a hash such as {severity: error}")]
pub(crate) struct Check {
    pub(crate) severity: Option<String>,
}

/// Snapshots that the daemon writes.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a name with a hash such as {ref: true} or {folder: DIR, schedule: '0 3 * * *'}"
)]
pub(crate) struct Snapshots {
    #[serde(rename = "ref")]
    pub(crate) reference: bool,
    pub(crate) folder: Option<String>,
    pub(crate) mode: Option<String>,
    pub(crate) push: Option<String>,
    /// The time limit of a push, in seconds.
    pub(crate) push_timeout: Option<f64>,
    pub(crate) prune: Option<bool>,
    /// In hours.
    pub(crate) retry_for: Option<f64>,
    pub(crate) branches: OneOrMany,
    /// Cron expressions; on each commit if there are none.
    pub(crate) schedule: OneOrMany,
    pub(crate) time_zone: Option<String>,
}

/// A repository that the daemon watches.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a hash such as {path: DIR} or {url: URL}")]
pub(crate) struct Repository {
    pub(crate) path: Option<String>,
    pub(crate) url: Option<String>,
    /// The interval between fetches, in seconds.
    pub(crate) fetch: Option<f64>,
    /// The time limit of a fetch, in seconds.
    pub(crate) fetch_timeout: Option<f64>,
    pub(crate) branches: OneOrMany,
    /// The repository's own settings.
    pub(crate) config: Option<String>,
}

/// Reviews of the requests of a project on a forge.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a hash such as {forge: github, project: OWNER/NAME, token_file: FILE}")]
pub(crate) struct Review {
    pub(crate) repository: Option<String>,
    pub(crate) forge: String,
    /// A text, or the number of a project on GitLab.
    pub(crate) project: serde_yaml::Value,
    pub(crate) api: Option<String>,
    pub(crate) token_file: String,
    pub(crate) remote: Option<String>,
    pub(crate) comment: Option<String>,
    pub(crate) check: Option<String>,
    pub(crate) exit_code: Option<String>,
    #[serde(default)]
    pub(crate) with_keys: bool,
    pub(crate) id: Option<String>,
    /// In hours.
    pub(crate) retry_for: Option<f64>,
}

/// A sink of reports.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a hash such as {folder: DIR}, {command: [PROGRAM]}, {webhook: URL} or {mail: {server: URL, ...}}"
)]
pub(crate) struct Sink {
    pub(crate) stdout: Option<bool>,
    pub(crate) folder: Option<String>,
    /// The mode of the folder's files.
    pub(crate) mode: Option<String>,
    pub(crate) command: Option<OneOrMany>,
    pub(crate) webhook: Option<String>,
    /// The file with the key that signs bodies for the webhook.
    pub(crate) secret_file: Option<String>,
    pub(crate) headers: BTreeMap<String, String>,
    /// Headers whose values are in files.
    pub(crate) header_files: BTreeMap<String, String>,
    /// The file with the certificates of authorities for the webhook's server.
    pub(crate) ca_file: Option<String>,
    pub(crate) mail: Option<Mail>,
    /// The time limit of the command or of the server's answer, in seconds.
    pub(crate) timeout: Option<f64>,
    /// The largest report for the command or the webhook, in MiB.
    pub(crate) max_size: Option<f64>,
    /// In hours.
    pub(crate) retry_for: Option<f64>,
    pub(crate) repositories: OneOrMany,
    pub(crate) branches: OneOrMany,
    pub(crate) nodes: OneOrMany,
    pub(crate) keys: OneOrMany,
    pub(crate) minimum: usize,
    /// `commit` or `push`.
    pub(crate) each: Option<String>,
}

/// Mail and its server.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a hash such as {server: 'smtps://HOST', from: ADDRESS, to: [ADDRESS]}")]
pub(crate) struct Mail {
    pub(crate) server: String,
    pub(crate) from: String,
    pub(crate) to: OneOrMany,
    pub(crate) user: Option<String>,
    pub(crate) password_file: Option<String>,
    pub(crate) starttls: Option<String>,
    pub(crate) ca_file: Option<String>,
}

/// The daemon's HTTP server.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a hash such as {listen: ADDRESS, token_file: FILE}")]
pub(crate) struct Http {
    pub(crate) listen: Option<String>,
    /// The address at which others reach the server.
    pub(crate) url: Option<String>,
    pub(crate) token_file: Option<String>,
    pub(crate) webhook_secret_files: WebhookSecretFiles,
    /// In seconds.
    pub(crate) timeout: Option<f64>,
}

/// The files with the secrets of webhooks, by the names of forges.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct WebhookSecretFiles(pub(crate) BTreeMap<&'static str, Option<String>>);

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

/// The resources that hierad may use. Sizes are numbers of bytes, or texts such as `64MiB`.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a hash such as {file: 64MiB, memory: 2GiB}")]
pub(crate) struct Limits {
    pub(crate) file: Option<serde_yaml::Value>,
    pub(crate) steps: Option<NonZeroUsize>,
    /// In seconds.
    pub(crate) time: Option<f64>,
    pub(crate) memory: Option<serde_yaml::Value>,
}

/// The keys of encrypted data, or `none`.
#[derive(Debug, PartialEq)]
pub(crate) enum Eyaml {
    Word(String),
    Keys(EyamlKeys),
}

impl<'de> Deserialize<'de> for Eyaml {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Eyaml, D::Error> {
        deserializer.deserialize_any(EyamlVisitor)
    }
}

/// Names the expected forms and wrong names in errors, which an untagged enum would not.
struct EyamlVisitor;

impl<'de> Visitor<'de> for EyamlVisitor {
    type Value = Eyaml;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("'none', or a hash such as {pkcs7_private_key: FILE} or {allowed_keys: [PATH]}")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Eyaml, E> {
        Ok(Eyaml::Word(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Eyaml, A::Error> {
        Deserialize::deserialize(MapAccessDeserializer::new(entries)).map(Eyaml::Keys)
    }
}

impl Default for Eyaml {
    fn default() -> Eyaml {
        Eyaml::Keys(EyamlKeys::default())
    }
}

/// The keys of encrypted data.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EyamlKeys {
    pub(crate) pkcs7_private_key: Option<String>,
    pub(crate) pkcs7_public_key: Option<String>,
    pub(crate) allowed_keys: OneOrMany,
}

/// A declared function.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a hash such as {not_found: true}, {values: FILE}, {command: [PROGRAM]} or {puppet: true}"
)]
pub(crate) struct Backend {
    pub(crate) not_found: Option<bool>,
    pub(crate) values: Option<String>,
    pub(crate) command: Option<OneOrMany>,
    /// The revision whose Ruby the machine's Puppet runs.
    pub(crate) puppet: Option<CodeRevision>,
    /// The Ruby in which Puppet is installed.
    pub(crate) ruby: Option<String>,
    /// The time limit of an answer, in seconds.
    pub(crate) timeout: Option<f64>,
    /// The variables that the command receives.
    pub(crate) scope: Option<Vec<String>>,
    /// The files that a function in Ruby reads.
    pub(crate) reads: Option<PromisedFiles>,
}

/// The only files that a function in Ruby reads, as the settings promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", expecting = "must be 'path'")]
pub(crate) enum PromisedFiles {
    /// Files whose paths begin with the path that the function is called for.
    Path,
}

impl Backend {
    /// Returns true if the backend runs code.
    pub(crate) fn runs_code(&self) -> bool {
        let Backend { not_found: _, values: _, command, puppet, ruby, timeout: _, scope: _, reads: _ } = self;
        command.is_some() || puppet.is_some() || ruby.is_some()
    }
}

/// A revision whose code is trusted: `true` for that of the default branch, or a name.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged, expecting = "must be true or a revision such as origin/production")]
pub(crate) enum CodeRevision {
    Default(bool),
    Named(String),
}

/// The global layer's hiera.yaml.
#[derive(Debug, PartialEq)]
pub(crate) enum GlobalConfig {
    File(String),
    InRepository(RepositoryFile),
}

/// A file in a repository.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a hash such as {repo: DIR, rev: REV, path: FILE}")]
pub(crate) struct RepositoryFile {
    pub(crate) repo: Option<String>,
    pub(crate) rev: Option<String>,
    pub(crate) path: String,
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
#[derive(Debug)]
pub(crate) enum OneOrMany {
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

impl PartialEq for OneOrMany {
    fn eq(&self, other: &OneOrMany) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Default for OneOrMany {
    fn default() -> OneOrMany {
        OneOrMany::Many(Vec::new())
    }
}

impl OneOrMany {
    pub(crate) fn as_slice(&self) -> &[String] {
        match self {
            OneOrMany::One(text) => std::slice::from_ref(text),
            OneOrMany::Many(texts) => texts,
        }
    }

    pub(crate) fn into_vec(self) -> Vec<String> {
        match self {
            OneOrMany::One(text) => vec![text],
            OneOrMany::Many(texts) => texts,
        }
    }
}

/// A rule on what a change does.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a hash such as {name: NAME, level: failure, message: TEXT, keys: ['sudo::*']}"
)]
pub(crate) struct Policy {
    pub(crate) name: Option<String>,
    pub(crate) level: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) reviewers: OneOrMany,
    pub(crate) keys: OneOrMany,
    pub(crate) nodes: OneOrMany,
    pub(crate) files: OneOrMany,
    pub(crate) kinds: OneOrMany,
    pub(crate) before: Option<ValueTest>,
    pub(crate) after: Option<ValueTest>,
    pub(crate) more_than: Option<MoreThan>,
    pub(crate) lines: OneOrMany,
    pub(crate) blind_spots: OneOrMany,
}

/// A condition on a value.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a hash such as {equals: VALUE}, {matches: PATTERN} or {type: Integer}"
)]
pub(crate) struct ValueTest {
    /// Parsed again as a data file is, since it is data.
    pub(crate) equals: Option<IgnoredAny>,
    pub(crate) matches: OneOrMany,
    #[serde(rename = "type")]
    pub(crate) type_name: Option<String>,
}

/// Numbers that must be exceeded.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a hash such as {nodes: 10}, {nodes: 25%} or {keys: 5, groups: 3}")]
pub(crate) struct MoreThan {
    pub(crate) nodes: Option<Amount>,
    pub(crate) keys: Option<Amount>,
    pub(crate) groups: Option<usize>,
}

/// A number, or a share such as `25%`.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged, expecting = "a number such as 10, or a share such as 25%")]
pub(crate) enum Amount {
    Number(usize),
    Share(String),
}

/// A waiver of a rule.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a hash such as {policy: NAME, reason: TEXT, expires: 2027-01-31}")]
pub(crate) struct Waiver {
    pub(crate) policy: Option<String>,
    pub(crate) keys: OneOrMany,
    pub(crate) nodes: OneOrMany,
    pub(crate) files: OneOrMany,
    pub(crate) reason: Option<String>,
    pub(crate) expires: Option<String>,
}
