//! Combines the settings of several files, by their origin.

use std::path::Path;

use super::{CheckSetting, Settings, accept, check, policy};
use crate::blind_spots::accept::Accepted;
use crate::policy::Policies;
use crate::settings::source::Lines;
use crate::settings::{Origin, Refusal, SettingsError, SettingsFile};

/// The settings of several files.
#[derive(Debug, Default)]
pub struct Combined {
    /// The effective settings.
    pub settings: Settings,
    /// The refused settings.
    pub refused: Vec<Refusal>,
}

/// The settings of one revision that judge the tree.
#[derive(Debug, Clone, Default)]
pub struct Judgement {
    /// Blind spots that are accepted.
    pub accept: Accepted,
    /// The minimum severity of the faults that `hierad check` reports.
    pub check: CheckSetting,
    /// The rules on what a change does.
    pub policies: Policies,
}

impl Settings {
    /// Reads and checks the file at `path`, which no commit writes.
    pub fn load(path: &Path) -> Result<Settings, SettingsError> {
        Ok(Settings::combine(&[SettingsFile::trusted(path)?])?.settings)
    }

    /// Combines files. The first file that mentions a setting decides it.
    pub fn combine(files: &[SettingsFile]) -> Result<Combined, SettingsError> {
        let mut combined = Combined::default();
        for file in files.iter().rev() {
            let (settings, refused, lines) = check_file(file)?;
            combined.settings = settings.over(combined.settings, |name| lines.mentions(name));
            combined.refused.retain(|refusal| !lines.mentions(refusal.setting));
            combined.refused.extend(refused);
        }
        Ok(combined)
    }
}

/// Checks a single file. Returns its accepted settings, its refused ones, and its lines.
fn check_file(file: &SettingsFile) -> Result<(Settings, Vec<Refusal>, Lines), SettingsError> {
    let (raw, source) = file.parse()?;
    let (raw, refused) = match &file.origin {
        Origin::Tree(place) => raw.confined(&source, place),
        Origin::Trusted => (raw, Vec::new()),
    };
    Ok((Settings::check(&source, raw)?, refused, source.lines))
}

impl Judgement {
    /// Reads the settings that judge the tree from a file of the tree at one revision.
    pub fn read(file: &SettingsFile) -> Result<Judgement, SettingsError> {
        let (raw, source) = file.parse()?;
        Ok(Judgement {
            accept: accept::check(&source, raw.accept)?,
            check: check::check(&source, &raw.check)?,
            policies: policy::check(&source, &raw.policies, &raw.waivers)?,
        })
    }
}
