//! A real repository: its newest commits, and what each changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use git2::{Oid, Repository as Git, build::CheckoutBuilder};

use super::answers::{self, Answer, Answers, Tally};
use super::difference::{self, Difference};
use super::hierad::Hierad;
use super::json::Json;
use super::puppet::{Puppet, Told};
use super::{Args, Fault};

/// The most differences of one commit to print.
const SHOWN: usize = 6;

/// What a change is, by node and key: before and after.
type Changes = BTreeMap<(String, String), [Option<Answer>; 2]>;

/// Compares the newest commits of `repository`; whether none differed.
pub(crate) fn run(args: &Args, repository: &Path, profiles: &Path) -> Result<bool, Fault> {
    let git = Git::open(repository)?;
    let hierad = Hierad::find(args)?;
    let commits = first_parents(&git, args.commits)?;
    let mut agree = true;
    for version in args.puppet.list() {
        let mut run = Run {
            git: &git,
            repository,
            profiles,
            hierad: &hierad,
            puppet: Puppet::start(args, *version)?,
            diffs: !args.only_render,
        };
        agree &= run.version(&commits, *version)?;
    }
    Ok(agree)
}

/// The newest commits along first parents, oldest first.
fn first_parents(git: &Git, count: usize) -> Result<Vec<Oid>, Fault> {
    let mut commits = Vec::new();
    let mut next = Some(git.head()?.peel_to_commit()?);
    while let Some(commit) = next.filter(|_| commits.len() < count) {
        commits.push(commit.id());
        next = commit.parent(0).ok();
    }
    commits.reverse();
    Ok(commits)
}

struct Run<'a> {
    git: &'a Git,
    repository: &'a Path,
    profiles: &'a Path,
    hierad: &'a Hierad,
    puppet: Puppet,
    diffs: bool,
}

impl Run<'_> {
    fn version(&mut self, commits: &[Oid], version: u8) -> Result<bool, Fault> {
        let mut agree = true;
        let mut tally = Tally::default();
        let mut changes = 0;
        let mut before: Option<(Oid, Told)> = None;
        for commit in commits {
            let rendered = self.hierad.render(self.repository, self.profiles, version, &commit.to_string())?;
            let told = self.puppet_at(*commit, &answers::keys(&rendered))?;
            tally.add(Tally::of(&told.answers, &rendered));
            agree &= report(&format!("{commit}, Puppet {version}"), &difference::between(&told.answers, &rendered));
            if let Some((parent, earlier)) = before.filter(|_| self.diffs) {
                let (expected, found) = self.change(version, (parent, &earlier), (*commit, &told))?;
                changes += expected.len();
                agree &= report_changes(&format!("diff {parent} {commit}, Puppet {version}"), &expected, &found);
            }
            before = Some((*commit, told));
        }
        let outcome = if agree { "no difference" } else { "they differ" };
        println!("Puppet {version}: {} commits, {tally}, {changes} changes: {outcome}", commits.len());
        Ok(agree)
    }

    fn puppet_at(&mut self, commit: Oid, keys: &BTreeSet<String>) -> Result<Told, Fault> {
        let folder = tempfile::tempdir()?;
        let object = self.git.find_object(commit, None)?;
        let mut options = CheckoutBuilder::new();
        self.git.checkout_tree(&object, Some(options.force().update_index(false).target_dir(folder.path())))?;
        let profiles = self.profiles.canonicalize()?;
        self.puppet.ask(folder.path(), &profiles, keys)
    }

    /// What changed between two commits, by Puppet's answers and by hierad. Both look at the keys of either commit.
    fn change(&mut self, version: u8, before: (Oid, &Told), after: (Oid, &Told)) -> Result<(Changes, Changes), Fault> {
        let keys: BTreeSet<String> = before.1.keys.union(&after.1.keys).cloned().collect();
        let mut answers = [&before, &after].map(|(_, told)| told.answers.clone());
        for (side, (commit, told)) in [before, after].into_iter().enumerate() {
            if told.keys != keys {
                answers[side] = self.puppet_at(commit, &keys)?.answers;
            }
        }
        let expected = changes_between(&answers[0], &answers[1]);
        let range = [before.0.to_string(), after.0.to_string()];
        let diff = self.hierad.diff(self.repository, self.profiles, version, [&range[0], &range[1]])?;
        Ok((expected, changes_of(&diff)?))
    }
}

fn changes_between(before: &Answers, after: &Answers) -> Changes {
    let differences = difference::between(before, after).into_iter();
    differences.map(|change| ((change.node, change.key), [change.puppet, change.hierad])).collect()
}

/// The changes hierad prints, by node and key. A change of an error's text alone is left out, as in what is expected.
fn changes_of(diff: &Json) -> Result<Changes, Fault> {
    let mut changes = Changes::new();
    for change in diff.get("changes").ok_or("no changes")?.items() {
        let key = change.get("key").ok_or("a change without a key")?.text();
        let sides = ["before", "after"].map(|side| change.get(side).and_then(answer));
        if difference::same(sides[0].as_ref(), sides[1].as_ref()) && matches!(sides[0], Some(Answer::Error(_))) {
            continue;
        }
        for node in change.get("nodes").ok_or("a change without nodes")?.items() {
            changes.insert((node.text().to_owned(), key.to_owned()), sides.clone());
        }
    }
    Ok(changes)
}

fn answer(side: &Json) -> Option<Answer> {
    match (side.get("value"), side.get("error")) {
        (Some(value), _) => Some(Answer::Value(value.clone())),
        (None, Some(error)) => Some(Answer::Error(error.text().to_owned())),
        (None, None) => None,
    }
}

fn report(title: &str, differences: &[Difference]) -> bool {
    if !differences.is_empty() {
        println!("{title}: {} differences", differences.len());
        differences.iter().take(SHOWN).for_each(|difference| println!("{difference}"));
    }
    differences.is_empty()
}

fn report_changes(title: &str, expected: &Changes, found: &Changes) -> bool {
    let agree = |place: &(String, String)| match (expected.get(place), found.get(place)) {
        (Some(one), Some(other)) => (0..2).all(|side| difference::same(one[side].as_ref(), other[side].as_ref())),
        _ => false,
    };
    let places: BTreeSet<_> = expected.keys().chain(found.keys()).filter(|place| !agree(place)).collect();
    if !places.is_empty() {
        println!("{title}: {} changes differ", places.len());
        for place in places.iter().take(SHOWN) {
            let text = |changes: &Changes| changes.get(*place).map_or_else(|| "no change".to_owned(), sides);
            println!("  {} {:?}\n    Puppet: {}\n    hierad: {}", place.0, place.1, text(expected), text(found));
        }
    }
    places.is_empty()
}

fn sides(change: &[Option<Answer>; 2]) -> String {
    let text = |answer: &Option<Answer>| answer.as_ref().map_or_else(|| "not found".to_owned(), Answer::to_string);
    format!("{} -> {}", text(&change[0]), text(&change[1]))
}
