//! Finds data files that levels do not read because of their names: without an extension, with the wrong one, or with
//! the wrong case.

use crate::blind_spots::wording::number;
use crate::fleet::Revision;
use crate::hiera::layer::path_patterns::{PathPattern, datadirs, patterns};
use crate::tree::{Entry, Extent, Target, TreeError, child, folder_of, follow};

/// A file of data that a level would read under another name.
#[derive(Debug)]
pub(crate) struct Misnamed {
    pub(crate) path: String,
    /// The path that a level would read.
    pub(crate) right: String,
    /// True if there is a file at that path, too.
    is_taken: bool,
}

impl Misnamed {
    /// Returns the file at `path`, which no known node reads, if it is misnamed, given the patterns of the revision's
    /// levels.
    pub(crate) fn of(
        revision: &Revision,
        patterns: &[PathPattern<'_>],
        path: &str,
    ) -> Result<Option<Misnamed>, TreeError> {
        let right = match patterns.iter().find(|pattern| pattern.matches(path)) {
            Some(pattern) => in_lower_case(revision, path).filter(|right| pattern.matches(right)),
            None => patterns.iter().find_map(|pattern| pattern.put_right(path)),
        };
        let (Some(right), environment) = (right, &revision.environment) else { return Ok(None) };
        let Target::File(_, id) = follow(&*environment.tree, path)? else { return Ok(None) };
        let file = environment.data_file(path, id)?;
        if file.fault().is_some() || file.keys().is_empty() || revision.functions_may_read(path) {
            return Ok(None);
        }
        let is_taken = matches!(follow(&*environment.tree, &right)?, Target::File(..));
        Ok(Some(Misnamed { path: path.to_owned(), right, is_taken }))
    }

    /// Returns all misnamed files in datadirs.
    pub(crate) fn all(revision: &Revision) -> Result<Vec<Misnamed>, TreeError> {
        let environment = &revision.environment;
        let (reached, patterns) = (revision.reached_files(), patterns(environment));
        let (mut found, mut extent) = (Vec::new(), Extent::default());
        let datadirs = datadirs(environment);
        let is_inner =
            |folder: &&String| !datadirs.iter().any(|other| other != *folder && is_strictly_below(folder, other));
        let mut pending: Vec<String> = datadirs.iter().filter(is_inner).cloned().collect();
        while let Some(folder) = pending.pop() {
            if !matches!(follow(&*environment.tree, &folder)?, Target::Folder(_)) {
                continue;
            }
            for (name, entry) in environment.tree.list(&folder)? {
                let path = child(&folder, &name);
                extent.see(&path)?;
                if name.starts_with('.') || environment.options.own_files.contains(&path) {
                    continue;
                }
                match entry {
                    Entry::Folder => pending.push(path),
                    Entry::File(_) if !reached.contains(path.as_str()) => {
                        found.extend(Misnamed::of(revision, &patterns, &path)?);
                    }
                    _ => {}
                }
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// Returns the fault of misnamed files and its remedy, or `None` for no files.
    pub(crate) fn fault_and_fix(files: &[&Misnamed]) -> Option<(String, String)> {
        let Misnamed { path, right, is_taken } = files.first()?;
        let more = if files.len() > 1 { format!(", and {} more", number(files.len() - 1)) } else { String::new() };
        let advice = if *is_taken { "move the keys" } else { "rename it" };
        let text = format!("no level reads {path}, but one would read {right}{more}");
        Some((text, format!("{advice} to {right}{more}")))
    }
}

fn is_strictly_below(folder: &str, other: &str) -> bool {
    other.is_empty() || folder.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns a path with its name in lower case, if that is the name of a known node and the path's own name is not:
/// Puppet writes names of nodes in lower case.
fn in_lower_case(revision: &Revision, path: &str) -> Option<String> {
    let name = path.rsplit('/').next()?;
    let lower = name.to_ascii_lowercase();
    let (stem, _) = lower.rsplit_once('.')?;
    let is_other = lower != name && revision.fleet.find(stem).is_some();
    is_other.then(|| child(folder_of(path), &lower))
}
