//! A real repository: its newest commits, and what each changed.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::Path;

use git2::{Oid, Repository as Git, build::CheckoutBuilder};

use super::answers::{self, Answers, Tally};
use super::change::{self, Answered, Changes};
use super::difference;
use super::hierad::Hierad;
use super::puppet::{Puppet, Told};
use super::stage::{Outside, Subject};
use super::{Args, Fault};

/// The most differences of one commit to print.
const SHOWN: usize = 6;

/// Compares the newest commits of `repository`; whether none differed.
pub(crate) fn run(args: &Args, repository: &Path, profiles: &Path) -> Result<bool, Fault> {
    let git = Git::open(repository)?;
    let hierad = Hierad::find(args)?;
    let commits = first_parents(&git, args.commits)?;
    let outside = Outside::default();
    let mut agree = true;
    for version in args.puppet.list() {
        let mut run = Run {
            git: &git,
            subject: Subject { repository, profiles, outside: &outside },
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
    subject: Subject<'a>,
    hierad: &'a Hierad,
    puppet: Puppet,
    diffs: bool,
}

impl Run<'_> {
    fn version(&mut self, commits: &[Oid], version: u8) -> Result<bool, Fault> {
        let mut agree = true;
        let mut tally = Tally::default();
        let mut changes = 0;
        let mut before: Option<(Oid, Told, Answers)> = None;
        for commit in commits {
            let rendered = self.hierad.render(self.subject, version, &commit.to_string())?;
            let told = self.puppet_at(*commit, &answers::keys(&rendered))?;
            tally.add(Tally::of(&told.answers, &rendered));
            agree &= report(&format!("{commit}, Puppet {version}"), &difference::between(&told.answers, &rendered));
            if let Some((parent, earlier, old)) = before.filter(|_| self.diffs) {
                let (puppet, found) = self.change(version, (parent, &earlier), (*commit, &told))?;
                let answered = Answered { puppet: [&puppet[0], &puppet[1]], hierad: [&old, &rendered] };
                changes += answered.changed().len();
                let differences = answered.differences(&found);
                agree &= report(&format!("diff {parent} {commit}, Puppet {version}"), &differences);
            }
            before = Some((*commit, told, rendered));
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
        let profiles = self.subject.profiles.canonicalize()?;
        self.puppet.ask(Subject { repository: folder.path(), profiles: &profiles, ..self.subject }, keys)
    }

    /// Puppet's answers at two commits, and what changed between them by hierad. Both commits are asked for the keys of
    /// either, and for those that hierad names.
    fn change(
        &mut self,
        version: u8,
        before: (Oid, &Told),
        after: (Oid, &Told),
    ) -> Result<([Answers; 2], Changes), Fault> {
        let range = [before.0.to_string(), after.0.to_string()];
        let diff = self.hierad.diff(self.subject, version, [&range[0], &range[1]])?;
        let found = change::printed(&diff)?;
        let named = found.keys().map(|(_, key)| key);
        let keys: BTreeSet<String> = before.1.keys.union(&after.1.keys).chain(named).cloned().collect();
        let mut answers = [&before, &after].map(|(_, told)| told.answers.clone());
        for (side, (commit, told)) in [before, after].into_iter().enumerate() {
            if told.keys != keys {
                answers[side] = self.puppet_at(commit, &keys)?.answers;
            }
        }
        Ok((answers, found))
    }
}

fn report<T: Display>(title: &str, differences: &[T]) -> bool {
    if !differences.is_empty() {
        println!("{title}: {} differences", differences.len());
        differences.iter().take(SHOWN).for_each(|difference| println!("{difference}"));
    }
    differences.is_empty()
}
