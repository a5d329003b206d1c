//! Finds other repositories whose version changes with the commit: submodules, and modules that a Puppetfile brings.
//! Their data changes, but is not available to read.

use std::collections::{BTreeMap, BTreeSet};

use crate::blind_spots::files::changed::ChangedFiles;
use crate::blind_spots::{DiffContext, accept, wording};
use crate::git::{GITMODULES, names_by_path};
use crate::hiera::layer::{DeclaredModule, Environment, PUPPETFILE};
use crate::report::{BlindSpot, Remedy};
use crate::tree::{BlobId, Entry, FileTree, TreeError, folder_of, read_config};

/// The code of such blind spots.
pub const OTHER_VERSION: &str = "other-version";

/// The advice for them.
const ADVICE: &str = "look at what changes there";

/// The maximum number of names in a suggested setting.
const MOST_ACCEPTED: usize = 8;

/// The declarations of modules before and after, by the names of the module and its Puppetfile.
type OtherModules<'e> = BTreeMap<(&'e str, &'e str), [String; 2]>;

impl DiffContext<'_> {
    /// Returns blind spots for the submodules and the modules of the Puppetfile that have another version.
    pub(crate) fn other_versions(&self, files: &ChangedFiles) -> Result<Vec<BlindSpot>, TreeError> {
        let submodules = files.submodules.iter().filter(|path| !self.accepted.has(OTHER_VERSION, path));
        let submodules: Vec<(&str, String)> = submodules.map(|path| (path.as_str(), self.step(path))).collect();
        let modules = self.other_modules();
        let moved_submodules = DiffContext::moved_submodules(&submodules);
        let found = [moved_submodules, self.undeclared()?, self.deployed(&modules), self.other_program(files)];
        Ok(found.into_iter().flatten().collect())
    }

    /// Returns a blind spot for unchanged submodules that `.gitmodules` names on only one side: a checkout lacks the
    /// files of one that it does not name.
    fn undeclared(&self) -> Result<Option<BlindSpot>, TreeError> {
        let trees = self.both_revisions().map(|revision| &*revision.environment.tree);
        let [before, after] = [submodule_paths(trees[0])?, submodule_paths(trees[1])?];
        let mut paths = Vec::new();
        for path in before.symmetric_difference(&after).filter(|path| !self.accepted.has(OTHER_VERSION, path)) {
            let [was, is] = [trees[0].commit_at(path)?, trees[1].commit_at(path)?];
            if was.is_some() && was == is {
                paths.push(path.as_str());
            }
        }
        let Some(first) = paths.first() else { return Ok(None) };
        let short = if paths.len() == 1 { (*first).to_owned() } else { wording::count(paths.len(), "submodule") };
        let message = format!(
            "{GITMODULES} names these submodules only before or only after, and a checkout lacks those that it does not name: {}",
            listed(paths.iter().copied())
        );
        let headline = format!("{GITMODULES} names {short} only before or only after");
        Ok(Some(BlindSpot { headline, message, ..spot([GITMODULES.to_owned()], paths.iter().copied()) }))
    }

    /// Returns the commits that a submodule is moved from and to.
    fn step(&self, path: &str) -> String {
        let [before, after] = self.both_revisions().map(|revision| {
            let tree = &revision.environment.tree;
            match (tree.commit_at(path), tree.entry(path)) {
                (Ok(Some(id)), _) => format!("{:.8}", BlobId(id).to_string()),
                (_, Ok(Some(Entry::Submodule(None)))) => "an unknown commit".to_owned(),
                _ => "none".to_owned(),
            }
        });
        format!("{path}: {before} -> {after}")
    }

    fn moved_submodules(submodules: &[(&str, String)]) -> Option<BlindSpot> {
        let [(first, _), others @ ..] = submodules else { return None };
        let headline = match others {
            [] => format!("{first} is a submodule, and the commit moves it"),
            _ => format!("{} have other commits", wording::count(submodules.len(), "submodule")),
        };
        Some(BlindSpot {
            headline,
            message: format!(
                "no clone of these submodules has the commits, so their data is not read: {}",
                listed(submodules.iter().map(|(_, step)| step.as_str()))
            ),
            ..spot(submodules.iter().map(|(path, _)| (*path).to_owned()), submodules.iter().map(|(path, _)| *path))
        })
    }

    /// Returns the modules of the Puppetfile that are declared differently, newly or no longer, and those that are
    /// searched elsewhere, with both declarations. Modules that are read on both sides are left out, such as those in
    /// the folder of the repository that is searched first.
    fn other_modules(&self) -> OtherModules<'_> {
        self.both_environments().into_iter().flat_map(|environments| self.other_modules_of(environments)).collect()
    }

    fn other_modules_of<'e>(&self, environments: [&'e Environment; 2]) -> OtherModules<'e> {
        let [before, after] = environments.map(declarations);
        let is_read_here = |name: &str| {
            environments.iter().all(|environment| is_in_first_folder(environment, name) || is_read(environment, name))
        };
        let is_moved = |name: &str| {
            let [before, after] = environments.map(|environment| environment.module_folders.get(name));
            before != after || environments[0].module_path.folders != environments[1].module_path.folders
        };
        let names: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
        let both = |name| [&before, &after].map(|side| side.get(name).cloned().unwrap_or_else(|| "none".to_owned()));
        let other = names.into_iter().map(|name| (name, both(name)));
        let other = other.filter(|(name, [before, after])| before != after || is_moved(name));
        let other = other.filter(|(name, _)| !is_read_here(name) && !self.accepted.has(OTHER_VERSION, name));
        let [before, after] = environments.map(|environment| &environment.deployment.modules);
        let file = |name: &str| {
            after.iter().chain(before).find(|module| *module.name == *name).map(|module| &*module.place.path)
        };
        other.map(|(name, step)| ((name, file(name).unwrap_or(PUPPETFILE)), step)).collect()
    }

    /// Returns a blind spot for a Puppetfile that is a program and changes, or may read files that change.
    fn other_program(&self, files: &ChangedFiles) -> Option<BlindSpot> {
        let environments = self.both_environments();
        let sides = || environments.iter().flatten().map(|environment| &environment.deployment);
        let is_read = |path: &&String| sides().any(|deployment| deployment.may_read(path));
        let is_other = environments.iter().any(|[before, after]| before.deployment.program != after.deployment.program);
        let mut changed: Vec<String> = if is_other { vec![PUPPETFILE.to_owned()] } else { Vec::new() };
        changed.extend(files.others.iter().filter(is_read).cloned());
        changed.retain(|file| !self.accepted.has(OTHER_VERSION, file));
        let first = changed.first()?;
        let headline = format!("{first} may change which modules the Puppetfile brings");
        let message = format!("{headline}: it is a program that hierad does not fully understand");
        Some(BlindSpot { headline, message, ..spot(changed.iter().cloned(), changed.iter().map(String::as_str)) })
    }

    fn deployed(&self, modules: &OtherModules<'_>) -> Option<BlindSpot> {
        let ((first, file), _) = modules.first_key_value()?;
        let files: BTreeSet<&str> = modules.keys().map(|(_, file)| *file).collect();
        let file = if files.len() == 1 { (*file).to_owned() } else { wording::count(files.len(), "Puppetfile") };
        let [has, brings] = if files.len() == 1 { ["has", "it brings"] } else { ["have", "they bring"] };
        let names: BTreeSet<&str> = modules.keys().map(|(name, _)| *name).collect();
        let steps: Vec<String> = modules.values().map(step).collect();
        let is_moved = modules.values().all(|[before, after]| before == after);
        let headline = match names.len() {
            1 if is_moved => format!("the module '{first}' of {file} is searched elsewhere"),
            number if is_moved => format!("{} of {file} are searched elsewhere", wording::count(number, "module")),
            1 => format!("{file} {has} another version of the module '{first}'"),
            number => format!("{file} {has} other versions of {}", wording::count(number, "module")),
        };
        Some(BlindSpot {
            headline,
            message: format!(
                "data of modules that {file} bring{} are not read, and {brings} others: {}",
                if files.len() == 1 { "s" } else { "" },
                listed(steps.iter().map(String::as_str)),
            ),
            ..spot_with(self.advice(&names), files.iter().map(|file| (*file).to_owned()), names.iter().copied())
        })
    }

    /// Returns the advice for modules that are not read.
    fn advice(&self, names: &BTreeSet<&str>) -> &'static str {
        let roots = self.both_environments().into_iter().flatten();
        let mut declared =
            roots.flat_map(|root| &root.deployment.modules).filter(|module| names.contains(&*module.name));
        if declared.any(|module| module.source.is_some()) {
            "name the folder with their clones as module_clones in hierad.yaml, look at what changes there"
        } else {
            ADVICE
        }
    }
}

/// Returns the paths of the submodules that a tree names.
fn submodule_paths(tree: &dyn FileTree) -> Result<BTreeSet<String>, TreeError> {
    let Some(Entry::File(id)) = tree.entry(GITMODULES)? else { return Ok(BTreeSet::new()) };
    Ok(names_by_path(&read_config(tree, GITMODULES, id)?).into_keys().collect())
}

/// Describes the declarations of a module before and after.
fn step([before, after]: &[String; 2]) -> String {
    if before == after { format!("{before}, searched elsewhere") } else { format!("{before} -> {after}") }
}

/// Lists the first texts, and the number of the others.
fn listed<'t>(texts: impl ExactSizeIterator<Item = &'t str>) -> String {
    const SHOWN: usize = 3;
    let rest = texts.len().saturating_sub(SHOWN);
    let more = (rest > 0).then(|| format!("and {} more", wording::number(rest)));
    let shown = texts.take(SHOWN).map(str::to_owned).chain(more);
    shown.collect::<Vec<_>>().join("; ")
}

/// Returns the modules of the Puppetfile with their declarations.
fn declarations(environment: &Environment) -> BTreeMap<&str, String> {
    let mut found: BTreeMap<&str, String> = BTreeMap::new();
    for DeclaredModule { name, declaration, .. } in &environment.deployment.modules {
        let known = found.entry(name).or_default();
        *known = if known.is_empty() { declaration.to_string() } else { format!("{known}; {declaration}") };
    }
    found
}

/// Returns true if a module lies in the folder of the repository that is searched first.
fn is_in_first_folder(environment: &Environment, name: &str) -> bool {
    environment.module_folders.get(name).is_some_and(|folder| environment.module_path.begins_with(folder_of(folder)))
}

/// Returns true if the files of all declarations of a module are read, in the folders where it is installed.
fn is_read(environment: &Environment, name: &str) -> bool {
    let mut declared = environment.deployment.modules.iter().filter(|module| &*module.name == name);
    let is_grafted = |folder: &String| matches!(environment.tree.commit_at(folder), Ok(Some(_)));
    declared.all(|module| module.folder.as_ref().is_some_and(is_grafted))
}

/// Returns a blind spot that concerns files, with the setting that accepts these names.
fn spot<'n>(files: impl IntoIterator<Item = String>, names: impl ExactSizeIterator<Item = &'n str>) -> BlindSpot {
    spot_with(ADVICE, files, names)
}

/// Returns such a blind spot with other advice.
fn spot_with<'n>(
    advice: &str,
    files: impl IntoIterator<Item = String>,
    names: impl ExactSizeIterator<Item = &'n str>,
) -> BlindSpot {
    let fix = if names.len() > MOST_ACCEPTED {
        Remedy::words(advice)
    } else {
        let words = format!("{advice} or, if it has no data, add to hierad.yaml");
        accept::remedy(words, OTHER_VERSION, names)
    };
    BlindSpot { code: OTHER_VERSION, fix: Some(fix), files: files.into_iter().collect(), ..BlindSpot::default() }
}
