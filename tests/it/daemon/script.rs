//! A team at work: commits on three branches, merges, rewritten and deleted branches, by dice.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use git2::{Oid, Repository, Signature, Time};

use crate::support::random::Random;

const BRANCHES: [&str; 3] = ["main", "topic", "release"];

/// After so many commits they are packed.
const PACK: usize = 40;

/// Somebody who makes commits, and knows what must be reported of them.
pub(super) struct Script {
    repository: Repository,
    random: Random,
    tips: BTreeMap<&'static str, Oid>,
    count: usize,
    /// The number of branches that were deleted: later ones have other names.
    deleted: BTreeMap<&'static str, usize>,
    /// True if branches lose no commits, so that nobody has to wait.
    is_calm: bool,
    /// The branch and id of each commit.
    pub(super) made: BTreeSet<(String, String)>,
}

impl Script {
    pub(super) fn new(folder: &std::path::Path, seed: u64) -> Script {
        let repository = Repository::open(folder).unwrap();
        let first = repository.refname_to_id("refs/heads/main").unwrap();
        let tips = [("main", first)].into();
        Script {
            repository,
            random: Random::new(seed),
            tips,
            count: 0,
            deleted: BTreeMap::new(),
            is_calm: false,
            made: BTreeSet::new(),
        }
    }

    /// Takes steps after which no commit is gone.
    pub(super) fn calm_steps(&mut self, count: usize) {
        self.is_calm = true;
        for _ in 0..count {
            self.step(&mut |_, _| {});
        }
        self.is_calm = false;
    }

    /// Takes a step. Before a branch loses commits, `seen` waits until they are reported, since later they cannot be.
    pub(super) fn step(&mut self, seen: &mut dyn FnMut(&str, &str)) {
        let branch = *self.random.pick(&BRANCHES);
        let Some(tip) = self.tips.get(branch).copied() else {
            let start = self.tips["main"];
            return self.commit(branch, &[start]);
        };
        match self.random.below(100) {
            0..10 if self.is_calm => self.commit(branch, &[tip]),
            0..5 if branch != "main" => {
                self.wait(branch, tip, seen);
                self.repository.find_reference(&self.reference(branch)).unwrap().delete().unwrap();
                self.tips.remove(branch);
                // One that is gone and there again while nobody looks has moved, with all that has come between.
                *self.deleted.entry(branch).or_default() += 1;
            }
            5..10 => {
                self.wait(branch, tip, seen);
                let parents: Vec<Oid> = self.repository.find_commit(tip).unwrap().parent_ids().collect();
                self.commit(branch, &parents);
                self.wait(branch, self.tips[branch], seen);
            }
            10..20 => {
                let other = self.tips.values().copied().find(|other| *other != tip);
                self.commit(branch, &[Some(tip), other].into_iter().flatten().collect::<Vec<_>>());
            }
            _ => self.commit(branch, &[tip]),
        }
    }

    /// Returns the present name of a branch.
    fn name(&self, branch: &str) -> String {
        let deleted = self.deleted.get(branch).map(|count| format!("-{count}"));
        format!("{branch}{}", deleted.unwrap_or_default())
    }

    fn reference(&self, branch: &str) -> String {
        format!("refs/heads/{}", self.name(branch))
    }

    fn wait(&self, branch: &str, tip: Oid, seen: &mut dyn FnMut(&str, &str)) {
        let commit = tip.to_string();
        let name = self.name(branch);
        if self.made.contains(&(name.clone(), commit.clone())) {
            seen(&name, &commit);
        }
    }

    /// Makes a commit that no other is like, and moves the branch to it.
    fn commit(&mut self, branch: &'static str, parents: &[Oid]) {
        self.count += 1;
        let repository = &self.repository;
        if self.count.is_multiple_of(PACK) {
            pack(repository);
        }
        let parents: Vec<_> = parents.iter().map(|parent| repository.find_commit(*parent).unwrap()).collect();
        let old = parents[0].tree().unwrap();
        let mut data = repository.treebuilder(Some(&folder(repository, &old, "data"))).unwrap();
        let blob = repository.blob(format!("number: {}\nfor: {branch}\n", self.count).as_bytes()).unwrap();
        data.insert("common.yaml", blob, 0o100_644).unwrap();
        let mut root = repository.treebuilder(Some(&old)).unwrap();
        root.insert("data", data.write().unwrap(), 0o040_000).unwrap();
        let tree = repository.find_tree(root.write().unwrap()).unwrap();
        let who = Signature::new("Ada", "ada@example.com", &Time::new(1_700_000_000, 0)).unwrap();
        let parents: Vec<_> = parents.iter().collect();
        let message = format!("commit {}", self.count);
        let id = repository.commit(None, &who, &who, &message, &tree, &parents).unwrap();
        repository.reference(&self.reference(branch), id, true, "test").unwrap();
        self.made.insert((self.name(branch), id.to_string()));
        self.tips.insert(branch, id);
    }
}

/// Makes one pack of all that there is, as git does by itself for those who do not write behind its back.
fn pack(repository: &Repository) {
    let mut git = Command::new("git");
    let status = git.arg("--git-dir").arg(repository.path()).args(["repack", "-a", "-d", "-q"]).status().unwrap();
    assert!(status.success(), "{status}");
}

fn folder<'r>(repository: &'r Repository, tree: &git2::Tree<'_>, name: &str) -> git2::Tree<'r> {
    repository.find_tree(tree.get_name(name).unwrap().id()).unwrap()
}
