//! People at work on several repositories: many commits at once, branches that come, go and come again, and rewritten
//! ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use git2::{Oid, Repository};

use super::ledger::{Ledger, Made};
use crate::daemon::numbered;
use crate::daemon::service::SITE;
use crate::support::Sandbox;
use crate::support::random::Random;

/// The branches that come and go. Of two neighbours, only one can be there.
const SHORT: [&str; 8] = ["fix", "fix/x", "feature", "feature/x", "topic", "topic/a", "next", "next/b"];

/// The most branches that get commits at once.
const AT_ONCE: usize = 4;

/// A branch that is there.
#[derive(Clone)]
pub(super) struct Live {
    pub(super) tip: Oid,
    /// The value of its last commit.
    pub(super) number: u64,
    /// The parent of its last commit, if it has one of its own.
    former: Option<Oid>,
    /// The number of commits that the name had before.
    pub(super) since: usize,
}

/// A repository.
pub(super) struct Site {
    pub(super) name: &'static str,
    sandbox: Sandbox,
    pub(super) branches: BTreeMap<String, Live>,
}

impl Site {
    pub(super) fn root(&self) -> &Path {
        self.sandbox.root()
    }

    /// Its place while it is not there.
    pub(super) fn elsewhere(&self) -> PathBuf {
        self.sandbox.beside("elsewhere")
    }

    fn name_of(&self, branch: &str) -> (String, String) {
        (self.name.to_owned(), branch.to_owned())
    }
}

pub(super) struct Team {
    pub(super) sites: Vec<Site>,
    random: Random,
    pub(super) count: u64,
}

impl Team {
    pub(super) fn new(names: &[&'static str], seed: u64) -> Team {
        let site = |name: &&'static str| {
            let sandbox = Sandbox::of(SITE);
            sandbox.git(["config", "gc.autoDetach", "false"]);
            let tip = Repository::open(sandbox.root()).unwrap().refname_to_id("refs/heads/main").unwrap();
            let main = Live { tip, number: 0, former: None, since: 0 };
            Site { name, sandbox, branches: BTreeMap::from([("main".to_owned(), main)]) }
        };
        Team { sites: names.iter().map(site).collect(), random: Random::new(seed), count: 0 }
    }

    pub(super) fn site(&self, name: &str) -> &Site {
        self.sites.iter().find(|site| site.name == name).unwrap()
    }

    /// Makes so many commits in all repositories but some. Those that may not be looked at soon lose none.
    pub(super) fn push(&mut self, commits: usize, ledger: &mut Ledger, without: &[&str], unseen: &[&str]) {
        let Team { sites, random, count } = self;
        let sites: Vec<&mut Site> = sites.iter_mut().filter(|site| !without.contains(&site.name)).collect();
        let number = sites.len();
        for (at, site) in sites.into_iter().enumerate() {
            let share = commits * (at + 1) / number - commits * at / number;
            let mut push = Push { repository: Repository::open(site.root()).unwrap(), site, ledger, count };
            let may_lose = !unseen.contains(&push.site.name);
            push.some(share, random, may_lose);
        }
    }

    /// Deletes some branches, and returns them.
    pub(super) fn delete(&mut self, without: &[&str], is_over: impl Fn(&Site, &str)) -> usize {
        let mut deleted = 0;
        for site in self.sites.iter_mut().filter(|site| !without.contains(&site.name)) {
            let names: Vec<String> = site.branches.keys().filter(|name| *name != "main").cloned().collect();
            for name in names {
                if self.random.below(3) > 0 {
                    continue;
                }
                is_over(site, &name);
                numbered::delete(&Repository::open(site.root()).unwrap(), &name);
                site.branches.remove(&name);
                deleted += 1;
            }
        }
        deleted
    }
}

/// Some commits in one repository, which come to its branches together.
struct Push<'t> {
    repository: Repository,
    site: &'t mut Site,
    ledger: &'t mut Ledger,
    count: &'t mut u64,
}

impl Push<'_> {
    fn some(&mut self, commits: usize, random: &mut Random, may_lose: bool) {
        let (mut names, mut rewritten) = (vec!["main".to_owned()], Vec::new());
        let mut left = commits;
        for _ in 1..AT_ONCE {
            let name = *random.pick(&SHORT);
            let is_live = self.site.branches.contains_key(name);
            if names.iter().any(|other| other == name) || rewritten.contains(&name) || !is_live && !self.begin(name) {
                continue;
            }
            // A tip that is gone before anybody has looked is not reported.
            if is_live && may_lose && left > 0 && random.below(4) == 0 && self.rewrite(name) {
                left -= 1;
                rewritten.push(name);
                continue;
            }
            names.push(name.to_owned());
        }
        for _ in 0..left {
            let name = random.pick(&names).clone();
            self.commit(&name);
        }
        for name in names {
            match self.site.branches[&name].former {
                None if name != "main" => drop(self.site.branches.remove(&name)),
                _ => numbered::advance(&self.repository, &name, self.site.branches[&name].tip),
            }
        }
    }

    /// Begins a branch, unless another one is in its way.
    fn begin(&mut self, name: &str) -> bool {
        let is_in_the_way = |other: &String| {
            other.strip_prefix(name).or_else(|| name.strip_prefix(&**other)).is_some_and(|rest| rest.starts_with('/'))
        };
        if self.site.branches.keys().any(is_in_the_way) {
            return false;
        }
        let Live { tip, number, .. } = self.site.branches["main"];
        let since = self.ledger.commits(&self.site.name_of(name), 0).len();
        self.site.branches.insert(name.to_owned(), Live { tip, number, former: None, since });
        true
    }

    fn commit(&mut self, name: &str) {
        let Live { tip, .. } = self.site.branches[name];
        self.made(name, tip);
    }

    /// Takes the last commit of a branch back, and makes another one in its place.
    fn rewrite(&mut self, name: &str) -> bool {
        let Some(parent) = self.site.branches[name].former else { return false };
        self.made(name, parent);
        numbered::advance(&self.repository, name, self.site.branches[name].tip);
        true
    }

    fn made(&mut self, name: &str, parent: Oid) {
        *self.count += 1;
        let id = numbered::commit(&self.repository, parent, *self.count);
        let branch = self.site.name_of(name);
        let live = self.site.branches.get_mut(name).unwrap();
        let before = (live.tip.to_string(), live.number);
        self.ledger.expect(&branch, Made::new(id.to_string(), *self.count, before));
        (live.tip, live.number, live.former) = (id, *self.count, Some(parent));
    }
}
