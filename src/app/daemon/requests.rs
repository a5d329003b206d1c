//! The daemon's reviews of requests on forges. Each runs this program, `hierad review`, in a separate process, which
//! keeps the commits of strangers and the answers of a forge out of the daemon's own.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Command;

use super::open_repository::{ORIGIN, RepositoryHandle};
use crate::app::settings::{ReviewSetting, Settings};
use crate::app::{DaemonOptions, Overrides, Program, Result};
use crate::daemon::http::Project;
use crate::daemon::service::{AttemptLimits, Review, Reviews};
use crate::disk;
use crate::event::RepositoryName;
use crate::forge::{Page, ci};
use crate::settings::Limits;

/// The time for fetching and posting, on top of the comparison's: forges may make a client wait.
const FETCH_AND_POST_TIME: Duration = Duration::from_mins(20);

/// The id of a configuration that needs no name.
const DEFAULT_ID: &str = "default";

/// The variable with the key of fingerprints.
const FINGERPRINT_KEY_VARIABLE: &str = "HIERAD_FINGERPRINT_KEY";

/// Checks that reviews could be posted, and that webhooks can ask for them.
pub(in crate::app) fn check(settings: &Settings, overrides: &Overrides) -> Result<()> {
    if !settings.reviews.is_empty() && overrides.show_secrets {
        return Err("many people read reviews: --show-secrets cannot be used with 'reviews'".into());
    }
    for ReviewSetting { name, forge, token_file, .. } in &settings.reviews {
        let mut secrets = settings.http.iter().flat_map(|http| &http.webhook_secret_files);
        if !secrets.any(|(secret_forge, _)| secret_forge == forge) {
            let text = format!("reviews of {name} need 'http' with '{}' in 'webhook_secret_files'", forge.name());
            return Err(text.into());
        }
        disk::read_secret(token_file).map_err(|error| format!("reviews of {name}: {error}"))?;
    }
    Ok(())
}

/// Checks that no review is of a repository other than the one at hand, which is the only one watched.
pub(super) fn check_at_hand(settings: &Settings, name: &str) -> Result<()> {
    match settings.reviews.iter().find_map(|review| review.repository.as_ref().filter(|reviewed| *reviewed != name)) {
        Some(other) => Err(format!("'reviews' are of a repository '{other}', but '{name}' is watched").into()),
        None => Ok(()),
    }
}

/// Returns the projects whose webhooks ask for reviews.
pub(super) fn projects(settings: &Settings) -> Vec<Project> {
    let project = |review: &ReviewSetting| Project {
        reviews: review.name.clone(),
        forge: review.forge,
        name: review.project.clone(),
    };
    settings.reviews.iter().map(project).collect()
}

/// Returns the pages of a repository on the forge where it is reviewed, if they are known.
pub(super) fn page(settings: &Settings, repository: &RepositoryName) -> Option<Page> {
    reviews_of(settings, repository).find_map(|review| {
        let api = review.api.as_deref().or(review.forge.public_api())?;
        Page::beside(review.forge, api, &review.project)
    })
}

/// Returns the settings of a repository's reviews.
pub(super) fn reviews_of<'s>(
    settings: &'s Settings,
    repository: &'s RepositoryName,
) -> impl Iterator<Item = &'s ReviewSetting> {
    let is_of_repository =
        move |review: &&ReviewSetting| review.repository.as_ref().is_none_or(|name| *name == repository.as_str());
    settings.reviews.iter().filter(is_of_repository)
}

/// A watched repository, as reviews need it.
pub(super) struct ReviewedRepository {
    pub(super) name: RepositoryName,
    /// The flags for this repository.
    pub(super) overrides: Overrides,
    /// The address that it is a mirror of.
    pub(super) url: Option<String>,
}

/// Returns the reviews of a repository's requests.
pub(super) fn reviews(
    settings: &Settings,
    reviewed: &ReviewedRepository,
    repository: &RepositoryHandle,
    options: &DaemonOptions,
) -> Vec<Reviews> {
    let Some(program) = &options.program else { return Vec::new() };
    let reviews = |setting: &ReviewSetting| Reviews {
        name: setting.name.clone(),
        retry_for: setting.retry_for,
        review: Arc::new(ForgeReview {
            program: program.clone(),
            arguments: arguments(setting, reviewed),
            fingerprint_key: reviewed.overrides.fingerprint_key.clone(),
            repository: repository.clone(),
        }),
    };
    reviews_of(settings, &reviewed.name).map(reviews).collect()
}

/// Returns the arguments of a project's reviews, except for the number of the request.
fn arguments(setting: &ReviewSetting, reviewed: &ReviewedRepository) -> Vec<OsString> {
    let remote = setting.remote.as_ref().or(reviewed.url.as_ref()).map_or(ORIGIN, String::as_str);
    let mut arguments: Vec<OsString> = vec!["review".into(), "--bound".into(), "--fetch".into()];
    arguments.extend(reviewed.overrides.arguments());
    let id = setting.id.as_deref().unwrap_or(DEFAULT_ID);
    for (flag, value) in
        [("--forge", setting.forge.name()), ("--project", setting.project.as_str()), ("--remote", remote), ("--id", id)]
    {
        arguments.push(format!("{flag}={value}").into());
    }
    arguments.extend(setting.api.iter().map(|api| format!("--api={api}").into()));
    arguments.extend(["--token-file".into(), setting.token_file.clone().into()]);
    arguments.extend(setting.flags.iter().map(OsString::from));
    arguments
}

/// Reviews the requests of a project by running the program.
struct ForgeReview {
    program: Arc<Program>,
    arguments: Vec<OsString>,
    /// Passed in the environment, where other users do not see it.
    fingerprint_key: Option<String>,
    repository: RepositoryHandle,
}

impl Review for ForgeReview {
    fn command(&self, request: u64) -> Command {
        let mut command = Command::new(&self.program.path);
        command.args(&self.arguments).arg(format!("--request={request}"));
        command.envs(self.fingerprint_key.iter().map(|key| (FINGERPRINT_KEY_VARIABLE, key)));
        // The program is not a job of a CI server, even if the daemon is.
        for variable in ci::runners() {
            command.env_remove(variable);
        }
        command
    }

    fn limits(&self) -> AttemptLimits {
        let Limits { time, memory, .. } = self.repository.get().map_or_else(|_| Limits::default(), |open| open.limits);
        AttemptLimits { time: time.saturating_add(FETCH_AND_POST_TIME), memory }
    }
}
