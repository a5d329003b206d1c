//! Checks `reviews:`, the projects on forges whose requests the daemon reviews.

use std::path::PathBuf;
use std::time::Duration;

use crate::forge::{self, Forge, Id};
use crate::settings::source::SourceFile;
use crate::settings::{RepositorySetting, SettingsError, raw};

/// The reviews of the requests of one project on a forge.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewSetting {
    /// The name in the queue: the forge, the project and the id, if it has one.
    pub name: String,
    /// The watched repository; `None` if there is only one.
    pub repository: Option<String>,
    /// The forge.
    pub forge: &'static dyn Forge,
    /// The repository on the forge.
    pub project: String,
    /// The address of the forge's API; `None` for that of its public server.
    pub api: Option<String>,
    /// The file with the token.
    pub token_file: PathBuf,
    /// The remote to fetch from; `None` for the address of a mirror, or else `origin`.
    pub remote: Option<String>,
    /// The name of the configuration.
    pub id: Option<String>,
    /// The flags of `hierad review` that have values.
    pub flags: Vec<String>,
    /// The time for which a review is tried before it is set aside.
    pub retry_for: Duration,
}

/// The values that flags of `hierad review` may have.
const COMMENT_VALUES: [&str; 3] = ["always", "changes", "none"];
const CHECK_VALUES: [&str; 2] = ["auto", "none"];
const EXIT_CODE_VALUES: [&str; 2] = ["changes", "errors"];

/// The default and the maximum of `retry_for`, in hours.
const RETRY_FOR: (f64, f64) = (24.0, 1_000_000.0);

/// Checks all entries.
pub(super) fn check(
    source: &SourceFile<'_>,
    repositories: &[RepositorySetting],
    raw: Vec<raw::Review>,
) -> Result<Vec<ReviewSetting>, SettingsError> {
    let mut reviews: Vec<ReviewSetting> = Vec::new();
    for (at, raw) in raw.into_iter().enumerate() {
        let review = Checked { source, number: at + 1 }.check(repositories, raw)?;
        if reviews.iter().any(|other| other.name == review.name) {
            let text = format!("'{}' occurs twice: give each entry its own 'id'", review.name);
            return Err(Checked { source, number: at + 1 }.invalid(&text));
        }
        reviews.push(review);
    }
    Ok(reviews)
}

/// Returns the error for an entry that names no known forge.
fn need_forge() -> String {
    let names: Vec<String> = forge::reviewed().map(|forge| format!("'{}'", forge.name())).collect();
    let (last, others) = names.split_last().map_or(("", &[][..]), |(last, others)| (&**last, others));
    format!("needs 'forge: {} or {last}", others.join(", ").trim_start_matches('\''))
}

/// One entry of the list.
struct Checked<'a> {
    source: &'a SourceFile<'a>,
    number: usize,
}

impl Checked<'_> {
    fn invalid(&self, text: &str) -> SettingsError {
        self.source.invalid(&["reviews"], format!("'reviews', entry {}: {text}", self.number))
    }

    /// Returns the flags of `hierad review` for settings, each of which comes with the values that it may have.
    fn flags(&self, written: [(&str, Option<String>, &[&str]); 3]) -> Result<Vec<String>, SettingsError> {
        let mut flags = Vec::new();
        for (flag, value, values) in written {
            let Some(value) = value else { continue };
            if !values.contains(&&*value) {
                return Err(self.invalid(&format!("has an invalid '{flag}': use one of {}", values.join(", "))));
            }
            flags.push(format!("--{}={value}", flag.replace('_', "-")));
        }
        Ok(flags)
    }

    fn check(&self, repositories: &[RepositorySetting], raw: raw::Review) -> Result<ReviewSetting, SettingsError> {
        let raw::Review {
            repository,
            forge,
            project,
            api,
            token_file,
            remote,
            comment,
            check,
            exit_code,
            with_keys,
            id,
            retry_for,
        } = raw;
        let forge = forge::named(&forge).ok_or_else(|| self.invalid(&need_forge()))?;
        let has_numbers = forge.api().is_some_and(|api| api.is_nested);
        let number = || project.as_u64().filter(|_| has_numbers).map(|number| number.to_string());
        let Some(project) = project.as_str().map(str::to_owned).or_else(number) else {
            return Err(self.invalid("needs 'project', the name of the repository with its owner"));
        };
        if api.is_none() && forge.public_api().is_none() {
            return Err(self.invalid("needs 'api', the address of the forge's API"));
        }
        self.check_repository(repositories, repository.as_ref())?;
        if id.as_ref().is_some_and(|id| Id::new(id).is_none()) {
            return Err(
                self.invalid("has an invalid 'id': use up to 64 letters, digits, dots, underscores and single dashes")
            );
        }
        let id_suffix = id.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
        let mut flags = self.flags([
            ("comment", comment, &COMMENT_VALUES),
            ("check", check, &CHECK_VALUES),
            ("exit_code", exit_code, &EXIT_CODE_VALUES),
        ])?;
        flags.extend(with_keys.then(|| "--with-keys".to_owned()));
        Ok(ReviewSetting {
            name: format!("{} {project}{id_suffix}", forge.name()),
            repository,
            forge,
            project,
            api,
            token_file: self.source.folder.join(token_file),
            remote,
            id,
            flags,
            retry_for: self.retry_for(retry_for)?,
        })
    }

    /// Checks that the entry means one repository. For a daemon of the repository at hand, the name is checked at its
    /// start.
    fn check_repository(&self, repositories: &[RepositorySetting], name: Option<&String>) -> Result<(), SettingsError> {
        match name {
            None if repositories.len() > 1 => Err(self.invalid("needs 'repository', the name of a watched repository")),
            Some(name) if !repositories.is_empty() && !repositories.iter().any(|known| known.name == *name) => {
                Err(self.invalid(&format!("there is no watched repository '{name}'")))
            }
            _ => Ok(()),
        }
    }

    fn retry_for(&self, hours: Option<f64>) -> Result<Duration, SettingsError> {
        let (default, most) = RETRY_FOR;
        let hours = hours.unwrap_or(default);
        let time = Some(hours).filter(|hours| (0.0..=most).contains(hours));
        let time = time.and_then(|hours| Duration::try_from_secs_f64(hours * 3600.0).ok());
        time.ok_or_else(|| self.invalid(&format!("needs a number of hours for 'retry_for', not {hours}")))
    }
}
