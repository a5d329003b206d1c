//! The site's own functions in Ruby, which the machine's Puppet runs.
//!
//! A [`PuppetBridge`] is one function. Its code is that of a trusted revision (`trusted`), never that of a commit
//! under review; the files that it reads are those of the revision that is asked about. Both are written to a private
//! folder (`stage`). A Ruby process answers there (`bridge.rb`), like a command of the settings.

mod answers;
pub mod ruby;
mod stage;
mod trusted;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use indexmap::IndexMap;

use super::command::BackendCommand;
use crate::diagnostic::Place;
use crate::git::Repository;
use crate::hiera::Failed;
use crate::hiera::backend::{Answer, Bridge, Call, Folder, Mentions};
use crate::puppet::json;
use crate::tree::{BlobId, FileTree, child};
use crate::value::{Hash, Value};

use answers::{Answers, Outcome};
use stage::{Stage, failed};
use trusted::Trusted;

/// The files of the program that Ruby runs. It starts with the first one.
const PROGRAM: [(&str, &str); 3] =
    [("bridge.rb", include_str!("bridge.rb")), ("access.rb", include_str!("access.rb")), ("watch.rb", WATCH)];

/// The part of it that watches the ways in which Ruby reaches files and programs.
pub const WATCH: &str = include_str!("watch.rb");

/// The time that Puppet may take to start.
const START_LIMIT: Duration = Duration::from_mins(1);

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

/// The line of a request, with the references in its files; or the reason why the request is not made.
type Line = Result<(String, Option<Arc<Mentions>>), String>;

/// The process, its files and its answers so far.
#[derive(Debug, Default)]
struct State {
    running: Option<Running>,
    trusted: Trusted,
    answers: Answers,
}

#[derive(Debug)]
struct Running {
    // Dropped first: the process ends before its files are removed.
    command: BackendCommand,
    stage: Stage,
}

/// The files of the trusted revision, and the folder of the code in them; `None` if the code is that of the machine's
/// Puppet.
type TrustedCode<'t> = Option<(&'t dyn FileTree, &'t Folder)>;

impl PuppetBridge {
    /// Makes the bridge to a function whose code at `revision` is run by `ruby` in `folder`, with this time limit for
    /// an answer. Nothing is started yet.
    pub fn new(revision: Option<String>, ruby: Option<PathBuf>, folder: PathBuf, limit: Duration) -> PuppetBridge {
        PuppetBridge { revision, ruby, folder, limit, repository: OnceLock::new(), state: Mutex::default() }
    }

    /// Sets the repository with the trusted revision, and the folders of modules outside it.
    pub fn open(&self, repository: &Repository, basemodulepath: &[String]) {
        let (repository, basemodulepath) = (repository.clone(), basemodulepath.to_vec());
        _ = self.repository.set(Site { repository, basemodulepath });
    }

    /// Returns the answers to `calls`; unknown ones are requested together.
    fn answers(&self, state: &mut State, calls: &[Call<'_>]) -> Vec<Outcome> {
        let requests: Vec<Result<BlobId, String>> = calls.iter().map(|call| self.request(state, call)).collect();
        let mut found: HashMap<BlobId, Outcome> = HashMap::new();
        let mut unknown: IndexMap<BlobId, &Call<'_>> = IndexMap::new();
        for (request, call) in requests.iter().zip(calls) {
            let Ok(request) = request else { continue };
            match state.answers.get(request) {
                Some(answer) => _ = found.insert(*request, answer.clone()),
                None => _ = unknown.insert(*request, call),
            }
        }
        // Files are written only for the calls that are made next: the files of later calls may replace them.
        let unknown: Vec<(BlobId, &Call<'_>)> = unknown.into_iter().collect();
        for together in unknown.chunk_by(|(_, one), (_, other)| one.data == other.data) {
            let calls: Vec<&Call<'_>> = together.iter().map(|(_, call)| *call).collect();
            for ((request, _), answer) in together.iter().zip(self.ask_together(state, &calls)) {
                state.answers.insert(*request, answer.clone());
                found.insert(*request, answer);
            }
        }
        let answer = |request| found.get(&request).cloned().unwrap_or_else(|| Err("gave no answer".into()));
        requests.into_iter().map(|request| request.and_then(answer)).collect()
    }

    /// Returns a digest of everything that the answer to a call depends on, or the reason why the request is not
    /// made.
    fn request(&self, state: &mut State, call: &Call<'_>) -> Result<BlobId, String> {
        self.code(&mut state.trusted, call)?;
        let id = |folder: Option<&Folder>| folder.map(|folder| folder.id.to_string()).unwrap_or_default();
        let (key, fields) = (json::compact(&call.key), json::compact(&Value::hash(call.fields.clone())));
        let all = [&*id(call.data), &*id(call.code.map(|code| &code.lib)), &*key, &*fields];
        Ok(BlobId::of(all.join("\n").as_bytes()))
    }

    /// Returns the trusted code of a call, if the repository has it, or the reason why it is not run.
    fn code<'t>(&self, trusted: &'t mut Trusted, call: &Call<'_>) -> Result<TrustedCode<'t>, String> {
        let site = self.site()?;
        match call.code {
            Some(code) => trusted.check(&site.repository, self.revision.as_deref(), code).map(Some),
            None => Ok(None),
        }
    }

    fn site(&self) -> Result<&Site, String> {
        self.repository.get().ok_or_else(|| "belongs to no repository".into())
    }

    /// Makes calls that read the same files.
    fn ask_together(&self, state: &mut State, calls: &[&Call<'_>]) -> Vec<Outcome> {
        let mut line = |call: &Call<'_>| {
            let basemodulepath = &self.site()?.basemodulepath;
            let code = self.code(&mut state.trusted, call)?;
            let running = match &mut state.running {
                Some(running) => running,
                none => none.insert(self.start()?),
            };
            let (staged, mentions) = running.stage.request(call, code, basemodulepath)?;
            let mut fields = call.fields.clone();
            fields.extend(staged);
            let (key, fields) = (json::compact(&call.key), json::compact(&Value::hash(fields)));
            Ok((format!("{{\"key\":{key},\"of\":{fields}}}"), mentions))
        };
        let lines: Vec<Line> = calls.iter().map(|call| line(call)).collect();
        let sent: Vec<String> = lines.iter().flatten().map(|(line, _)| line.clone()).collect();
        let answers = state.running.as_ref().map(|running| running.command.ask_anew(&sent)).unwrap_or_default();
        let mut answers = answers.into_iter();
        let is_hash = calls.iter().any(|call| call.fields.get("kind").and_then(Value::as_str) == Some("data_hash"));
        let mut next = || answers.next().unwrap_or_else(|| Err("gave no answer".into()));
        let mut answer = |(line, call): (Line, &&Call<'_>)| {
            let (_, mentions) = line?;
            let answer = in_repository(next()?, call);
            let value = match &answer {
                Answer::Template(value) => Some(value),
                // Everything in such a hash is interpolated.
                Answer::Found(value @ Value::Hash(_)) if is_hash => Some(value),
                _ => None,
            };
            check_references(value, mentions.as_deref()).map(|()| answer)
        };
        lines.into_iter().zip(calls).map(&mut answer).collect()
    }

    fn start(&self) -> Result<Running, String> {
        let ruby = ruby::find(self.ruby.as_deref()).ok_or("needs Puppet, which is not on this machine")?;
        let stage = Stage::new(&PROGRAM).map_err(|error| failed(&error))?;
        let program = stage.path("bridge.rb").display().to_string();
        // The process removes its files once hierad is gone.
        let hierad = std::process::id().to_string();
        let arguments = vec!["-W0".into(), "--disable=error_highlight,did_you_mean".into(), program, hierad];
        let folder = if self.folder.as_os_str().is_empty() { PathBuf::from(".") } else { self.folder.clone() };
        let command = BackendCommand::new(ruby.display().to_string(), arguments, folder, self.limit);
        Ok(Running { command: command.starting_within(START_LIMIT).in_own_group(), stage })
    }
}

impl Bridge for PuppetBridge {
    fn ask(&self, calls: &[Call<'_>]) -> Vec<Result<Answer, String>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.answers(&mut state, calls)
    }
}

impl Stage {
    /// Writes the files of a call. Returns the fields of the request that name them, and the references in the files if
    /// the settings promise which are read.
    fn request(
        &mut self,
        call: &Call<'_>,
        lib: TrustedCode<'_>,
        basemodulepath: &[String],
    ) -> Result<(Hash, Option<Arc<Mentions>>), String> {
        let text = |path: &Path| Value::from(path.display().to_string());
        let data = call.data.map(|data| self.data(call.tree, data)).transpose()?;
        let (root, mentions) = data.map_or((None, None), |data| (Some(data.root), data.mentions));
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
        Ok((entries.into_iter().collect(), mentions))
    }
}

/// Returns the answer with the place of a failure in the repository, if the code is there.
fn in_repository(answer: Answer, call: &Call<'_>) -> Answer {
    let Answer::Failed(Failed { text, place: Some(place) }) = answer else { return answer };
    let inside = call.code.and_then(|code| {
        let rest = place.path.strip_prefix(&*code.module)?.strip_prefix("/lib/")?;
        Some(child(&code.lib.path, rest).into())
    });
    let path = inside.unwrap_or(place.path);
    Answer::Failed(Failed { text, place: Some(Place { path, ..place }) })
}

/// Refuses a value to be interpolated if it refers to keys that do not appear in its files: a comparison of revisions
/// looks for references there.
fn check_references(value: Option<&Value>, shown: Option<&Mentions>) -> Result<(), String> {
    match value.zip(shown) {
        Some((value, shown)) if !Mentions::of(value).are_among(shown) => {
            Err("makes up an interpolation that no file shows, which 'reads: path' does not allow: remove 'reads'"
                .into())
        }
        _ => Ok(()),
    }
}

/// Returns the place below `root` where `path`, which is in `data`, is written.
fn below(root: &Path, data: &Folder, path: &str) -> PathBuf {
    let rest = path.strip_prefix(&data.path).unwrap_or(path);
    root.join(&data.path).join(rest.trim_start_matches('/'))
}
