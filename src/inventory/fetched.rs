//! A source together with the file that keeps its answers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::answers::grafted;
use super::answers::store::{Answer, Store, Stored};
use super::sources::{self, Answers, Asked, Nodes, Source};
use super::{FactNames, FetchError};
use crate::settings::SourceSetting;

/// A source, and the file of its last answer.
#[derive(Debug, Clone)]
pub struct SourceFiles {
    setting: SourceSetting,
    store: Store,
}

/// The facts and nodes that a source is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The facts, for sources that have facts.
    pub facts: FactNames,
    /// The nodes that earlier entries declare, for sources that are asked about each node.
    pub nodes: Vec<Arc<str>>,
}

/// The maximum number of attempts to read an answer.
const MAX_ATTEMPTS: usize = 3;

/// An answer to use, and a notice about it.
pub(super) struct Usable {
    pub(super) stored: Stored,
    /// The reason why the answer is old, if a new one was due.
    pub(super) notice: Option<String>,
}

impl SourceFiles {
    /// Returns the files of a source in `folder`, which need not exist.
    pub fn new(setting: &SourceSetting, folder: &Path) -> SourceFiles {
        let (kind, identity) = sources::source_for(setting).identity();
        SourceFiles { setting: setting.clone(), store: Store::new(folder, kind, &identity) }
    }

    fn source(&self) -> Box<dyn Source + '_> {
        sources::source_for(&self.setting)
    }

    /// Returns the name of the source for messages.
    pub fn label(&self) -> String {
        self.setting.to_string()
    }

    /// Returns the last answer, or `None` if there is none.
    pub fn last(&self) -> Option<Stored> {
        self.store.last()
    }

    /// Returns the last answer, or `None` if there is none, or if its lines are needed and cannot be read.
    fn readable(&self) -> Option<Stored> {
        self.last().filter(|stored| !self.is_overlay() || stored.lines().is_ok())
    }

    /// Returns the name of its answers in an [`AnswerSet`](super::AnswerSet).
    pub(super) fn name(&self) -> &str {
        self.store.name()
    }

    /// Returns the answer in `file`, or `None` if it is no longer kept.
    pub(super) fn kept(&self, file: &str) -> Option<Stored> {
        self.store.kept(file)
    }

    /// Returns true if the source is asked about each node, and has no nodes of its own.
    pub(super) fn is_overlay(&self) -> bool {
        self.source().is_overlay()
    }

    /// Returns true if it knows all existing nodes.
    pub(super) fn knows_all(&self) -> bool {
        self.source().knows_all()
    }

    /// Returns true if the last answer is too old, or missing.
    pub(super) fn is_due(&self) -> bool {
        self.last().is_none_or(|last| !self.is_fresh(&last))
    }

    /// Returns an answer to a request: the last one if it is fresh, or however old if `takes_old`, or else a new one.
    /// If a new one is not available, the last one stays in use, unless it lacks something that is requested.
    pub(super) fn usable(&self, request: &Request, takes_old: bool) -> Result<Usable, FetchError> {
        let last = self.readable();
        let serves = last.as_ref().map_or(Ok(false), |stored| self.serves(stored, request))?;
        let is_usable = |stored: &&Stored| serves && (takes_old || self.is_fresh(stored));
        if let Some(stored) = last.as_ref().filter(is_usable) {
            return Ok(Usable { stored: stored.clone(), notice: None });
        }
        match (self.fetch_some(request, last.as_ref()), last) {
            (Ok(usable), _) => Ok(usable),
            (Err(error), Some(stored)) if serves => {
                let notice = format!("{error}; the nodes of {} ago stay in use", age_in_words(stored.age()));
                Ok(Usable { stored, notice: Some(notice) })
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Returns an answer to a request that agrees with `pinned`. Anything missing there comes from the last answer or
    /// a new one.
    pub(super) fn pinned(&self, pinned: Stored, request: &Request) -> Result<Usable, FetchError> {
        if self.serves(&pinned, request)? {
            return Ok(Usable { stored: pinned, notice: None });
        }
        let grafted = if self.is_overlay() { grafted::with_nodes } else { grafted::with_facts };
        let mut attempts = 0;
        loop {
            let Usable { stored: newer, notice } = self.usable(request, true)?;
            attempts += 1;
            match grafted(&pinned, &newer) {
                Ok(answer) => return Ok(Usable { stored: self.store.keep_beside(&self.label(), answer)?, notice }),
                // Newer answers have displaced it meanwhile.
                Err(FetchError::Store { .. }) if attempts < MAX_ATTEMPTS && !newer.path.exists() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Asks the source even if its last answer is fresh. The new answer has these facts, and those of the last one.
    pub fn fetch(&self, request: &Request) -> Result<Stored, FetchError> {
        Ok(self.fetch_nodes(request, &request.nodes, self.readable().as_ref())?.stored)
    }

    fn is_fresh(&self, stored: &Stored) -> bool {
        stored.age() < self.source().refresh()
    }

    fn serves(&self, stored: &Stored, request: &Request) -> Result<bool, FetchError> {
        if self.is_overlay() {
            Ok(stored.missing(&request.nodes)?.is_empty())
        } else {
            Ok(stored.header.facts.cover(&request.facts))
        }
    }

    /// Asks for everything, or only about the nodes that a fresh answer about each node lacks.
    fn fetch_some(&self, request: &Request, last: Option<&Stored>) -> Result<Usable, FetchError> {
        match last.filter(|stored| self.is_overlay() && self.is_fresh(stored)) {
            Some(stored) => self.fetch_nodes(request, &stored.missing(&request.nodes)?, last),
            None => self.fetch_nodes(request, &request.nodes, last),
        }
    }

    fn fetch_nodes(&self, request: &Request, nodes: &[Arc<str>], last: Option<&Stored>) -> Result<Usable, FetchError> {
        // Facts that were requested once are requested again.
        let facts = last.map_or_else(FactNames::default, |last| last.header.facts.clone()).with(&request.facts);
        match self.source().ask(&facts, nodes)? {
            Asked::All(Nodes { lines, count, facts }) => {
                let answer = Answer { lines, count, facts, ..Answer::default() };
                Ok(Usable { stored: self.store.keep(&self.label(), answer)?, notice: None })
            }
            Asked::Each(answers) => self.keep_each(&answers, request, nodes, last),
        }
    }

    /// Keeps the new answers about some of the requested nodes, and the last ones about the others.
    fn keep_each(
        &self,
        answers: &Answers,
        request: &Request,
        nodes: &[Arc<str>],
        last: Option<&Stored>,
    ) -> Result<Usable, FetchError> {
        let lines = last.map(Stored::lines).transpose()?.unwrap_or_default();
        let failed = last.map(|last| last.header.failed.clone()).unwrap_or_default();
        let merge = Merge { answers, lines, failed };
        let (mut answer, kept) = merge.answer(&request.nodes);
        let failure = merge.failure();
        if let Some(failure) = failure.clone().filter(|_| answer.count == 0) {
            return Err(FetchError::Program(failure));
        }
        // Anything that is not up to date is requested again next time.
        let is_old = nodes.len() < request.nodes.len() || failure.is_some();
        answer.fetched = last.filter(|_| is_old).map(|last| last.header.fetched);
        let stored = self.store.keep(&self.label(), answer)?;
        let notice = match failure {
            Some(failure) if kept > 0 => {
                Some(format!("{failure}; the answers of {} ago stay in use", age_in_words(stored.age())))
            }
            None if kept > 0 => Some(format!("it fails for {kept} nodes, which stay as they were last")),
            _ => None,
        };
        Ok(Usable { stored, notice })
    }
}

/// The new answers for some nodes, and the last ones.
struct Merge<'a> {
    answers: &'a Answers,
    lines: BTreeMap<String, String>,
    failed: BTreeMap<String, String>,
}

impl Merge<'_> {
    /// Returns the answer for all `nodes`, and the number of those that keep their last one because the new one is an
    /// error. Nodes that were not asked about keep theirs, too.
    fn answer(&self, nodes: &[Arc<str>]) -> (Answer, usize) {
        let (mut answer, mut kept) = (Answer::default(), 0);
        for node in nodes {
            let new = self.answers.get(node);
            let line = match new {
                Some(Ok(line)) => Some(line),
                _ => self.lines.get(&**node).inspect(|_| kept += usize::from(new.is_some())),
            };
            let error = || new.and_then(|new| new.as_ref().err()).or_else(|| self.failed.get(&**node));
            if let Some(line) = line {
                answer.lines.extend(line.as_bytes());
                answer.lines.push(b'\n');
                answer.count += 1;
            } else if let Some(error) = error() {
                answer.failed.insert(node.to_string(), error.clone());
            }
        }
        (answer, kept)
    }

    /// Returns the first error, if all answers are errors.
    fn failure(&self) -> Option<String> {
        let errors = self.answers.iter().map(|(node, answer)| Some((node, answer.as_ref().err()?)));
        let errors: Vec<_> = errors.collect::<Option<_>>()?;
        errors.first().map(|(node, error)| format!("asked for {node}, it {error}"))
    }
}

/// Returns an age in the largest unit of which it has more than one, such as `3 h`.
pub fn age_in_words(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        7200..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::answers::store::age;
    use crate::inventory::files::EnvironmentOfNodes;
    use crate::inventory::{AnswerSet, Inventory};
    use crate::node::Wanted;
    use crate::settings::{ProfileEntry, PuppetDbSetting, ServerSetting};
    use crate::workers::Workers;

    #[test]
    fn answers_that_a_report_was_made_with_stay() {
        let folder = tempfile::tempdir().unwrap();
        let setting = SourceSetting::PuppetDb(PuppetDbSetting {
            server: ServerSetting {
                url: "http://localhost:9".to_owned(),
                token: None,
                certificate: None,
                authorities: None,
                timeout: Duration::from_secs(1),
            },
            query: None,
            classes: false,
            page: 1,
            refresh: Duration::from_secs(1),
        });
        let source = SourceFiles::new(&setting, folder.path());
        let keep = |fact: &str, value: usize| {
            let lines = format!("{{\"name\":\"a\",\"facts\":{{\"{fact}\":{value}}}}}\n").into_bytes();
            let facts = FactNames::Some([fact.to_owned()].into());
            let stored = source.store.keep("a", Answer { lines, count: 1, facts, ..Answer::default() }).unwrap();
            age(folder.path());
            stored
        };
        // A report is made with an answer, and then one with that and another fact.
        let first = keep("os", 1);
        let mut in_use = AnswerSet::of([(source.name(), &*first.header.file)]);
        for fact in ["os", "site"] {
            keep(fact, 2);
            let inventory = Inventory {
                entries: vec![ProfileEntry::Source(setting.clone())],
                within: None,
                folder: folder.path().to_owned(),
                takes_old_answers: true,
                answers: Some(in_use),
                environment: EnvironmentOfNodes::Declared("production".into()),
                workers: Workers::of(1),
                cache: None,
            };
            let mut wanted = Wanted::default();
            wanted.add("facts", &[fact.into()]);
            let opened = inventory.open(&wanted).unwrap();
            in_use = AnswerSet::from_text(&opened.source.answers().unwrap()).unwrap();
            // Newer answers arrive before anybody marks those of the report as in use.
            age(folder.path());
            (3..6).for_each(|value| _ = keep(fact, value));
            let kept = source.kept(in_use.file(source.name()).unwrap()).expect(fact);
            assert!(std::fs::read_to_string(kept.path).unwrap().contains("\"os\":1"), "{fact}");
        }
    }

    #[test]
    fn ages_are_told_in_words() {
        for (seconds, expected) in [(0, "0 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (200_000, "2 days")] {
            assert_eq!(age_in_words(Duration::from_secs(seconds)), expected);
        }
    }
}
