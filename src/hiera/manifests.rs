//! The lookups in an environment's manifests, templates and functions in Ruby, which tell the merge strategy that
//! nodes use for a key.
//!
//! A call that names a strategy overrides `lookup_options`, except for conversions. If all calls for a key name the
//! same strategy, and no class has a parameter of that name, which Puppet would look up automatically, nodes use that
//! strategy, and so does [`Lookup::get`](super::lookup::Lookup::get). Otherwise the key has several values, and only
//! the data decide which one is shown.
//!
//! Source: `puppet/functions/lookup.rb`, and `do_lookup` in `pops/lookup.rb`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use super::derived::DerivedVariable;
use super::key::root_apart;
use super::merge::Strategy;
use super::options::LookupOptions;
use crate::diagnostic::Place;
use crate::pattern::is_made_of;
use crate::puppet::manifest::{ANYTHING, CallMerge, Fed, Formula, KeyText, Language, LookupCall, Lookups};
use crate::tree::{BlobId, Entry, Extent, FileTree, Target, TreeError, child, files_at, follow};
use crate::value::Value;

/// The largest manifest that is read, in bytes.
const MAX_MANIFEST_SIZE: usize = 1 << 20;

/// The maximum number of manifests whose lookups are cached.
const MAX_CACHED: usize = 100_000;

/// The names of folders whose manifests are never applied to a node.
const SKIPPED_FOLDERS: [&str; 4] = ["spec", "examples", "tests", "fixtures"];

/// A merge strategy for a key, and the places that use it.
#[derive(Debug, Clone)]
pub struct ManifestMerge {
    /// The strategy in the form of the `merge` in `lookup_options`, or undef for the strategy of the data.
    pub merge: Value,
    /// The places.
    pub places: BTreeSet<Place>,
    /// False if the key at these places is not known at all, so that it may be any key.
    pub names_key: bool,
}

/// The lookups in manifests, by content and language: most stay the same from one commit to the next.
#[derive(Debug, Default)]
pub struct Manifests(Mutex<HashMap<(BlobId, Language), Arc<Lookups>>>);

/// The lookups of an environment's manifests.
#[derive(Debug, Default)]
pub struct ManifestLookups {
    /// Lookups of known keys, by root key.
    named: BTreeMap<Arc<str>, Vec<PlacedCall>>,
    /// Lookups whose keys are partly known.
    patterns: Vec<(KeyText, PlacedCall)>,
    /// Lookups that may be about any key.
    any: Vec<PlacedCall>,
    /// The named keys whose lookups agree.
    agreed: HashMap<Arc<str>, Arc<Agreement>>,
    /// Lookups that count only if one of these names is given options.
    conditional: Vec<(BTreeSet<String>, PlacedCall)>,
    parameters: Parameters,
    /// The failure to read all manifests.
    pub error: Option<TreeError>,
}

/// The only strategy that nodes use for a key.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    /// The strategy.
    pub strategy: Strategy,
    /// The first place that names it.
    pub place: Place,
}

/// The maximum number of lookups, classes and parameters in the manifests of all environments together. They take
/// some hundred megabytes.
pub const MAX_CALLS: usize = 2_000_000;

/// A call that looks up a key, and its place.
#[derive(Debug, Clone)]
struct PlacedCall {
    merge: CallMerge,
    place: Place,
}

/// The parameters of classes.
#[derive(Debug, Default)]
struct Parameters {
    classes: BTreeSet<String>,
    keys: BTreeSet<String>,
    /// The modules whose manifests are all read.
    modules: BTreeSet<Arc<str>>,
}

/// The variables of the top scope that are set by the manifests that Puppet evaluates first.
#[derive(Debug, Clone, Default)]
pub struct SetVariables {
    /// Variables that are computed from others before anything is looked up, in order. None if a manifest is unknown.
    pub derived: Vec<DerivedVariable>,
    /// The names of all other variables.
    pub unknown: BTreeSet<String>,
    /// True if more may be set, by manifests that are not read.
    pub may_set_any: bool,
    /// The manifests, by path. For one outside of the repository, the id is that of the place that its path leads to.
    pub files: Vec<(String, BlobId)>,
}

impl SetVariables {
    /// Returns the variables of manifests that `path` leads to and that are outside of the repository.
    pub fn outside(path: &str, place: &str) -> SetVariables {
        let files = vec![(path.to_owned(), BlobId::of(place.as_bytes()))];
        SetVariables { may_set_any: true, files, ..SetVariables::default() }
    }

    /// Returns true if the manifests may set a variable in an unknown way.
    pub fn may_set(&self, name: &str) -> bool {
        self.may_set_any || self.unknown.contains(name)
    }
}

impl Manifests {
    /// Returns the files of a tree that may contain lookups.
    pub fn files(tree: &dyn FileTree) -> Result<Vec<(String, BlobId)>, TreeError> {
        let is_manifest = |path: &str| Language::of(path).is_some();
        let is_skipped = |name: &str| name.starts_with('.') || SKIPPED_FOLDERS.contains(&name);
        files_at(tree, is_manifest, is_skipped)
    }

    /// Reads the variables of the top scope that the manifests at `path`, a file or a folder, set.
    pub fn top_scope(&self, tree: &dyn FileTree, path: &str) -> Result<SetVariables, TreeError> {
        let (files, is_whole) = main_manifests(tree, path)?;
        let (mut found, mut looks_up, mut is_known) = (Vec::<(String, Option<Formula>)>::new(), false, is_whole);
        for (_, id) in &files {
            // The entry of a manifest outside of the repository has no content.
            let lookups = if is_whole { self.in_file(tree, *id, Language::Manifest)? } else { Arc::default() };
            let Some(scope) = &lookups.top_scope else {
                is_known = false;
                continue;
            };
            for (name, formula) in &scope.variables {
                match found.iter_mut().find(|(known, _)| known == name) {
                    Some((_, known)) => *known = None,
                    None => found.push((name.clone(), formula.clone().filter(|_| !looks_up))),
                }
            }
            looks_up |= scope.looks_up;
        }
        let mut set = SetVariables { files, may_set_any: !is_known, ..SetVariables::default() };
        for (name, formula) in found {
            match formula.filter(|_| is_known) {
                Some(formula) => set.derived.push(DerivedVariable { name: name.into(), formula }),
                None => drop(set.unknown.insert(name)),
            }
        }
        Ok(set)
    }

    /// Reads the lookups in some manifests of a tree that has these `modules`. Subtracts their number from `left`; it
    /// is an error if there are more.
    pub fn lookups<'f>(
        &self,
        tree: &dyn FileTree,
        files: Result<impl Iterator<Item = &'f (String, BlobId)>, TreeError>,
        modules: impl Iterator<Item = Arc<str>>,
        left: &mut usize,
    ) -> ManifestLookups {
        let mut found = ManifestLookups::default();
        found.parameters.modules = modules.collect();
        found.error = files.and_then(|files| self.add_all(tree, files, &mut found, left)).err();
        let agreement = |key: &Arc<str>| Some((key.clone(), Arc::new(found.agreement(key)?)));
        found.agreed = found.named.keys().filter_map(agreement).collect();
        found
    }

    fn add_all<'f>(
        &self,
        tree: &dyn FileTree,
        files: impl Iterator<Item = &'f (String, BlobId)>,
        found: &mut ManifestLookups,
        left: &mut usize,
    ) -> Result<(), TreeError> {
        let mut read = Vec::new();
        for (path, id) in files {
            if let Some(language) = Language::of(path) {
                let lookups = self.in_file(tree, *id, language)?;
                let Some(rest) = left.checked_sub(lookups.size()) else {
                    let text = format!(
                        "the manifests up to here have more than {MAX_CALLS} lookups, classes and parameters ('manifests: false' in hierad.yaml leaves them unread)"
                    );
                    return Err(TreeError::too_large(path, text));
                };
                *left = rest;
                found.add(&Arc::from(path.as_str()), &lookups);
                read.push(lookups);
            }
        }
        found.add_conditional(read.iter().flat_map(|lookups| &lookups.fed));
        Ok(())
    }

    fn in_file(&self, tree: &dyn FileTree, id: BlobId, language: Language) -> Result<Arc<Lookups>, TreeError> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&(id, language)) {
            return Ok(known.clone());
        }
        let content = tree.read(id)?;
        let is_read = content.len() <= MAX_MANIFEST_SIZE;
        let text = || String::from_utf8_lossy(&content);
        let lookups = if is_read { Lookups::of(&text(), language) } else { Lookups::default() };
        let lookups = Arc::new(lookups);
        let mut all = lock();
        if all.len() >= MAX_CACHED {
            all.clear();
        }
        all.insert((id, language), lookups.clone());
        Ok(lookups)
    }
}

/// Returns the manifests that Puppet evaluates first, in order: a file, or all those in a folder, including links to
/// files. Also returns false if some are not in the repository; their ids are those of the places where they are.
///
/// Source: `node/environment.rb` (`perform_initial_import`).
fn main_manifests(tree: &dyn FileTree, path: &str) -> Result<(Vec<(String, BlobId)>, bool), TreeError> {
    let (mut found, mut is_whole, mut extent) = (Vec::new(), true, Extent::default());
    let mut outside = |path: String, place: &str| {
        is_whole = false;
        (path, BlobId::of(place.as_bytes()))
    };
    let mut pending = match follow(tree, path)? {
        Target::File(path, id) => return Ok((vec![(path, id)], true)),
        Target::Folder(path) => vec![path],
        Target::Absent => Vec::new(),
        Target::Outside(place) | Target::Dangling(place) | Target::Loop(place) => {
            found.push(outside(path.to_owned(), &place.to_string()));
            Vec::new()
        }
    };
    while let Some(folder) = pending.pop() {
        extent.see(&folder)?;
        for (name, entry) in tree.list(&folder)?.into_iter().filter(|(name, _)| !name.starts_with('.')) {
            let (path, is_manifest) = (child(&folder, &name), name.strip_suffix(".pp").is_some());
            match entry {
                Entry::Folder => pending.push(path),
                Entry::Submodule(_) => found.push(outside(path, &format!("{entry:?}"))),
                Entry::File(id) if is_manifest => found.push((path, id)),
                Entry::Link(_) if is_manifest => match follow(tree, &path)? {
                    Target::File(_, id) => found.push((path, id)),
                    Target::Outside(place) | Target::Dangling(place) | Target::Loop(place) => {
                        found.push(outside(path, &place.to_string()));
                    }
                    Target::Folder(_) | Target::Absent => {}
                },
                Entry::File(_) | Entry::Link(_) => {}
            }
        }
    }
    found.sort();
    Ok((found, is_whole))
}

impl ManifestLookups {
    fn add(&mut self, path: &Arc<str>, lookups: &Lookups) {
        for LookupCall { key, merge, line, given } in &lookups.calls {
            let call = PlacedCall { merge: merge.clone(), place: Place::line(path.clone(), *line) };
            if !given.is_empty() {
                self.conditional.push((given.clone(), call));
                continue;
            }
            let root = |key: &str| root_apart(key).unwrap_or_else(|| key.into());
            let whole = key.whole().map(root).or_else(|| key.root().whole().map(Arc::from));
            match whole {
                Some(root) => self.named.entry(root).or_default().push(call),
                None if key.root().is_any() => self.any.push(call),
                None => self.patterns.push((key.root(), call)),
            }
        }
        self.parameters.classes.extend(lookups.classes.iter().cloned());
        self.parameters.keys.extend(lookups.parameters.iter().cloned());
    }

    /// Adds the lookups that depend on names, if options reach one of the names, directly or through others. `fed`
    /// says what is passed to which name.
    fn add_conditional<'f>(&mut self, fed: impl Iterator<Item = &'f Fed>) {
        let mut conditional = std::mem::take(&mut self.conditional);
        if conditional.is_empty() {
            return;
        }
        let mut by = HashMap::<Option<&str>, Vec<&str>>::new();
        for Fed { to, by: of } in fed {
            by.entry(of.as_deref()).or_default().push(to);
        }
        let mut pending = by.remove(&None).unwrap_or_default();
        let mut reached = BTreeSet::new();
        while let Some(name) = pending.pop() {
            if reached.insert(name) {
                pending.extend(by.remove(&Some(name)).unwrap_or_default());
            }
        }
        let is_any = reached.contains(ANYTHING);
        conditional.retain(|(names, _)| is_any || names.iter().any(|name| reached.contains(&**name)));
        self.any.extend(conditional.into_iter().map(|(_, call)| call));
    }

    /// Returns the only strategy that nodes use for a key, if the manifests name one and `settings` do not.
    pub fn agreed(&self, key: &str, settings: &LookupOptions) -> Option<Arc<Agreement>> {
        if self.named.is_empty() && self.patterns.is_empty() {
            return None;
        }
        self.agreed_on(root_apart(key).as_deref().unwrap_or(key), settings)
    }

    /// Returns the only strategy that nodes use for a root key of data, if the manifests name one and `settings` do
    /// not.
    pub fn agreed_on(&self, root: &str, settings: &LookupOptions) -> Option<Arc<Agreement>> {
        let agreed = match self.agreed.get(root) {
            Some(agreed) => Some(agreed.clone()),
            None if self.named.contains_key(root) => None,
            None => self.agreement(root).map(Arc::new),
        };
        agreed.filter(|_| !is_decided(settings, root))
    }

    /// Returns the named root keys whose agreement differs in `other`, or `None` if that of any key may differ.
    pub fn differing(&self, other: &ManifestLookups) -> Option<BTreeSet<Arc<str>>> {
        let patterns = |lookups: &ManifestLookups| -> Vec<(KeyText, CallMerge)> {
            lookups.patterns.iter().map(|(key, call)| (key.clone(), call.merge.clone())).collect()
        };
        if patterns(self) != patterns(other) {
            return None;
        }
        let strategy_in =
            |lookups: &ManifestLookups, root: &str| lookups.agreed.get(root).map(|agreed| agreed.strategy.clone());
        let names = self.named.keys().chain(other.named.keys());
        Some(names.filter(|root| strategy_in(self, root) != strategy_in(other, root)).cloned().collect())
    }

    /// Returns the strategies for a root key that lookups name apart from the one that they agree on, if `settings`
    /// name none.
    pub fn strategies(&self, root: &str, settings: &LookupOptions) -> Vec<ManifestMerge> {
        let mut found = Vec::new();
        if is_decided(settings, root) {
            return found;
        }
        let is_agreed = self.agreement(root).is_some();
        // There may be lookups of it that are not seen, such as in a module that is not here.
        found.extend(is_agreed.then(|| ManifestMerge {
            merge: Value::Undef,
            places: BTreeSet::new(),
            names_key: false,
        }));
        let named = self.calls(root).filter(|_| !is_agreed).map(|call| (call, true));
        let calls = named.chain(self.any.iter().map(|call| (call, false)));
        for (PlacedCall { merge, place }, names_key) in calls {
            for merge in merge.possible() {
                match found.iter_mut().find(|known: &&mut ManifestMerge| known.merge == *merge) {
                    Some(known) => drop(known.places.insert(place.clone())),
                    None => {
                        found.push(ManifestMerge { merge: merge.clone(), places: [place.clone()].into(), names_key });
                    }
                }
            }
        }
        found
    }

    fn calls<'a>(&'a self, root: &'a str) -> impl Iterator<Item = &'a PlacedCall> {
        let named = self.named.get(root).into_iter().flatten();
        named.chain(self.patterns.iter().filter(move |(key, _)| is_made_of(root, key.pieces())).map(|(_, call)| call))
    }

    /// Returns the strategy that all lookups of a root key agree on.
    fn agreement(&self, root: &str) -> Option<Agreement> {
        let strategy_of = |call: &PlacedCall| match &call.merge {
            CallMerge::Named(merge) => Strategy::from_option(merge).ok(),
            CallMerge::ByData | CallMerge::Perhaps(_) => None,
        };
        let mut calls = self.calls(root);
        let first = calls.next()?;
        let strategy = strategy_of(first)?;
        let is_agreed =
            calls.all(|call| strategy_of(call).as_ref() == Some(&strategy)) && !self.parameters.may_have(root);
        is_agreed.then(|| Agreement { strategy, place: first.place.clone() })
    }
}

impl Parameters {
    /// Returns true if a root key may belong to a class parameter, for which Puppet uses the strategy of the data.
    fn may_have(&self, root: &str) -> bool {
        let Some((class, _)) = root.rsplit_once("::") else { return false };
        let module = class.split("::").next().unwrap_or(class);
        self.keys.contains(root) || !(self.classes.contains(class) || self.modules.contains(module))
    }
}

/// Returns true if settings name the strategy of a root key, or if they cannot be evaluated.
fn is_decided(settings: &LookupOptions, root: &str) -> bool {
    settings.find(root).map_or(true, |options| options.is_some_and(|options| options.names_strategy()))
}

/// Returns the name of a strategy for messages.
pub fn name(merge: &Value) -> String {
    match merge {
        Value::Hash(options) => format!("'{}'", options.get("strategy").map(Value::to_s).unwrap_or_default()),
        Value::Undef => "of lookup_options".to_owned(),
        name => format!("'{}'", name.to_s()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::MemoryTree;

    #[test]
    fn lookups_of_all_environments_are_counted_together() {
        let tree = MemoryTree::from_fixture(
            "-- a/x.pp\n$a = lookup('a')\n$b = lookup('b')\n-- b/y.pp\nclass c ($d) { lookup('e') }\n",
        );
        let (manifests, files) = (Manifests::default(), Manifests::files(&tree).unwrap());
        let mut left = 8;
        let mut read = || {
            let found = manifests.lookups(&tree, Ok(files.iter()), std::iter::empty(), &mut left);
            (found.named.len(), found.error.map(|error| error.to_string()))
        };
        assert_eq!(read(), (3, None));
        let (found, error) = read();
        assert!(found < 3 && error.unwrap().contains("have more than 2000000 lookups"), "{found}");
    }
}
