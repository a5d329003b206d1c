//! Puts modules that a Puppetfile takes from git into the tree, if there are local clones of them.
//!
//! r10k and g10k keep a bare clone of each repository, in a folder that is named after its address.
//!
//! Source: r10k's `util/cacheable.rb` (`sanitized_dirname`), `git/cache.rb` (`resolve`); g10k's `git.go`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use regex::Regex;

use crate::git::{CommitId, GITMODULES, Repository};
use crate::hiera::layer::{DeclaredModule, Deployment, Environment, GitSource};
use crate::tree::{Entry, FileTree, Graft, GraftedTree, TreeError, changes, folder_of};

/// The maximum number of modules that are put into a tree.
const MAX_MODULES: usize = 4096;

/// The folders below a tool's folder that may contain clones: r10k's code manager has `git`, g10k `modules`.
const CLONE_FOLDERS: [&str; 3] = ["", "git", "modules"];

/// Clones of modules, which are opened on demand.
#[derive(Default)]
pub struct ModuleClones {
    folders: Vec<PathBuf>,
    opened: Mutex<HashMap<PathBuf, Repository>>,
}

impl ModuleClones {
    /// Returns the clones in these folders.
    pub fn in_folders(folders: Vec<PathBuf>) -> ModuleClones {
        ModuleClones { folders, opened: Mutex::default() }
    }

    /// Returns `tree` with the modules that the Puppetfiles of the environments at `roots` bring. A module that is
    /// not available is replaced by [`Entry::Submodule`], without a commit. Existing files of the tree stay.
    pub(super) fn graft(
        &self,
        tree: Arc<dyn FileTree>,
        roots: &[String],
        file_limit: u64,
    ) -> Result<Arc<dyn FileTree>, TreeError> {
        let mut grafts: BTreeMap<String, Graft> = BTreeMap::new();
        for root in roots {
            let deployment = Deployment::read(&*tree, root)?;
            let mut uses: HashMap<&str, usize> = HashMap::new();
            for module in &deployment.modules {
                *uses.entry(&module.name).or_default() += 1;
            }
            for DeclaredModule { name, folder, source, .. } in deployment.modules.iter().take(MAX_MODULES) {
                let Some(folder) = folder else { continue };
                if grafts.len() == MAX_MODULES || !is_free(&*tree, &grafts, folder)? {
                    continue;
                }
                let is_plain = !deployment.is_dynamic && uses.get(&**name) == Some(&1);
                let found =
                    source.as_ref().filter(|_| is_plain).and_then(|source| self.clone_graft(source, file_limit));
                grafts.insert(folder.clone(), found.unwrap_or(Graft::Absent(None)));
            }
        }
        Ok(if grafts.is_empty() { tree } else { Arc::new(GraftedTree::new(tree, grafts)) })
    }

    fn clone_graft(&self, source: &GitSource, file_limit: u64) -> Option<Graft> {
        let clones = self.folders.iter().flat_map(|folder| CLONE_FOLDERS.map(|inner| folder.join(inner)));
        let mut clones = clones.flat_map(|folder| clone_names(&source.url).map(move |name| folder.join(name)));
        let clone = clones.find_map(|path| self.open(&path))?;
        clone.limit_files(file_limit);
        let commit = source.revisions.iter().find_map(|name| commit(&clone, name))?.ok()?;
        Some(clone.tree(commit).ok()?.graft())
    }

    /// Opens this folder as a clone, or returns `None` if it is not itself one.
    fn open(&self, path: &Path) -> Option<Repository> {
        let path = path.canonicalize().ok()?;
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = opened.get(&path).filter(|known| known.is_there()) {
            return Some(known.clone());
        }
        let repository = Repository::discover(&path);
        let repository =
            repository.inspect_err(|error| tracing::warn!("modules of the Puppetfile are not read: {error}")).ok()?;
        let is_itself = repository.git_dir() == path || repository.git_dir() == path.join(".git");
        is_itself.then(|| opened.entry(path).insert_entry(repository).get().clone())
    }
}

/// Returns the commit that a name means in a clone, or `None` if it means nothing there. Fails if a branch and a tag
/// have that name at different commits, since tools disagree about its meaning.
fn commit(clone: &Repository, name: &str) -> Option<Result<CommitId, Ambiguous>> {
    // Notations such as `main~1` are left out.
    let is_plain = !name.contains(['^', '~', ':', '{', '*', '?', '[', '\\', ' ']);
    let resolve_in = |kind: &str| clone.resolve(&format!("refs/{kind}/{name}")).ok().filter(|_| is_plain);
    match (resolve_in("tags"), resolve_in("heads")) {
        (Some(tag), Some(branch)) if tag != branch => Some(Err(Ambiguous)),
        (Some(commit), _) | (None, Some(commit)) => Some(Ok(commit)),
        (None, None) => {
            let is_id = (4..=40).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_id.then(|| clone.resolve(name).ok()).flatten().map(Ok)
        }
    }
}

/// A name that means several commits.
struct Ambiguous;

/// Returns the names that tools give to the clone of an address: r10k, older versions of r10k, which include users
/// and passwords, and g10k. No name leads out of its folder.
fn clone_names(url: &str) -> impl Iterator<Item = String> {
    static USER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(\w+://).*@").ok());
    let bare = USER.as_ref().map_or_else(|| url.into(), |user| user.replace_all(url, "$1"));
    let plain = |url: &str| {
        let is_kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '@' | '_' | '.' | '-');
        url.chars().map(|c| if is_kept(c) { c } else { '-' }).collect::<String>()
    };
    let names = [plain(&bare), plain(url), url.replace('/', "_").replace(':', "-")];
    names.into_iter().filter(|name| !matches!(name.as_str(), "" | "." | ".."))
}

/// Returns true if a module can be put into `folder`: nothing is there except, in a work tree, a clone that a tool
/// has put there.
fn is_free(tree: &dyn FileTree, grafts: &BTreeMap<String, Graft>, folder: &str) -> Result<bool, TreeError> {
    if !matches!(tree.entry(folder)?, None | Some(Entry::Submodule(None))) {
        return Ok(false);
    }
    let prefix = format!("{folder}/");
    if grafts.range(prefix.clone()..).next().is_some_and(|(path, _)| path.starts_with(&prefix)) {
        return Ok(false);
    }
    let mut above = folder_of(folder);
    while !above.is_empty() {
        if grafts.contains_key(above) || !matches!(tree.entry(above)?, None | Some(Entry::Folder)) {
            return Ok(false);
        }
        above = folder_of(above);
    }
    Ok(!grafts.contains_key(folder))
}

/// Returns the other repositories in the trees of two revisions whose files only the first tree has, and those whose
/// files only the second has.
pub(super) fn read_on_one_side(sides: [&Environment; 2]) -> Result<[BTreeMap<String, Graft>; 2], TreeError> {
    let (mut found, trees) = ([BTreeMap::new(), BTreeMap::new()], sides.map(|side| &*side.tree));
    // Only modules and submodules bring other repositories into a tree.
    let mut has_others = sides.iter().flat_map(|side| side.roots()).any(|root| !root.deployment.modules.is_empty());
    for tree in trees {
        has_others |= tree.entry(GITMODULES)?.is_some();
    }
    for path in if has_others { changes(trees[0], trees[1])? } else { BTreeSet::new() } {
        for (one, other) in [(0, 1), (1, 0)] {
            if let Some(Entry::Submodule(known)) = trees[other].entry(&path)?
                && trees[one].entry(&path)? == Some(Entry::Folder)
                && let Some(commit) = trees[one].commit_at(&path)?
            {
                found[one].insert(path.clone(), Graft::Absent(known.map(|_| commit)));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_are_called_as_their_tools_call_them() {
        let check = |url: &str, expected: &[&str]| assert_eq!(clone_names(url).collect::<Vec<_>>(), expected);
        check("git://some/git/remote", &["git---some-git-remote", "git---some-git-remote", "git-__some_git_remote"]);
        check("git@a.b:c/d_e.git", &["git@a.b-c-d_e.git", "git@a.b-c-d_e.git", "git@a.b-c_d_e.git"]);
        check("https://u:p@a/b", &["https---a-b", "https---u-p@a-b", "https-__u-p@a_b"]);
        check("..", &[]);
        check("../x", &["..-x", "..-x", ".._x"]);
    }
}
