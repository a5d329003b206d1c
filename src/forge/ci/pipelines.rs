//! CI servers that belong to no forge or to one whose API is not spoken: Jenkins and Bitbucket Pipelines.

use reqwest::Url;

use super::{Ci, Variable, head_ref};
use crate::forge::{Kind, Run};

/// Reads the variables of a multibranch pipeline. The address of the change tells the forge.
pub(super) fn jenkins(variable: Variable<'_>) -> Ci {
    let number = variable("CHANGE_ID").and_then(|text| text.parse::<u64>().ok());
    let place = variable("CHANGE_URL").and_then(|url| place(&url));
    let build = variable("BUILD_NUMBER").and_then(|text| text.parse().ok());
    let ci = Ci {
        number,
        base_branch: variable("CHANGE_TARGET"),
        // Jobs of plugins that build requests have no name of a branch.
        is_own: (number.is_some() || variable("BRANCH_NAME").is_some()) && variable("CHANGE_FORK").is_none(),
        run: build.map(|build| Run(build, 1)),
        url: variable("BUILD_URL"),
        // The checked-out commit may be a merge: the forge knows the last commit of a change.
        head: if number.is_some() { None } else { variable("GIT_COMMIT") },
        base: if number.is_some() { None } else { variable("GIT_PREVIOUS_COMMIT") },
        ..Ci::default()
    };
    let Some((kind, api, project, page)) = place else { return ci };
    let head_ref = number.map(|number| head_ref(kind, number));
    Ci { kind: Some(kind), api: Some(api), project: Some(project), page: Some(page), head_ref, ..ci }
}

/// Reads the address of a request: the forge, its API, the repository and that one's page.
fn place(url: &str) -> Option<(Kind, String, String, String)> {
    let url = Url::parse(url).ok()?;
    let path = url.path().trim_matches('/');
    let server = url.origin().ascii_serialization();
    let (kind, project) = [(Kind::GitLab, "/-/merge_requests/"), (Kind::Gitea, "/pulls/"), (Kind::GitHub, "/pull/")]
        .into_iter()
        .find_map(|(kind, middle)| Some((kind, path.split_once(middle)?.0)))?;
    let api = match kind {
        Kind::GitHub if url.host_str() == Some("github.com") => "https://api.github.com".to_owned(),
        Kind::GitHub => format!("{server}/api/v3"),
        Kind::GitLab => format!("{server}/api/v4"),
        Kind::Gitea => format!("{server}/api/v1"),
    };
    Some((kind, api, project.to_owned(), format!("{server}/{project}")))
}

/// Reads the variables of Bitbucket Pipelines, where the review is only written. Requests of forks run none there.
pub(super) fn bitbucket(variable: Variable<'_>) -> Ci {
    Ci {
        head: variable("BITBUCKET_COMMIT"),
        base_branch: variable("BITBUCKET_PR_DESTINATION_BRANCH"),
        base: variable("BITBUCKET_PR_DESTINATION_COMMIT"),
        is_own: true,
        ..Ci::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_change_tells_its_forge() {
        for (url, kind, api, project) in [
            ("https://github.com/o/n/pull/7", Kind::GitHub, "https://api.github.com", "o/n"),
            ("https://ghe.example/o/n/pull/7", Kind::GitHub, "https://ghe.example/api/v3", "o/n"),
            ("https://git.example:8443/o/n/pulls/7", Kind::Gitea, "https://git.example:8443/api/v1", "o/n"),
            ("https://gl.example/a/b/c/-/merge_requests/7", Kind::GitLab, "https://gl.example/api/v4", "a/b/c"),
        ] {
            let found = place(url).unwrap();
            assert_eq!((found.0, &*found.1, &*found.2), (kind, api, project), "{url}");
        }
        assert_eq!(place("https://bitbucket.org/o/n/pull-requests/7"), None);
    }
}
