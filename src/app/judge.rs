//! Judges a tree by trusted settings or, without any, by the settings of the revision before it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::settings_files::FoundSettings;
use crate::diff::Diff;
use crate::git::Repository;
use crate::node::NodeSet;
use crate::pipeline::RevisionId;
use crate::pipeline::blind_spots::accept::Accepted;
use crate::pipeline::judge::Judge;
use crate::policy::{Day, Policies};
use crate::report::{BlindSpot, PolicyHit, PolicyLevel, Remedy, Report};
use crate::settings::{
    CheckSetting, Judgement, MAX_SETTINGS_SIZE, Origin, Refusal, SETTINGS_FILE, SettingsError, SettingsFile,
    TreeFolder, judging, reading,
};
use crate::tree::{FileTree, Target, follow};

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
    /// The tip of the branch that the commits are to be merged into, if it is known: see
    /// [`judge_by`](SettingsJudge::judge_by).
    target: OnceLock<RevisionId>,
    /// True as soon as the user was told that other settings judge than those that are checked out.
    is_told: AtomicBool,
}

impl SettingsJudge {
    pub(super) fn new(repository: Arc<Repository>, found: &FoundSettings) -> SettingsJudge {
        let path = found.tree.as_ref().and_then(path_in_tree);
        SettingsJudge {
            repository,
            accept: found.settings.accept.clone(),
            check: found.settings.check.clone(),
            policies: found.settings.policies.clone(),
            path: path.unwrap_or_else(|| SETTINGS_FILE.to_owned()),
            checked_out: found.tree.clone(),
            refused: found.refused.clone(),
            target: OnceLock::new(),
            is_told: AtomicBool::new(false),
        }
    }

    /// Has the settings of `target` judge in place of those of the revision before. That is a merge base, which
    /// whoever proposes the commits chooses: it may be older than a policy.
    pub(super) fn judge_by(&self, target: RevisionId) {
        _ = self.target.set(target);
    }

    /// Returns the faults that `hierad check` reports in what comes after the revision `base`.
    pub(super) fn check(&self, base: RevisionId) -> CheckSetting {
        self.check.clone().unwrap_or_else(|| self.judgement(base).check)
    }

    /// Returns what the settings of a revision say. Those that cannot be read say nothing.
    fn judgement(&self, base: RevisionId) -> Judgement {
        let content = self.ruling(base);
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
        let content = self.ruling(base);
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

    /// Returns the settings file that judges what comes after the revision `base`.
    fn ruling(&self, base: RevisionId) -> Option<Vec<u8>> {
        self.content(self.target.get().copied().unwrap_or(base))
    }

    /// Returns the settings file of a revision, or `None` if there is none that could be read.
    fn content(&self, id: RevisionId) -> Option<Vec<u8>> {
        let RevisionId::Commit(commit) = id else { return None };
        let tree = self.repository.tree(commit).ok()?;
        let Ok(Target::File(_, blob)) = follow(&tree, &self.path) else { return None };
        tree.read(blob).ok().filter(|content| content.len() as u64 <= MAX_SETTINGS_SIZE)
    }
}

impl Judge for SettingsJudge {
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
        let checked_out = self.checked_out.as_ref()?;
        if revisions.before == RevisionId::Empty {
            return None;
        }
        let content = |id| match id {
            RevisionId::WorkTree => checked_out.text.clone().into_bytes(),
            id => self.content(id).unwrap_or_default(),
        };
        let contents = revisions.map(content);
        if contents.before == contents.after || reading(&contents.before) == reading(&contents.after) {
            return None;
        }
        let path = &self.path;
        Some(BlindSpot {
            code: "changed-settings",
            headline: format!("{path} changes, which says how the data is read"),
            message: format!(
                "{path} is not the same before and after: both sides are read as the checked-out file says"
            ),
            fix: Some(Remedy::words("review that file first; --config names settings outside of the tree")),
            files: vec![path.clone()],
            ..BlindSpot::default()
        })
    }

    fn policies(&self, base: RevisionId, report: &Report) -> Vec<PolicyHit> {
        match self.policies.clone().map_or_else(|| self.policies_of(base), Ok) {
            Ok(policies) => policies.judge(report, today()),
            Err(error) => vec![not_judged(&error)],
        }
    }
}

/// Returns the day by which waivers expire.
pub fn today() -> Day {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// Returns true if settings have policies, even if they cannot be read.
fn has_policies(content: &[u8]) -> bool {
    content.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"policies:"))
}

/// Returns the hit of policies that cannot be read: a fault in them must not let everything pass.
fn not_judged(error: &SettingsError) -> PolicyHit {
    PolicyHit {
        name: "unreadable-policies".into(),
        level: PolicyLevel::Failure,
        message: "no policy was judged: correct the settings of the revision before".into(),
        reviewers: Arc::default(),
        found: error.to_string(),
        keys: Vec::new(),
        nodes: NodeSet::new(),
        places: Vec::new(),
        waiver: None,
    }
}

/// Returns the path of a settings file in the tree.
fn path_in_tree(file: &SettingsFile) -> Option<String> {
    let Origin::Tree(place) = &file.origin else { return None };
    let path = place.folder.join(file.path.file_name()?);
    Some(path.to_str()?.to_owned())
}
