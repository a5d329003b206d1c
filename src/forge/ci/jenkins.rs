//! Jenkins, which builds requests of all forges.

use reqwest::Url;

use super::{Ci, Jobs, Variable};
use crate::forge::{ALL, Forge, Run};

/// The jobs of Jenkins.
pub(super) const JOBS: Jobs = Jobs {
    runners: &["JENKINS_URL"],
    request_branch: &["CHANGE_BRANCH"],
    no_branch: &["CHANGE_ID", "TAG_NAME"],
    branch: &["BRANCH_NAME"],
    ..Jobs::NONE
};

/// Reads the variables of a multibranch pipeline. The address of the change identifies the forge.
pub(super) fn read(variable: Variable<'_>) -> Ci {
    let number = variable("CHANGE_ID").and_then(|text| text.parse::<u64>().ok());
    let place = variable("CHANGE_URL").and_then(|url| place(&url));
    let build = variable("BUILD_NUMBER").and_then(|text| text.parse().ok());
    let ci = Ci {
        number,
        base_branch: variable("CHANGE_TARGET"),
        // Jobs of plugins that build requests do not name a branch.
        is_own: (number.is_some() || variable("BRANCH_NAME").is_some()) && variable("CHANGE_FORK").is_none(),
        run: build.map(|build| Run(build, 1)),
        url: variable("BUILD_URL"),
        // What is checked out may be a merge: the forge knows the last commit of a change.
        head: if number.is_some() { None } else { variable("GIT_COMMIT") },
        base: if number.is_some() { None } else { variable("GIT_PREVIOUS_COMMIT") },
        ..Ci::default()
    };
    let Some((forge, api, project, page)) = place else { return ci };
    Ci { forge: Some(forge), api: Some(api), project: Some(project), page: Some(page), ..ci }
}

/// Reads the address of a request: the forge, its API, the repository and the repository's page.
fn place(url: &str) -> Option<(&'static dyn Forge, String, String, String)> {
    let url = Url::parse(url).ok()?;
    let path = url.path().trim_matches('/');
    let server = url.origin().ascii_serialization();
    let found = ALL.into_iter().filter_map(|forge| {
        let api = forge.api()?;
        Some((forge, api, path.split_once(api.request_page)?.0))
    });
    // A group may have the same name as a folder in another forge's addresses.
    let (forge, api, project) = found.max_by_key(|(_, api, _)| api.request_page.len())?;
    let public = api.public.filter(|(_, page)| page.strip_prefix("https://") == url.host_str());
    let api = public.map_or_else(|| format!("{server}{}", api.place), |(api, _)| api.to_owned());
    Some((forge, api, project.to_owned(), format!("{server}/{project}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_change_tells_its_forge() {
        for (url, forge, api, project) in [
            ("https://github.com/o/n/pull/7", "github", "https://api.github.com", "o/n"),
            ("https://ghe.example/o/n/pull/7", "github", "https://ghe.example/api/v3", "o/n"),
            ("https://git.example:8443/o/n/pulls/7", "gitea", "https://git.example:8443/api/v1", "o/n"),
            ("https://gl.example/a/b/c/-/merge_requests/7", "gitlab", "https://gl.example/api/v4", "a/b/c"),
        ] {
            let found = place(url).unwrap();
            assert_eq!((found.0.name(), &*found.1, &*found.2), (forge, api, project), "{url}");
        }
        assert_eq!(place("https://bitbucket.org/o/n/pull-requests/7"), None);
    }
}
