//! Counts the commits of a real history that have blind spots, before and after hierad's proposals are in the settings.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use git2::{Repository as Git, Sort};
use serde_json::{Map, Value, json};

use super::hierad::{AS_SET, Hierad};
use super::json::Json;
use super::stage::{Outside, Subject};
use super::{Args, Fault};

/// The most times that proposed fixes are put into the settings.
const ROUNDS: usize = 8;

/// The most commits in a hundred that touch data and may have blind spots in the end.
const MOST: usize = 5;

/// The ends of the names of files that are data or decide about it.
const DATA: [&str; 6] = [".yaml", ".yml", ".json", ".eyaml", ".conf", ".eyml"];

/// Settings of which fixes consist.
const SETTINGS: [&str; 5] = ["accept: ", "datadirs: ", "backends: ", "hiera_config: ", "hiera: "];

/// A commit and its first parent.
pub(crate) struct Change {
    pub(crate) range: [String; 2],
    is_of_data: bool,
}

/// hierad's blind spots in all commits, with some settings.
#[derive(Default)]
struct Survey {
    /// The commits that touch data, and the others; how many of each have blind spots.
    commits: [usize; 2],
    blind: [usize; 2],
    codes: BTreeMap<String, usize>,
    fixes: BTreeSet<String>,
}

impl fmt::Display for Survey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([of_data, others], [blind, blind_others]) = (self.commits, self.blind);
        write!(
            f,
            "{blind} of {of_data} commits that touch data have blind spots, and {blind_others} of {others} others"
        )?;
        self.codes.iter().try_for_each(|(code, count)| write!(f, "; {code} {count}"))
    }
}

/// Surveys the history of `repository` until the settings have all that is proposed. Returns true if few enough commits
/// have blind spots.
pub(crate) fn run(args: &Args, repository: &Path, profiles: &Path) -> Result<bool, Fault> {
    let changes = changes(&Git::open(repository)?, args.commits)?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("hierad.yaml");
    let hierad = Hierad::find(args)?;
    let outside = Outside::default();
    let subject = Subject { repository, profiles, outside: &outside };
    let mut settings = json!({});
    let mut round = 0;
    loop {
        std::fs::write(&file, settings.to_string())?;
        let arguments = ["--config".to_owned(), file.display().to_string()];
        let survey = survey(&changes, args.jobs, |change| {
            let [before, after] = &change.range;
            hierad.judge(subject, AS_SET, [before, after], &arguments)
        })?;
        println!("fixes put into the settings {round} times: {survey}");
        let before = settings.clone();
        survey.fixes.iter().filter_map(|fix| proposed(fix)).for_each(|fix| merge(&mut settings, fix));
        round += 1;
        if settings == before || round == ROUNDS {
            return Ok(survey.blind[0] * 100 <= survey.commits[0] * MOST && survey.blind[1] == 0);
        }
    }
}

/// At most `count` commits of the whole history, evenly.
pub(crate) fn changes(git: &Git, count: usize) -> Result<Vec<Change>, Fault> {
    let mut walk = git.revwalk()?;
    walk.push_head()?;
    walk.set_sorting(Sort::TOPOLOGICAL)?;
    let mut all = Vec::new();
    for id in walk {
        let commit = git.find_commit(id?)?;
        if let Ok(parent) = commit.parent(0) {
            all.push((parent, commit));
        }
    }
    let step = all.len().div_ceil(count.max(1)).max(1);
    let change = |(parent, commit): &(git2::Commit<'_>, git2::Commit<'_>)| {
        let diff = git.diff_tree_to_tree(Some(&parent.tree()?), Some(&commit.tree()?), None)?;
        let paths = diff.deltas().filter_map(|delta| delta.new_file().path().map(Path::to_owned));
        let is_data = |path: &Path| path.to_str().is_some_and(|path| DATA.iter().any(|end| path.ends_with(end)));
        let is_of_data = paths.into_iter().any(|path| is_data(&path));
        Ok(Change { range: [parent.id().to_string(), commit.id().to_string()], is_of_data })
    };
    all.iter().step_by(step).map(change).collect()
}

fn survey(
    changes: &[Change],
    jobs: usize,
    judge: impl Fn(&Change) -> Result<Option<Json>, Fault> + Sync,
) -> Result<Survey, Fault> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new((Survey::default(), None));
    thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while let Some(change) = changes.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let report = judge(change);
                    let mut found = found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    match report {
                        Ok(Some(report)) => found.0.add(change, &report),
                        Ok(None) => found.1 = Some(format!("{}: hierad refuses", change.range[1]).into()),
                        Err(fault) => found.1 = Some(fault),
                    }
                }
            });
        }
    });
    let (survey, fault) = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    fault.map_or(Ok(survey), Err)
}

impl Survey {
    fn add(&mut self, change: &Change, report: &Json) {
        let spots = report.get("blind_spots").map(Json::items).unwrap_or_default();
        let kind = usize::from(!change.is_of_data);
        self.commits[kind] += 1;
        self.blind[kind] += usize::from(!spots.is_empty());
        let text = |name| spots.iter().filter_map(move |spot| spot.get(name)).map(|text| text.text().to_owned());
        for code in text("code").collect::<BTreeSet<_>>() {
            *self.codes.entry(code).or_default() += 1;
        }
        self.fixes.extend(text("fix"));
    }
}

/// The settings that a fix says to put into the file; nothing where it leaves a choice.
fn proposed(fix: &str) -> Option<Value> {
    let (at, name) = SETTINGS.iter().find_map(|name| Some((fix.find(name)?, *name)))?;
    let text = fix[at + name.len()..].split("    # or ").next()?;
    let words = [(": none", ": \"none\""), ("{not_found:", "{\"not_found\":")];
    let mut text = words.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    if name == "accept: " {
        text = text.replacen('{', "{\"", 1).replacen(':', "\":", 1);
    }
    let value: Value = if name == "hiera: " { text.into() } else { serde_json::from_str(&text).ok()? };
    let mut settings = Map::new();
    settings.insert(name.trim_end_matches(": ").to_owned(), value);
    Some(settings.into())
}

/// Adds what is new; what is there stays.
fn merge(settings: &mut Value, new: Value) {
    match (settings, new) {
        (Value::Object(settings), Value::Object(new)) => {
            for (key, value) in new {
                match settings.get_mut(&key) {
                    Some(known) => merge(known, value),
                    None => _ = settings.insert(key, value),
                }
            }
        }
        (Value::Array(settings), Value::Array(new)) => {
            let unknown: Vec<Value> = new.into_iter().filter(|value| !settings.contains(value)).collect();
            settings.extend(unknown);
        }
        _ => {}
    }
}
