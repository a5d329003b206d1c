//! The pages of a repository on a forge, for links to the lines of a commit.

use super::{Api, Forge};

/// The pages of a repository on a forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    forge: &'static dyn Forge,
    address: String,
}

impl Page {
    /// Returns the pages of the repository whose first page is at `address`.
    pub fn new(forge: &'static dyn Forge, address: &str) -> Page {
        Page { forge, address: address.trim_end_matches('/').to_owned() }
    }

    /// Returns the pages of a repository, derived from the address of the API, or `None` if that is not in its usual
    /// place, or if the project is only a number.
    pub fn beside(forge: &'static dyn Forge, api: &str, project: &str) -> Option<Page> {
        let api = api.trim_end_matches('/');
        let Api { public, place, .. } = forge.api()?;
        let page = public.filter(|(public, _)| *public == api).map(|(_, page)| page);
        let server = page.or_else(|| api.strip_suffix(place))?;
        let is_number = project.bytes().all(|byte| byte.is_ascii_digit());
        (!is_number).then(|| Page::new(forge, &format!("{server}/{project}")))
    }

    /// Returns the address below which the files of a commit are, or `None` if the forge shows none.
    pub fn files(&self, commit: &str) -> Option<String> {
        Some(format!("{}/{}/{commit}/", self.address, self.forge.api()?.files))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_tells_where_files_are() {
        for (forge, api, project, files) in [
            ("github", "https://api.github.com", "o/n", Some("https://github.com/o/n/blob/1a/")),
            ("github", "https://ghe.example/api/v3/", "o/n", Some("https://ghe.example/o/n/blob/1a/")),
            ("github", "https://proxy.example", "o/n", None),
            ("gitlab", "https://gl.example/api/v4", "a/b/c", Some("https://gl.example/a/b/c/-/blob/1a/")),
            ("gitlab", "https://gl.example/api/v4", "57", None),
            ("gitea", "https://git.example/sub/api/v1", "o/n", Some("https://git.example/sub/o/n/src/commit/1a/")),
        ] {
            let found =
                Page::beside(crate::forge::named(forge).unwrap(), api, project).and_then(|page| page.files("1a"));
            assert_eq!(found.as_deref(), files, "{api} {project}");
        }
    }
}
