//! Reduces a repository to the least that still shows a difference: fewer nodes, files, lines, facts.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::generator::{Content, Repository};

/// The smallest revisions found for which `differs` still holds, by taking away piece after piece.
pub(crate) fn shrink(revisions: &[Repository], differs: impl FnMut(&[Repository]) -> bool) -> Vec<Repository> {
    let mut search = Search { best: revisions.to_vec(), differs };
    while search.profiles() | search.files() | search.lines() | search.facts() {}
    search.best
}

struct Search<F> {
    best: Vec<Repository>,
    differs: F,
}

impl<F: FnMut(&[Repository]) -> bool> Search<F> {
    /// Takes over the best with `change` made to each revision, if it still differs.
    fn attempt(&mut self, mut change: impl FnMut(&mut Repository)) -> bool {
        let mut candidate = self.best.clone();
        candidate.iter_mut().for_each(&mut change);
        let better = (self.differs)(&candidate);
        if better {
            self.best = candidate;
        }
        better
    }

    fn profiles(&mut self) -> bool {
        let mut smaller = false;
        for position in (0..self.best[0].profiles.len()).rev() {
            if self.best[0].profiles.len() > 1 {
                smaller |= self.attempt(|revision| _ = revision.profiles.remove(position));
            }
        }
        smaller
    }

    /// First many files at once, then one after the other.
    fn files(&mut self) -> bool {
        let mut smaller = false;
        let paths: BTreeSet<String> = self.best.iter().flat_map(|revision| revision.files.keys()).cloned().collect();
        let paths: Vec<String> = paths.into_iter().collect();
        let mut size = paths.len().div_ceil(2);
        while size > 0 {
            for chunk in paths.chunks(size) {
                if self.best.iter().any(|revision| chunk.iter().any(|path| revision.files.contains_key(path))) {
                    smaller |= self.attempt(|revision| revision.files.retain(|path, _| !chunk.contains(path)));
                }
            }
            size /= 2;
        }
        smaller
    }

    /// The lines of each text, in all revisions that have it.
    fn lines(&mut self) -> bool {
        let mut smaller = false;
        let texts: BTreeSet<(String, String)> = self.best.iter().flat_map(texts).collect();
        for (path, mut text) in texts {
            let mut size = text.lines().count().div_ceil(2);
            while size > 0 {
                smaller |= self.runs_of_lines(&path, &mut text, size);
                size /= 2;
            }
        }
        smaller
    }

    /// Tries to remove each run of `size` lines, from the last to the first.
    fn runs_of_lines(&mut self, path: &str, text: &mut String, size: usize) -> bool {
        let mut smaller = false;
        let mut end = text.split_inclusive('\n').count();
        while end > 0 {
            let start = end.saturating_sub(size);
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let less = [&lines[..start], &lines[end..]].concat().concat();
            let better = self.attempt(|revision| match revision.files.get_mut(path) {
                Some(Content::File(content)) if content == text => content.clone_from(&less),
                _ => {}
            });
            if better {
                *text = less;
                smaller = true;
            }
            end = start;
        }
        smaller
    }

    /// Facts, trusted facts and variables, at the first level; not what every node has.
    fn facts(&mut self) -> bool {
        let mut smaller = false;
        for position in 0..self.best[0].profiles.len() {
            for part in ["facts", "trusted", "variables"] {
                let Some(Json::Object(entries)) = self.best[0].profiles[position].get(part) else { continue };
                let names: Vec<String> = entries.keys().cloned().collect();
                for name in names.iter().filter(|name| !["hostname", "domain", "clientcert"].contains(&name.as_str())) {
                    smaller |= self.attempt(|revision| {
                        let part = revision.profiles[position].get_mut(part).and_then(Json::as_object_mut);
                        part.map(|entries| entries.remove(name));
                    });
                }
            }
        }
        smaller
    }
}

fn texts(revision: &Repository) -> Vec<(String, String)> {
    let text = |(path, content): (&String, &Content)| match content {
        Content::File(text) => Some((path.clone(), text.clone())),
        _ => None,
    };
    revision.files.iter().filter_map(text).collect()
}
