//! The real Puppet, asked through `src/verify/resolve.rb`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::json;

use super::answers::{self, Answer, Answers};
use super::explain::{Asked, Told as Explained};
use super::json::Json;
use super::process::Server;
use super::stage::Subject;
use super::{Args, Fault};

const RESOLVE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/verify/resolve.rb");

const RESOLVE_HIERA3: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/verify/resolve_hiera3.rb");

/// The longest that Puppet may think about one repository, on a slow machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// One version of Puppet, in a process that answers for one repository after the other.
pub(crate) struct Puppet {
    version: u8,
    server: Server,
}

/// Puppet's answers for a repository.
pub(crate) struct Told {
    /// The keys it was asked for.
    pub(crate) keys: BTreeSet<String>,
    /// Its answers.
    pub(crate) answers: Answers,
}

impl Puppet {
    /// Starts Puppet 7 or 8, OpenVox 9, or Hiera 3.
    pub(crate) fn start(args: &Args, version: u8) -> Result<Puppet, Fault> {
        let command = args.command(version, if version == 3 { RESOLVE_HIERA3 } else { RESOLVE })?;
        Ok(Puppet { version, server: Server::start(&command, PATIENCE)? })
    }

    /// Its answers for the files in `repository`, for all root keys of the data and then for those of `keys` beside
    /// them.
    pub(crate) fn ask(&mut self, subject: Subject<'_>, keys: &BTreeSet<String>) -> Result<Told, Fault> {
        self.request(subject, json!({"more_keys": keys}))
    }

    /// Its answer for one key on one of the nodes, with nothing looked up before.
    pub(crate) fn ask_alone(
        &mut self,
        subject: Subject<'_>,
        nodes: impl Iterator<Item = String>,
        (node, key): (&str, &str),
    ) -> Result<Option<Answer>, Fault> {
        let keys_of: BTreeMap<String, Vec<&str>> =
            nodes.map(|name| if name == node { (name, vec![key]) } else { (name, Vec::new()) }).collect();
        let mut told = self.request(subject, json!({"keys_of": keys_of}))?;
        Ok(told.answers.get_mut(node).and_then(|answers| answers.remove(key)))
    }

    /// Returns its explanations of lookups, each with nothing looked up before.
    pub(crate) fn explain(&mut self, subject: Subject<'_>, asked: &[Asked]) -> Result<Vec<Explained>, Fault> {
        let lookups: Vec<_> = asked.iter().map(Asked::request).collect();
        let answer = self.exchange(subject, json!({"keys": [], "explain": lookups}))?;
        let text = |entry: &Json, field| match entry.get(field) {
            Some(Json::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let explained =
            |entry: &Json| Explained { text: text(entry, "text").unwrap_or_default(), error: text(entry, "error") };
        Ok(answer.get("explained").ok_or("nothing explained")?.items().iter().map(explained).collect())
    }

    fn request(&mut self, subject: Subject<'_>, request: serde_json::Value) -> Result<Told, Fault> {
        let folder = subject.outside.folder();
        let answer = self.exchange(subject, request)?;
        let keys = answer.get("keys").ok_or("no keys")?.items().iter().map(|key| key.text().to_owned()).collect();
        let nodes = answer.get("nodes").ok_or("no nodes")?.items();
        Ok(Told { keys, answers: nodes.iter().map(|node| answers::node(node, folder)).collect::<Result<_, _>>()? })
    }

    fn exchange(&mut self, subject: Subject<'_>, mut request: serde_json::Value) -> Result<Json, Fault> {
        let Subject { repository, profiles, outside } = subject;
        request["repo"] = json!(repository);
        request["profiles"] = json!(profiles);
        request["strict"] = json!(self.version >= 8);
        if self.version == 3 {
            request["resolution"] = json!(outside.resolution.name());
            request["resolutions"] = json!(outside.resolution.of_keys());
            request["whole_keys"] = json!(true);
        }
        if let Some(path) = &outside.global {
            request["global"] = json!(path);
        }
        if let Some(path) = &outside.basemodulepath {
            request["basemodulepath"] = json!([path]);
        }
        self.server.ask(&request.to_string())?;
        let answer =
            Json::read(&self.server.answer()?).map_err(|fault| format!("Puppet {} gave up: {fault}", self.version))?;
        if let Some(error) = answer.get("error") {
            return Err(format!("Puppet {}: {}", self.version, error.text()).into());
        }
        Ok(answer)
    }
}
