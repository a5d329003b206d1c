//! Tries policies on past commits, so that people can choose rules and limits by their past hits.

use std::sync::Arc;

use super::judge::Sides;
use super::{DiffFilter, Pipeline, RevisionId};
use crate::diagnostic::describe;
use crate::diff::Diff;
use crate::git::CommitId;
use crate::policy::{AbsentPattern, Day, Policies};
use crate::report::{Commit, PolicyLevel, Report};

/// The maximum number of commits that are looked at for each wanted one: in some repositories, most commits change no
/// data.
const MAX_LOOKED_AT: usize = 20;

/// The result of a trial.
#[derive(Debug, Default)]
pub struct Trial {
    /// The rules, in their order.
    pub rules: Vec<TriedRule>,
    /// The patterns of the rules that match no key of the last commit, or no node.
    pub absent: Vec<AbsentPattern>,
    /// The number of commits that changed data.
    pub commits: usize,
    /// The number of commits that were looked at.
    pub looked_at: usize,
    /// The earliest of them.
    pub first: Option<CommitId>,
    /// The commits that could not be resolved, with the reasons, the latest first.
    pub unresolved: Vec<(CommitId, String)>,
    /// The reason why there are fewer commits than wanted, if there are.
    pub end: Option<String>,
}

/// The result of one rule.
#[derive(Debug)]
pub struct TriedRule {
    /// The name.
    pub name: Arc<str>,
    /// The level.
    pub level: PolicyLevel,
    /// The number of commits that hit it.
    pub hits: usize,
    /// The latest of them.
    pub last: Option<LastHit>,
}

/// The latest commit that hits a rule.
#[derive(Debug)]
pub struct LastHit {
    /// The commit.
    pub commit: Commit,
    /// The evidence in words.
    pub found: String,
}

impl Pipeline {
    /// Tries rules on the last `wanted` commits up to `tip` that changed data, each compared with its first parent.
    /// Waivers are ignored.
    pub fn try_policies(&self, policies: &Policies, tip: CommitId, wanted: usize, today: Day) -> Trial {
        let tried =
            |rule: &crate::policy::Rule| TriedRule { name: rule.name.clone(), level: rule.level, hits: 0, last: None };
        let policies = Policies { rules: policies.rules.clone(), waivers: Vec::new() };
        let mut trial = Trial { rules: policies.rules.iter().map(tried).collect(), ..Trial::default() };
        trial.absent = self.absent(&policies, tip);
        let (mut commit, mut walk) = (tip, self.repository().first_parents(tip));
        while trial.commits < wanted {
            let before = match walk.next() {
                Some(Ok(before)) => before,
                Some(Err(error)) => return trial.ended(&describe(&error)),
                None => return trial.ended("the history begins there"),
            };
            if let Some(reason) = self.workers.stop.reason() {
                return trial.ended(&reason);
            }
            if trial.looked_at == wanted.saturating_mul(MAX_LOOKED_AT) {
                return trial.ended("the others change no data");
            }
            trial.looked_at += 1;
            trial.first = Some(commit);
            match self.tried(before, commit) {
                Ok(report) if report.says_anything() => trial.take(&report, &policies, today),
                Ok(_) => {}
                Err(reason) => trial.unresolved.push((commit, reason)),
            }
            commit = before;
        }
        trial
    }

    /// Returns the patterns of rules that match no key of `tip`, or no node; empty if its keys cannot be read.
    fn absent(&self, policies: &Policies, tip: CommitId) -> Vec<AbsentPattern> {
        let Ok(keys) = self.keys(&[RevisionId::Commit(tip)]) else { return Vec::new() };
        let nodes: Vec<&str> = self.fleet.iter().map(|(_, name)| &**name).collect();
        policies.absent(&keys.iter().map(|key| &**key).collect::<Vec<_>>(), &nodes)
    }

    /// Returns the report of a commit, or the reason why there is none.
    fn tried(&self, before: CommitId, commit: CommitId) -> Result<Report, String> {
        let [before, after] = [before, commit].map(RevisionId::Commit);
        let compared = self.compared(&Sides::of(before, after), &DiffFilter::ALL, &self.workers, false);
        let report = compared.map_err(|error| describe(&error))?.report;
        match report.blind_spots.first().filter(|_| report.is_unreadable == Diff::new(true, true)) {
            Some(spot) => Err(spot.headline.clone()),
            None => Ok(report),
        }
    }
}

impl Trial {
    fn ended(self, reason: &str) -> Trial {
        Trial { end: Some(reason.to_owned()), ..self }
    }

    fn take(&mut self, report: &Report, policies: &Policies, today: Day) {
        self.commits += 1;
        for hit in policies.judge(report, today) {
            let rule = self.rules.iter_mut().find(|rule| rule.name == hit.name);
            let (Some(rule), Some(commit)) = (rule, &report.commit.after) else { continue };
            rule.hits += 1;
            rule.last.get_or_insert_with(|| LastHit { commit: commit.clone(), found: hit.found.clone() });
        }
    }
}
