//! Judges a tree by trusted settings or, without any, by the settings of the revision before it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::settings_files::FoundSettings;
use super::tree_profiles::TreeProfiles;
use crate::app::settings::{CheckSetting, Judgement};
use crate::blind_spots::OTHER_VERSION;
use crate::blind_spots::accept::Accepted;
use crate::diff::Diff;
use crate::git::{CommitId, MergeError, ObjectError, Repository};
use crate::pipeline::RevisionId;
use crate::pipeline::judge::{Judge, Sides};
use crate::policy::{Day, Policies};
use crate::report::{BlindSpot, PolicyHit, PolicyLevel, Remedy, Report, Verdict, count};
use crate::settings::{
    MAX_SETTINGS_SIZE, Origin, Reading, Refusal, SettingsError, SettingsFile, TreeFolder, judging, not_judging,
};
use crate::tree::{BlobId, FileTree, Target, TreeError, changes, follow};

/// The code of the blind spot for settings and profiles of the tree that differ.
const CHANGED: &str = "changed-settings";

/// Judges by the settings of a run.
pub(in crate::app) struct SettingsJudge {
    repository: Arc<Repository>,
    /// The blind spots, faults and policies in trusted settings.
    accept: Option<Accepted>,
    check: Option<CheckSetting>,
    policies: Option<Policies>,
    /// The paths in the tree at which settings are read. Those at the first path judge.
    paths: Vec<String>,
    /// The top of the checked-out files, which paths of the settings are relative to.
    top: PathBuf,
    /// The content of the checked-out settings, if they are not trusted.
    checked_out: Option<SettingsFile>,
    refused: Vec<Refusal>,
    /// The node profiles that commits write.
    profiles: TreeProfiles,
    /// True once the user has been warned that settings other than the checked-out ones judge.
    has_warned: AtomicBool,
}

impl SettingsJudge {
    /// Makes the judge of a run from the settings that were found and their profiles in the tree.
    pub(super) fn new(repository: Arc<Repository>, found: &FoundSettings, profiles: TreeProfiles) -> SettingsJudge {
        SettingsJudge {
            top: repository.work_dir().and_then(|top| top.canonicalize().ok()).unwrap_or_else(|| "/".into()),
            repository,
            accept: found.settings.accept.clone(),
            check: found.settings.check.clone(),
            policies: found.settings.policies.clone(),
            paths: found.paths.clone(),
            checked_out: found.tree.clone(),
            refused: found.refused.clone(),
            profiles,
            has_warned: AtomicBool::new(false),
        }
    }

    /// Returns the faults that `hierad check` reports in revisions after `base`.
    pub(super) fn check(&self, base: RevisionId) -> CheckSetting {
        self.check.clone().unwrap_or_else(|| self.judgement(base).check)
    }

    /// Returns the judgement in the settings of a revision, or an empty one if they cannot be read.
    fn judgement(&self, base: RevisionId) -> Judgement {
        let read = self.file(base).and_then(|file| self.read(file.as_ref()));
        read.unwrap_or_else(|error| {
            tracing::debug!(%error, "the settings of the base revision accept nothing");
            Judgement::default()
        })
    }

    fn read(&self, file: Option<&SettingsFile>) -> Result<Judgement, SettingsError> {
        self.warn_once(file);
        file.map_or_else(|| Ok(Judgement::default()), Judgement::read)
    }

    /// Returns the policies of a revision. Fails if its settings cannot be read and may contain some.
    fn policies_of(&self, base: RevisionId) -> Result<Policies, SettingsError> {
        let file = self.file(base)?;
        self.warn_once(file.as_ref());
        policies_in(file.as_ref())
    }

    /// Returns the policies to try on past commits up to `tip`.
    pub(super) fn policies_to_try(&self, tip: RevisionId) -> Result<Policies, SettingsError> {
        let faulty = self.refused.iter().find(|refusal| refusal.setting.is_empty());
        match (&self.policies, &self.checked_out, faulty) {
            (Some(policies), ..) => Ok(policies.clone()),
            (None, Some(file), _) => Ok(Judgement::read(file)?.policies),
            // What the user has just written is not what the tip has.
            (None, None, Some(Refusal { path, line, text, .. })) => {
                Err(SettingsError::Invalid { path: path.clone(), line: *line, text: text.clone() })
            }
            (None, None, None) => self.policies_of(tip),
        }
    }

    /// Warns once that the checked-out settings do not judge.
    fn warn_once(&self, base: Option<&SettingsFile>) {
        let Some(file) = &self.checked_out else { return };
        let [here, there] = [Some(file), base].map(|file| judging(file.map_or("", |file| &file.text).as_bytes()));
        if here == there || here.iter().all(Option::is_none) || self.has_warned.swap(true, Ordering::Relaxed) {
            return;
        }
        let path = file.path.display();
        tracing::warn!(
            "{path}: 'policies', 'waivers', 'accept' and 'check' are taken from the revision before, in reviews from \
             the target branch, or from settings outside of the tree; `hierad trust` makes those here count"
        );
    }

    /// Returns the path of settings in the tree that change how it is read. This does not depend on the settings that
    /// are checked out or trusted here, since other users of that revision read it so.
    fn changed_reading(&self, revisions: Diff<RevisionId>) -> Option<&String> {
        self.paths.iter().find(|path| {
            let found = revisions.map(|id| self.target(id, path));
            if let (Ok(before), Ok(after)) = (&found.before, &found.after)
                && have_same_content(before, after)
            {
                return false;
            }
            let readings = revisions.map(|id| self.file_at(id, path).and_then(|file| reading(file.as_ref())));
            !matches!((readings.before, readings.after), (Ok(before), Ok(after)) if before == after)
        })
    }

    /// Returns the profiles and files of values in the tree that differ before and after, were removed, or are new
    /// and may mean more than a new node.
    fn changed_profiles(&self, revisions: Diff<RevisionId>) -> Vec<String> {
        let Diff { before, after } = revisions.map(|id| self.profile_files(id));
        let changed = before.iter().filter(|(path, id)| after.get(*path) != Some(id));
        let new = after.keys().filter(|path| !before.contains_key(*path) && self.profiles.counts_if_new(path));
        changed.map(|(path, _)| path).chain(new).cloned().collect()
    }

    /// Returns the files that differ and that programs of the settings may read. Programs answer once for both sides.
    fn changed_for_programs(&self, revisions: Diff<RevisionId>) -> BTreeSet<String> {
        if !self.profiles.has_programs() {
            return BTreeSet::new();
        }
        let trees = revisions.map(|id| self.tree(id).ok().flatten());
        let (Some(before), Some(after)) = (&trees.before, &trees.after) else { return BTreeSet::new() };
        self.profiles.changed_for_programs(Diff { before: &**before, after: &**after }).unwrap_or_default()
    }

    /// Returns true if only profiles in the tree are known to differ between two revisions.
    pub(super) fn changes_profiles_alone(&self, sides: &Sides) -> bool {
        let revisions = Diff { before: sides.before, after: sides.after };
        let files = revisions.map(|id| self.profile_files(id));
        let is_profile = |path: &String| {
            (files.before.contains_key(path) || files.after.contains_key(path)) && !self.profiles.is_of_values(path)
        };
        let trees = revisions.map(|id| self.tree(id).ok().flatten());
        let (Some(before), Some(after)) = (trees.before, trees.after) else { return false };
        changes(&*before, &*after).is_ok_and(|paths| paths.iter().all(is_profile))
    }

    /// Returns the profile files of a revision, or none if they cannot be read.
    pub(super) fn profile_files(&self, id: RevisionId) -> BTreeMap<String, BlobId> {
        let tree = self.tree(id).ok().flatten();
        tree.and_then(|tree| self.profiles.files(&*tree).ok()).unwrap_or_default()
    }

    /// Returns the policies that apply if a revision judges: the trusted ones or, without any, its own.
    fn policies_by(&self, judge: RevisionId) -> Result<Policies, SettingsError> {
        self.policies.clone().map_or_else(|| self.policies_of(judge), Ok)
    }

    /// Returns the fault for which the policies of a revision cannot be read, or `None` if there is none, or if trusted
    /// settings have the policies.
    fn fault_of(&self, id: RevisionId) -> Option<SettingsError> {
        let file = || self.file_at(id, &self.paths[0]);
        if self.policies.is_some() { None } else { file().and_then(|file| policies_in(file.as_ref())).err() }
    }

    /// Returns true if the settings of two revisions are known to differ in nothing but what judges the tree.
    fn differ_in_judging_alone(&self, revisions: [RevisionId; 2]) -> bool {
        let read = |id: RevisionId| {
            let file = self.file_at(id, &self.paths[0]).ok()?;
            not_judging(file.map_or_else(String::new, |file| file.text).as_bytes())
        };
        let [one, other] = revisions.map(read);
        one.is_some() && one == other
    }

    /// Returns true if a settings file reads the tree differently from the checked-out one.
    pub(super) fn reads_otherwise(&self, file: Option<&SettingsFile>) -> bool {
        let readings = [self.checked_out.as_ref(), file].map(reading);
        !matches!(&readings, [Ok(here), Ok(there)] if here == there)
    }

    /// Returns the settings file by which a revision judges, or `None` if there is none. Only commits judge.
    pub(super) fn file(&self, id: RevisionId) -> Result<Option<SettingsFile>, SettingsError> {
        let is_commit = matches!(id, RevisionId::Commit(_));
        if is_commit { self.file_at(id, &self.paths[0]) } else { Ok(None) }
    }

    /// Returns the settings file of a revision at `path` of the tree, named by its path there, or `None` if there is
    /// none.
    fn file_at(&self, id: RevisionId, path: &str) -> Result<Option<SettingsFile>, SettingsError> {
        let failed = |reason: String| SettingsError::Read { path: path.into(), source: io::Error::other(reason) };
        let damaged = |error: TreeError| failed(error.to_string());
        // The empty revision has no tree, nor does the work tree of a bare repository.
        let Some(tree) = self.tree(id).map_err(damaged)? else { return Ok(None) };
        let content = match follow(&*tree, path).map_err(damaged)? {
            Target::File(_, blob) => tree.read(blob).map_err(damaged)?,
            Target::Absent | Target::Dangling(_) => return Ok(None),
            Target::Folder(_) => return Err(failed("it is a folder".to_owned())),
            Target::Loop(reason) | Target::Outside(reason) => return Err(failed(reason.to_string())),
        };
        if content.len() as u64 > MAX_SETTINGS_SIZE {
            return Err(failed(format!("it is larger than {MAX_SETTINGS_SIZE} bytes")));
        }
        let folder = Path::new(path).parent().unwrap_or(Path::new("")).to_owned();
        let origin = Origin::Tree(TreeFolder { root: self.top.clone(), folder });
        SettingsFile::new(Path::new(path), Ok(content), origin).map(Some)
    }

    /// Returns the target of a path in a revision.
    fn target(&self, id: RevisionId, path: &str) -> Result<Target, TreeError> {
        self.tree(id)?.map_or(Ok(Target::Absent), |tree| follow(&*tree, path))
    }

    /// Returns the tree of a revision, or `None` if it has none.
    fn tree(&self, id: RevisionId) -> Result<Option<Box<dyn FileTree>>, TreeError> {
        Ok(match id {
            RevisionId::Commit(commit) => {
                let damaged = |error: ObjectError| TreeError::new(commit.to_string(), error.to_string());
                Some(Box::new(self.repository.tree(commit).map_err(damaged)?))
            }
            RevisionId::Merged(merge) => {
                let reason = |error: MergeError| TreeError::new("the merge", error.to_string());
                Some(Box::new(self.repository.merged(merge).map_err(reason)?))
            }
            RevisionId::WorkTree => self.repository.work_tree().map(|tree| Box::new(tree) as Box<dyn FileTree>),
            RevisionId::Empty => None,
        })
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
        let (first, judging) = (missed.first()?, &self.paths[0]);
        let more = if missed.len() > 1 { format!("; and {} more", missed.len() - 1) } else { String::new() };
        let path = if first.path.ends_with(judging) { judging.clone() } else { first.path.display().to_string() };
        let place = first.line.map_or_else(|| path.clone(), |line| format!("{path}:{line}"));
        Some(BlindSpot {
            code: "refused-setting",
            headline: format!("settings of the tree do not count ({place})"),
            message: format!("settings of the tree do not count, {place}: {}{more}", first.text),
            fix: Some(Remedy::words(
                "put them into .git/hierad.yaml or a file that --config names, or run `hierad trust` if they are yours",
            )),
            is_standing: true,
            files: vec![judging.clone()],
            ..BlindSpot::default()
        })
    }

    fn changed(&self, revisions: Diff<RevisionId>) -> Option<BlindSpot> {
        if revisions.before == RevisionId::Empty {
            return None;
        }
        let mut profiles = self.changed_profiles(revisions);
        let mut programs = self.changed_for_programs(revisions);
        programs.retain(|file| !profiles.contains(file));
        profiles.extend(programs.iter().cloned());
        let settings = self.changed_reading(revisions);
        let is_read_otherwise = settings.is_some();
        let (first, others) = match (settings, profiles.split_first()) {
            (Some(path), _) => (path, profiles.len()),
            (None, Some((first, others))) => (first, others.len()),
            (None, None) => return None,
        };
        let what = match is_read_otherwise {
            true => "says how the data is read",
            false if programs.contains(first) => "a program of the settings may read",
            false => self.profiles.meaning(first),
        };
        let more = if others == 0 { String::new() } else { format!(", and so {}", count(others, "more file")) };
        let by = if self.checked_out.is_some() { "the checked-out files" } else { "the settings of this run" };
        Some(BlindSpot {
            code: CHANGED,
            headline: format!("{first} changes, which {what}{more}"),
            message: format!("{first} is not the same before and after{more}: both sides are read as {by} say"),
            fix: Some(Remedy::words(if is_read_otherwise {
                "review that file first; --config names settings outside of the tree"
            } else {
                "`hierad diff --nodes-before` shows what changed facts do; no commit can change profiles outside of \
                 the tree"
            })),
            files: settings.cloned().into_iter().chain(profiles).collect(),
            ..BlindSpot::default()
        })
    }

    fn is_of_tree(&self) -> bool {
        self.policies.is_none()
    }

    fn has_policies(&self, judge: RevisionId) -> bool {
        self.policies_by(judge).map_or(true, |policies| !policies.rules.is_empty())
    }

    fn policies(&self, judge: RevisionId, report: &Report) -> Vec<PolicyHit> {
        match self.policies_by(judge) {
            Ok(policies) if policies.rules.is_empty() => Vec::new(),
            Ok(policies) => {
                let unseen = self.invisible_change_hit(report).into_iter().chain(other_version_warning(report));
                policies.judge(report, today()).into_iter().chain(unseen).collect()
            }
            Err(error) => vec![PolicyHit::unreadable(NOT_READ, error.to_string())],
        }
    }

    fn broken(&self, sides: &Sides) -> Option<PolicyHit> {
        let error = self.fault_of(sides.after)?;
        // A fault that was there before is that of the policies that judge.
        self.fault_of(sides.judge()).is_none().then(|| PolicyHit::unreadable(BROKEN, error.to_string()))
    }

    fn mended(&self, sides: &Sides) -> Option<PolicyHit> {
        let error = self.fault_of(sides.judge())?;
        let trees = Diff { before: sides.before, after: sides.after }.map(|id| self.tree(id).ok().flatten());
        let changed = changes(&*trees.before?, &*trees.after?).ok()?;
        let is_mending = changed.iter().all(|path| *path == self.paths[0])
            && self.fault_of(sides.after).is_none()
            && self.differ_in_judging_alone([sides.judge(), sides.after]);
        let hit = || PolicyHit::unreadable(MENDED, error.to_string());
        is_mending.then(|| PolicyHit { level: PolicyLevel::Warning, ..hit() })
    }
}

/// The advice for policies that cannot be read.
const NOT_READ: &str = "no policy was judged: correct the settings of the revision that judges";

/// The advice for a change after which policies cannot be read.
const BROKEN: &str = "no policy could judge what follows, and all of it would be refused: correct the settings first";

/// The words for a change of settings alone after which policies can be read again.
const MENDED: &str = "this change corrects the settings that judge, so no policy has judged it";

/// The advice for profiles that change together with data.
const TOGETHER_ADVICE: &str =
    "the changed data has no visible effect, and the nodes have changed, too: propose the profiles first";

/// The advice for files of values that change.
const VALUES_ADVICE: &str =
    "hierad cannot see what these values change or hide: review them, or keep them outside of the tree";

/// Returns the files that blind spots of a kind concern.
fn files_of<'r>(report: &'r Report, code: &'static str) -> impl Iterator<Item = &'r String> {
    report.blind_spots.iter().filter(move |spot| spot.code == code).flat_map(|spot| &spot.files)
}

/// The advice for data that comes with another version of a submodule or a module.
const ELSEWHERE_ADVICE: &str = "its data is not read, so no policy has judged it: review what changes there";

/// Returns the warning for data that a commit brings from another repository, which no policy can judge. Profiles are
/// left out, since they are read as they were before.
fn other_version_warning(report: &Report) -> Option<PolicyHit> {
    let moved = files_of(report, OTHER_VERSION).find(|file| files_of(report, CHANGED).all(|other| other != *file))?;
    let hit = PolicyHit::unreadable(ELSEWHERE_ADVICE, format!("{moved} brings another version"));
    Some(PolicyHit { level: PolicyLevel::Warning, ..hit })
}

impl SettingsJudge {
    /// Returns the hit for an invisible change: of a file of values, which is data but is read once for both sides,
    /// or of data without a visible effect together with node profiles.
    fn invisible_change_hit(&self, report: &Report) -> Option<PolicyHit> {
        if let Some(values) = files_of(report, CHANGED).find(|file| self.profiles.is_of_values(file)) {
            return Some(PolicyHit::unreadable(
                VALUES_ADVICE,
                format!("{values} changes, which says what a backend finds"),
            ));
        }
        if report.verdict() != Verdict::NoChangeSeen || report.lines.is_empty() {
            return None;
        }
        let profile = files_of(report, CHANGED).find(|file| !self.paths.contains(file))?;
        Some(PolicyHit::unreadable(TOGETHER_ADVICE, format!("{profile} changes together with data")))
    }
}

/// Returns the policies in a file of the tree. Fails if it cannot be read and may have some.
fn policies_in(file: Option<&SettingsFile>) -> Result<Policies, SettingsError> {
    match file.map_or_else(|| Ok(Judgement::default()), Judgement::read) {
        Err(_) if !file.is_some_and(SettingsFile::may_have_policies) => Ok(Policies::default()),
        read => Ok(read?.policies),
    }
}

/// Returns the current day, by which waivers expire.
pub fn today() -> Day {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// Returns the reading of the tree by a settings file.
fn reading(file: Option<&SettingsFile>) -> Result<Reading, SettingsError> {
    file.map_or_else(|| Ok(Reading::default()), SettingsFile::reading)
}

/// Returns true if both targets have the same content.
fn have_same_content(one: &Target, other: &Target) -> bool {
    match (one, other) {
        (Target::File(_, one), Target::File(_, other)) => one == other,
        (one, other) => one == other,
    }
}
