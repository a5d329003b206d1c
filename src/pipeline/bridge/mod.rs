//! Functions of the site's own, in Ruby, that the machine's Puppet runs.
//!
//! A [`PuppetBridge`] is one function. Its code is that of a trusted revision (`trusted`), never that of a commit under
//! review; the files that it reads are those of the revision that is asked about. Both are written to a private folder
//! (`stage`). A Ruby process answers there (`bridge.rb`), as a command of the settings does.

pub mod ruby;
mod stage;
mod trusted;

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::backend_command::BackendCommand;
use crate::git::{CommitTree, Repository};
use crate::hiera::backend::{Answer, Bridge, Call, Folder};
use crate::puppet::json;
use crate::tree::ContentId;
use crate::value::{Hash, Value};

use stage::{Stage, failed};
use trusted::Trusted;

/// The program that Ruby runs.
const PROGRAM: &str = include_str!("bridge.rb");

/// The time that Puppet may take to start.
const START: Duration = Duration::from_mins(1);

/// The most datadirs of different content whose answers are kept.
const KEPT: usize = 4;

/// A function that the machine's Puppet runs.
#[derive(Debug)]
pub struct PuppetBridge {
    /// The name of the revision whose code is run, if the settings give one.
    revision: Option<String>,
    /// The Ruby that has Puppet, if the settings name one.
    ruby: Option<PathBuf>,
    /// The folder that the process runs in.
    folder: PathBuf,
    limit: Duration,
    repository: OnceLock<Site>,
    state: Mutex<State>,
}

/// The repository whose functions are run.
struct Site {
    repository: Repository,
    basemodulepath: Vec<String>,
}

impl std::fmt::Debug for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.repository.git_dir().display())
    }
}

/// The process, its files and its answers so far.
#[derive(Debug, Default)]
struct State {
    running: Option<Running>,
    trusted: Trusted,
    answers: Answers,
}

#[derive(Debug)]
struct Running {
    // The process ends before its files go.
    command: BackendCommand,
    stage: Stage,
}

/// The answers to requests, by the datadir and the code that they depend on; the last ones used.
#[derive(Debug, Default)]
struct Answers(VecDeque<(Key, ByRequest)>);

/// The answers by request.
type ByRequest = HashMap<String, Result<Answer, String>>;

/// The content of a datadir, and of the code.
type Key = (Option<ContentId>, Option<ContentId>);

impl Answers {
    /// Returns the answers that depend on this.
    fn of(&mut self, key: Key) -> &mut ByRequest {
        let at = self.0.iter().position(|(known, _)| *known == key);
        let entry = at.and_then(|at| self.0.remove(at)).unwrap_or_else(|| (key, ByRequest::new()));
        self.0.truncate(KEPT - 1);
        self.0.push_front(entry);
        &mut self.0[0].1
    }
}

impl PuppetBridge {
    /// Makes the bridge to a function of which the code of `revision` is run, by `ruby` in `folder`, with this limit of
    /// time for an answer. Nothing is started yet.
    pub fn new(revision: Option<String>, ruby: Option<PathBuf>, folder: PathBuf, limit: Duration) -> PuppetBridge {
        PuppetBridge { revision, ruby, folder, limit, repository: OnceLock::new(), state: Mutex::default() }
    }

    /// Tells it of the repository with the trusted revision, and of the folders of modules beside those in it.
    pub fn open(&self, repository: &Repository, basemodulepath: &[String]) {
        let (repository, basemodulepath) = (repository.clone(), basemodulepath.to_vec());
        _ = self.repository.set(Site { repository, basemodulepath });
    }

    fn answer(&self, state: &mut State, call: &Call<'_>) -> Result<Answer, String> {
        let site = self.repository.get().ok_or("belongs to no repository")?;
        let State { running, trusted, answers } = state;
        let lib = match call.code {
            Some(code) => Some(trusted.check(&site.repository, self.revision.as_deref(), code)?),
            None => None,
        };
        let key = (call.data.map(|data| data.id), call.code.map(|code| code.lib.id));
        let request = json::compact(&Value::hash(call.fields.clone()));
        if let Some(answer) = answers.of(key).get(&request) {
            return answer.clone();
        }
        let running = match running {
            Some(running) => running,
            none => none.insert(self.start()?),
        };
        let answer = running.stage.request(call, lib, &site.basemodulepath).and_then(|staged| {
            let mut fields = call.fields.clone();
            fields.extend(staged);
            running.command.ask_anew(&json::compact(&Value::hash(fields)))
        });
        answers.of(key).insert(request, answer.clone());
        answer
    }

    fn start(&self) -> Result<Running, String> {
        let ruby = ruby::find(self.ruby.as_deref()).ok_or("needs Puppet, which is not on this machine")?;
        let stage = Stage::new(PROGRAM).map_err(|error| failed(&error))?;
        let program = stage.path("bridge.rb").display().to_string();
        let arguments = vec!["-W0".into(), "--disable=error_highlight,did_you_mean".into(), program];
        let folder = if self.folder.as_os_str().is_empty() { PathBuf::from(".") } else { self.folder.clone() };
        let command = BackendCommand::new(ruby.display().to_string(), arguments, folder, self.limit);
        Ok(Running { command: command.starting_within(START), stage })
    }
}

impl Bridge for PuppetBridge {
    fn ask(&self, call: Call<'_>) -> Result<Answer, String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.answer(&mut state, &call)
    }
}

impl Stage {
    /// Writes the files of a call. Returns the fields of the request that name them.
    fn request(
        &mut self,
        call: &Call<'_>,
        lib: Option<(&CommitTree, &Folder)>,
        basemodulepath: &[String],
    ) -> Result<Hash, String> {
        let text = |path: &Path| Value::from(path.display().to_string());
        let root = call.data.map(|data| self.data(call.tree, data)).transpose()?;
        let code = call.code.zip(lib).map(|(code, (tree, lib))| self.code(tree, &code.module, lib)).transpose()?;
        let path = match (call.path, call.data, &root) {
            (Some(path), Some(data), Some(root)) => text(&below(root, data, path)),
            (Some(path), _, _) => path.into(),
            (None, ..) => Value::Undef,
        };
        let modulepath = code.iter().map(|code| text(code)).chain(basemodulepath.iter().map(|path| (&**path).into()));
        let entries: [(&str, Value); 4] = [
            ("path", path),
            ("modulepath", modulepath.collect()),
            ("stage", text(self.root())),
            ("root", root.as_deref().map_or(Value::Undef, text)),
        ];
        Ok(entries.into_iter().collect())
    }
}

/// Returns the place of `path`, which lies in `data`, where that is written below `root`.
fn below(root: &Path, data: &Folder, path: &str) -> PathBuf {
    let rest = path.strip_prefix(&data.path).unwrap_or(path);
    root.join(&data.path).join(rest.trim_start_matches('/'))
}
