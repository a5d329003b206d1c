//! The pages of a repository on a forge, for links to the lines of a commit.

use super::Kind;

/// The pages of a repository on a forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    kind: Kind,
    address: String,
}

impl Page {
    /// Returns the pages of the repository whose first page is at `address`.
    pub fn new(kind: Kind, address: &str) -> Page {
        Page { kind, address: address.trim_end_matches('/').to_owned() }
    }

    /// Returns the pages of a repository by the usual place of the forge's API, or `None` if that is elsewhere. The
    /// number of a project on GitLab does not reveal its pages.
    pub fn beside(kind: Kind, api: &str, project: &str) -> Option<Page> {
        let api = api.trim_end_matches('/');
        let server = match kind {
            Kind::GitHub if api == "https://api.github.com" => "https://github.com",
            Kind::GitHub => api.strip_suffix("/api/v3")?,
            Kind::GitLab => api.strip_suffix("/api/v4")?,
            Kind::Gitea => api.strip_suffix("/api/v1")?,
        };
        let is_number = project.bytes().all(|byte| byte.is_ascii_digit());
        (!is_number).then(|| Page::new(kind, &format!("{server}/{project}")))
    }

    /// Returns the address below which the files of a commit are.
    pub fn files(&self, commit: &str) -> String {
        let folder = match self.kind {
            Kind::GitHub => "blob",
            Kind::GitLab => "-/blob",
            Kind::Gitea => "src/commit",
        };
        format!("{}/{folder}/{commit}/", self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_tells_where_files_are() {
        for (kind, api, project, files) in [
            (Kind::GitHub, "https://api.github.com", "o/n", Some("https://github.com/o/n/blob/1a/")),
            (Kind::GitHub, "https://ghe.example/api/v3/", "o/n", Some("https://ghe.example/o/n/blob/1a/")),
            (Kind::GitHub, "https://proxy.example", "o/n", None),
            (Kind::GitLab, "https://gl.example/api/v4", "a/b/c", Some("https://gl.example/a/b/c/-/blob/1a/")),
            (Kind::GitLab, "https://gl.example/api/v4", "57", None),
            (Kind::Gitea, "https://git.example/sub/api/v1", "o/n", Some("https://git.example/sub/o/n/src/commit/1a/")),
        ] {
            let found = Page::beside(kind, api, project).map(|page| page.files("1a"));
            assert_eq!(found.as_deref(), files, "{api} {project}");
        }
    }
}
