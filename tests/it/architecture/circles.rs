//! The uses of siblings by siblings, and the circles among them.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{ModulePath, Source};

/// For the children of each module: which of them uses which other, and a place where it does.
pub(super) type Siblings = BTreeMap<ModulePath, BTreeMap<(String, String), String>>;

/// Finds which siblings use which. An item counts for the module that defines it, wherever it is exported again; a
/// child may use what its parent itself defines.
pub(super) fn siblings(sources: &[Source]) -> Siblings {
    let modules: BTreeSet<&[String]> = sources.iter().map(|source| source.module.as_slice()).collect();
    let exports: BTreeMap<&[String], &ModulePath> =
        sources.iter().flat_map(|source| &source.exports).map(|(seen, path)| (seen.as_slice(), path)).collect();
    let mut found = Siblings::new();
    for source in sources {
        for used in &source.uses {
            let item = defined(used, &modules, &exports);
            let owner = (0..=item.len()).rev().map(|length| &item[..length]).find(|path| modules.contains(path));
            let owner = owner.unwrap_or_default();
            let shared = source.module.iter().zip(owner).take_while(|(own, other)| own == other).count();
            if let (Some(own), Some(other)) = (source.module.get(shared), owner.get(shared)) {
                let edges = found.entry(source.module[..shared].to_vec()).or_default();
                let place = || format!("{} names {}", source.file, used.join("::"));
                edges.entry((own.clone(), other.clone())).or_insert_with(place);
            }
        }
    }
    found
}

/// Follows exports to where an item is defined.
fn defined(used: &[String], modules: &BTreeSet<&[String]>, exports: &BTreeMap<&[String], &ModulePath>) -> ModulePath {
    let mut path = used.to_vec();
    // An export of an export: never this long, but for one that leads to itself.
    for _ in 0..16 {
        let exported = (1..=path.len()).find_map(|length| {
            let target = exports.get(&path[..length]).filter(|_| !modules.contains(&path[..length]))?;
            Some([target.as_slice(), &path[length..]].concat())
        });
        match exported {
            Some(next) => path = next,
            None => break,
        }
    }
    path
}

/// Describes each pair of siblings that use one another, through others perhaps, with the place of each step.
pub(super) fn circles(siblings: &Siblings) -> Vec<String> {
    let mut found = Vec::new();
    for (parent, edges) in siblings {
        for ((from, to), place) in edges {
            if reaches(edges, to, from) {
                let parent = if parent.is_empty() { "crate".to_owned() } else { parent.join("::") };
                found.push(format!("in {parent}: {from} -> {to} -> ... -> {from} ({place})"));
            }
        }
    }
    found
}

/// Returns true if `from` uses `to`, through siblings perhaps.
fn reaches(edges: &BTreeMap<(String, String), String>, from: &str, to: &str) -> bool {
    let mut seen = BTreeSet::from([from]);
    let mut pending = vec![from];
    while let Some(current) = pending.pop() {
        if current == to {
            return true;
        }
        let next = edges.keys().filter(|(user, _)| user == current).map(|(_, used)| used.as_str());
        pending.extend(next.filter(|used| seen.insert(used)));
    }
    false
}
