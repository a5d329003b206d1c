//! Reduces a repository to the least that still shows a difference: fewer nodes, files, lines, facts.

use serde_json::Value as Json;

use super::generator::{Content, Repository};

/// The smallest repository found for which `differs` still holds, by taking away piece after piece.
pub(crate) fn shrink(repository: &Repository, mut differs: impl FnMut(&Repository) -> bool) -> Repository {
    let mut best = repository.clone();
    loop {
        let mut smaller = false;
        smaller |= profiles(&mut best, &mut differs);
        smaller |= files(&mut best, &mut differs);
        smaller |= lines(&mut best, &mut differs);
        smaller |= facts(&mut best, &mut differs);
        if !smaller {
            return best;
        }
    }
}

/// Takes over `candidate` if it still differs.
fn attempt(best: &mut Repository, candidate: Repository, differs: &mut impl FnMut(&Repository) -> bool) -> bool {
    let better = differs(&candidate);
    if better {
        *best = candidate;
    }
    better
}

fn profiles(best: &mut Repository, differs: &mut impl FnMut(&Repository) -> bool) -> bool {
    let mut smaller = false;
    for position in (0..best.profiles.len()).rev() {
        if best.profiles.len() > 1 {
            let mut candidate = best.clone();
            candidate.profiles.remove(position);
            smaller |= attempt(best, candidate, differs);
        }
    }
    smaller
}

/// First many files at once, then one after the other.
fn files(best: &mut Repository, differs: &mut impl FnMut(&Repository) -> bool) -> bool {
    let mut smaller = false;
    let mut size = best.files.len().div_ceil(2);
    while size > 0 {
        let paths: Vec<String> = best.files.keys().cloned().collect();
        for chunk in paths.chunks(size) {
            let mut candidate = best.clone();
            candidate.files.retain(|path, _| !chunk.contains(path));
            smaller |= attempt(best, candidate, differs);
        }
        size /= 2;
    }
    smaller
}

fn lines(best: &mut Repository, differs: &mut impl FnMut(&Repository) -> bool) -> bool {
    let mut smaller = false;
    let paths: Vec<String> = best.files.keys().cloned().collect();
    for path in paths {
        let mut size = usize::MAX;
        while size > 0 {
            let Some(Content::File(text)) = best.files.get(&path) else { break };
            let count = text.lines().count();
            size = size.min(count.div_ceil(2));
            smaller |= remove_lines(best, &path, size, differs);
            size /= 2;
        }
    }
    smaller
}

/// Tries to remove each run of `size` lines, from the last to the first.
fn remove_lines(best: &mut Repository, path: &str, size: usize, differs: &mut impl FnMut(&Repository) -> bool) -> bool {
    let mut smaller = false;
    let mut end = usize::MAX;
    loop {
        let Some(Content::File(text)) = best.files.get(path) else { return smaller };
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        end = end.min(lines.len());
        if size == 0 || end == 0 {
            return smaller;
        }
        let start = end.saturating_sub(size);
        let text = [&lines[..start], &lines[end..]].concat().concat();
        let mut candidate = best.clone();
        candidate.files.insert(path.to_owned(), Content::File(text));
        smaller |= attempt(best, candidate, differs);
        end = start;
    }
}

/// Facts, trusted facts and variables, at the first level.
fn facts(best: &mut Repository, differs: &mut impl FnMut(&Repository) -> bool) -> bool {
    let mut smaller = false;
    for (position, part) in
        (0..best.profiles.len()).flat_map(|at| ["facts", "trusted", "variables"].map(|part| (at, part)))
    {
        let names: Vec<String> = match best.profiles[position].get(part) {
            Some(Json::Object(entries)) => entries.keys().cloned().collect(),
            _ => continue,
        };
        for name in names.iter().filter(|name| !["hostname", "domain", "clientcert"].contains(&name.as_str())) {
            let mut candidate = best.clone();
            if let Some(entries) = candidate.profiles[position].get_mut(part).and_then(Json::as_object_mut) {
                entries.remove(name);
            }
            smaller |= attempt(best, candidate, differs);
        }
    }
    smaller
}
