//! Judges a tree by trusted settings or, without any, by the settings of the revision before it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::settings_files::FoundSettings;
use super::tree_profiles::TreeProfiles;
use crate::diff::Diff;
use crate::git::{CommitId, Repository};
use crate::pipeline::RevisionId;
use crate::pipeline::blind_spots::accept::Accepted;
use crate::pipeline::judge::Judge;
use crate::policy::{Day, Policies};
use crate::report::{BlindSpot, PolicyHit, Remedy, Report, Verdict, count};
use crate::settings::{
    CheckSetting, Judgement, MAX_SETTINGS_SIZE, Origin, Refusal, SETTINGS_FILE, SettingsError, SettingsFile,
    TreeFolder, judging, reading,
};
use crate::tree::{BlobId, FileTree, Target, follow};

/// The code of the blind spot of settings and profiles of the tree that differ.
const CHANGED: &str = "changed-settings";

/// The judge by the settings of a run.
pub(super) struct SettingsJudge {
    repository: Arc<Repository>,
    /// The blind spots, faults and policies by trusted settings.
    accept: Option<Accepted>,
    check: Option<CheckSetting>,
    policies: Option<Policies>,
    /// The path of the settings in the tree.
    path: String,
    /// The content of the checked-out settings, if they are not trusted.
    checked_out: Option<SettingsFile>,
    refused: Vec<Refusal>,
    /// The node profiles that commits write.
    profiles: TreeProfiles,
    /// True as soon as the user was told that other settings judge than those that are checked out.
    is_told: AtomicBool,
}

impl SettingsJudge {
    /// Makes the judge of a run by the settings that were found, whose profiles may lie in the tree.
    pub(super) fn new(repository: Arc<Repository>, found: &FoundSettings, profiles: TreeProfiles) -> SettingsJudge {
        let path = found.tree.as_ref().and_then(path_in_tree);
        SettingsJudge {
            repository,
            accept: found.settings.accept.clone(),
            check: found.settings.check.clone(),
            policies: found.settings.policies.clone(),
            path: path.unwrap_or_else(|| SETTINGS_FILE.to_owned()),
            checked_out: found.tree.clone(),
            refused: found.refused.clone(),
            profiles,
            is_told: AtomicBool::new(false),
        }
    }

    /// Returns the faults that `hierad check` reports in what comes after the revision `base`.
    pub(super) fn check(&self, base: RevisionId) -> CheckSetting {
        self.check.clone().unwrap_or_else(|| self.judgement(base).check)
    }

    /// Returns what the settings of a revision say. Those that cannot be read say nothing.
    fn judgement(&self, base: RevisionId) -> Judgement {
        let content = self.content(base);
        self.tell(content.as_deref());
        self.read(content).unwrap_or_else(|error| {
            tracing::debug!(%error, "the settings of the base revision accept nothing");
            Judgement::default()
        })
    }

    fn read(&self, content: Option<Vec<u8>>) -> Result<Judgement, SettingsError> {
        let Some(content) = content else { return Ok(Judgement::default()) };
        let origin = Origin::Tree(TreeFolder { root: "/".into(), folder: "".into() });
        Judgement::read(&SettingsFile::new(Path::new(&self.path), Ok(content), origin)?)
    }

    /// Returns the policies of a revision. Settings that cannot be read are a fault only if they have some.
    fn policies_of(&self, base: RevisionId) -> Result<Policies, SettingsError> {
        let content = self.content(base);
        self.tell(content.as_deref());
        let has_some = content.as_deref().is_some_and(has_policies);
        match self.read(content) {
            Err(error) if has_some => Err(error),
            read => Ok(read.unwrap_or_default().policies),
        }
    }

    /// Returns the policies that are tried on past commits up to `tip`.
    pub(super) fn policies_to_try(&self, tip: RevisionId) -> Result<Policies, SettingsError> {
        match (&self.policies, &self.checked_out) {
            (Some(policies), _) => Ok(policies.clone()),
            (None, Some(file)) => Ok(Judgement::read(file)?.policies),
            (None, None) => self.policies_of(tip),
        }
    }

    /// Tells once that the checked-out settings do not judge.
    fn tell(&self, base: Option<&[u8]>) {
        let Some(file) = &self.checked_out else { return };
        let [here, there] = [judging(file.text.as_bytes()), judging(base.unwrap_or_default())];
        if here == there || here.iter().all(Option::is_none) || self.is_told.swap(true, Ordering::Relaxed) {
            return;
        }
        let path = file.path.display();
        tracing::warn!(
            "{path}: 'policies', 'waivers', 'accept' and 'check' count as in the revision before or, where commits are to \
             be merged, in the branch that takes them, or from settings outside of the tree; `hierad trust` lets those \
             here count"
        );
    }

    /// Returns true if the settings of the tree have it read in another way before and after.
    fn changes_reading(&self, revisions: Diff<RevisionId>) -> bool {
        let Some(checked_out) = &self.checked_out else { return false };
        let content = |id| match id {
            RevisionId::WorkTree => checked_out.text.clone().into_bytes(),
            id => self.content(id).unwrap_or_default(),
        };
        let contents = revisions.map(content);
        read_otherwise(&contents.before, &contents.after)
    }

    /// Returns the profiles in the tree that are not the same before and after, or are gone. New ones are read on both
    /// sides.
    fn changed_profiles(&self, revisions: Diff<RevisionId>) -> Vec<String> {
        let files = revisions.map(|id| self.profile_files(id));
        let changed = files.before.iter().filter(|(path, id)| files.after.get(*path) != Some(id));
        changed.map(|(path, _)| path.clone()).collect()
    }

    /// Returns the profile files of a revision, none if they cannot be read.
    pub(super) fn profile_files(&self, id: RevisionId) -> BTreeMap<String, BlobId> {
        let files = match id {
            RevisionId::Commit(commit) => self.repository.tree(commit).ok().map(|tree| self.profiles.files(&tree)),
            RevisionId::WorkTree => self.repository.work_tree().map(|tree| self.profiles.files(&tree)),
            RevisionId::Empty => None,
        };
        files.and_then(std::result::Result::ok).unwrap_or_default()
    }

    /// Returns the policies that judge by a revision: the trusted ones or, without any, its own.
    fn policies_by(&self, judge: RevisionId) -> Result<Policies, SettingsError> {
        self.policies.clone().map_or_else(|| self.policies_of(judge), Ok)
    }

    /// Returns true if policies judge by a revision, or would if they could be read.
    pub(super) fn has_policies(&self, judge: RevisionId) -> bool {
        self.policies_by(judge).map_or(true, |policies| !policies.rules.is_empty())
    }

    /// Returns the path of the settings in the tree.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Returns true if a settings file reads the tree in another way than the checked-out one does.
    pub(super) fn reads_otherwise(&self, content: &[u8]) -> bool {
        let here = self.checked_out.as_ref().map_or(&b""[..], |file| file.text.as_bytes());
        read_otherwise(here, content)
    }

    /// Returns the settings file of a revision, or `None` if there is none that could be read.
    pub(super) fn content(&self, id: RevisionId) -> Option<Vec<u8>> {
        let RevisionId::Commit(commit) = id else { return None };
        let tree = self.repository.tree(commit).ok()?;
        let Ok(Target::File(_, blob)) = follow(&tree, &self.path) else { return None };
        tree.read(blob).ok().filter(|content| content.len() as u64 <= MAX_SETTINGS_SIZE)
    }
}

impl Judge for SettingsJudge {
    fn id(&self, judge: RevisionId) -> Option<CommitId> {
        let RevisionId::Commit(commit) = judge else { return None };
        (self.policies.is_none() && self.has_policies(judge)).then_some(commit)
    }

    fn accepted(&self, base: RevisionId) -> Accepted {
        self.accept.clone().unwrap_or_else(|| self.judgement(base).accept)
    }

    fn refused(&self) -> Option<BlindSpot> {
        let missed: Vec<&Refusal> = self.refused.iter().filter(|refusal| refusal.is_missed).collect();
        let first = missed.first()?;
        let more = if missed.len() > 1 { format!("; and {} more", missed.len() - 1) } else { String::new() };
        let path = if first.path.ends_with(&self.path) { self.path.clone() } else { first.path.display().to_string() };
        let place = first.line.map_or_else(|| path.clone(), |line| format!("{path}:{line}"));
        Some(BlindSpot {
            code: "refused-setting",
            headline: format!("settings of the tree do not count ({place})"),
            message: format!("settings of the tree do not count, {place}: {}{more}", first.text),
            fix: Some(Remedy::words(
                "put them into .git/hierad.yaml or a file that --config names, or run `hierad trust` if they are yours",
            )),
            is_standing: true,
            files: vec![self.path.clone()],
            ..BlindSpot::default()
        })
    }

    fn changed(&self, revisions: Diff<RevisionId>) -> Option<BlindSpot> {
        if revisions.before == RevisionId::Empty {
            return None;
        }
        let profiles = self.changed_profiles(revisions);
        let is_read_otherwise = self.changes_reading(revisions);
        let (first, others) = match (is_read_otherwise, profiles.split_first()) {
            (true, _) => (self.path.as_str(), profiles.len()),
            (false, Some((first, others))) => (first.as_str(), others.len()),
            (false, None) => return None,
        };
        let what = if is_read_otherwise { "says how the data is read" } else { "says what a node is" };
        let more = if others == 0 { String::new() } else { format!(", and so {}", count(others, "more file")) };
        Some(BlindSpot {
            code: CHANGED,
            headline: format!("{first} changes, which {what}{more}"),
            message: format!(
                "{first} is not the same before and after{more}: both sides are read as the checked-out files say"
            ),
            fix: Some(Remedy::words(if is_read_otherwise {
                "review that file first; --config names settings outside of the tree"
            } else {
                "`hierad diff --nodes-before` shows what other facts change; profiles outside of the tree no commit writes"
            })),
            files: is_read_otherwise.then(|| self.path.clone()).into_iter().chain(profiles).collect(),
            ..BlindSpot::default()
        })
    }

    fn policies(&self, judge: RevisionId, report: &Report) -> Vec<PolicyHit> {
        match self.policies_by(judge) {
            Ok(policies) if policies.rules.is_empty() => Vec::new(),
            Ok(policies) => policies.judge(report, today()).into_iter().chain(self.hidden(report)).collect(),
            Err(error) => vec![PolicyHit::unreadable(NOT_READ, error.to_string())],
        }
    }
}

/// The advice for policies that cannot be read.
const NOT_READ: &str = "no policy was judged: correct the settings of the revision that judges";

/// The advice for profiles that change together with data.
const TOGETHER: &str =
    "nothing is seen of the changed data, and the nodes are not those of before: propose the profiles first";

impl SettingsJudge {
    /// Returns the hit of a change of data of which nothing is seen, together with one of the profiles of nodes.
    fn hidden(&self, report: &Report) -> Option<PolicyHit> {
        if report.verdict() != Verdict::NoChangeSeen || report.lines.is_empty() {
            return None;
        }
        let files = report.blind_spots.iter().filter(|spot| spot.code == CHANGED).flat_map(|spot| &spot.files);
        let profile = files.into_iter().find(|file| **file != self.path)?;
        Some(PolicyHit::unreadable(TOGETHER, format!("{profile} changes together with data")))
    }
}

/// Returns the day by which waivers expire.
pub fn today() -> Day {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// Returns true if two settings files have the tree read in different ways.
fn read_otherwise(one: &[u8], other: &[u8]) -> bool {
    one != other && reading(one) != reading(other)
}

/// Returns true if settings have policies, even if they cannot be read.
fn has_policies(content: &[u8]) -> bool {
    content.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"policies:"))
}

/// Returns the path of a settings file in the tree.
fn path_in_tree(file: &SettingsFile) -> Option<String> {
    let Origin::Tree(place) = &file.origin else { return None };
    let path = place.folder.join(file.path.file_name()?);
    Some(path.to_str()?.to_owned())
}
