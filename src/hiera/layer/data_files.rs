//! The data files of a repository.

use super::Environment;
use crate::tree::{BlobId, Entry, Extent, Target, TreeError, child, follow};

/// All data files of a repository, even if no hierarchy reaches them: every YAML and JSON file that is not
/// configuration, hidden or hierad's own. "Every key" means the root keys of the files that are in
/// [`Reach`](super::path_patterns::Reach).
#[derive(Debug, Default)]
pub struct DataFileList {
    /// Their paths, in order, with their contents.
    pub files: Vec<(String, BlobId)>,
    /// True if some are symbolic links.
    pub has_links: bool,
}

impl Environment {
    /// Returns the data files of the repository.
    pub fn data_files(&self) -> Result<&DataFileList, TreeError> {
        if let Some(known) = self.data_files.get() {
            return Ok(known);
        }
        let list = self.list_data_files()?;
        Ok(self.data_files.get_or_init(|| list))
    }

    /// Returns true if a file at `path` is a data file.
    pub fn has_data_file_at(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
        let may_hold_data = |folder: &str| folder.rsplit('/').next() != Some("spec");
        is_data_file(name)
            && !path.split('/').any(|name| name.starts_with('.'))
            && folders.clone().chain([path]).all(|path| !self.options.own_files.contains(path))
            && folders.clone().all(may_hold_data)
    }

    fn list_data_files(&self) -> Result<DataFileList, TreeError> {
        let (mut list, mut extent) = (DataFileList::default(), Extent::default());
        let mut pending = vec![String::new()];
        while let Some(folder) = pending.pop() {
            for (name, entry) in self.tree.list(&folder)? {
                let path = child(&folder, &name);
                extent.see(&path)?;
                if name.starts_with('.') || self.options.own_files.contains(&path) {
                    continue;
                }
                match entry {
                    Entry::Folder if name != "spec" => pending.push(path),
                    Entry::File(id) if is_data_file(&name) => list.files.push((path, id)),
                    Entry::Link(_) if is_data_file(&name) => {
                        list.has_links = true;
                        if let Target::File(_, id) = follow(&*self.tree, &path)? {
                            list.files.push((path, id));
                        }
                    }
                    _ => {}
                }
            }
        }
        list.files.sort();
        Ok(list)
    }
}

fn is_data_file(name: &str) -> bool {
    let stem = |extension: &&str| name.strip_suffix(*extension);
    let is_configuration = |stem: &str| stem.ends_with("hiera") || stem == "Puppetfile" || stem == "metadata";
    match [".yaml", ".json"].iter().find_map(stem) {
        Some(stem) => !is_configuration(stem),
        None => [".yml", ".eyaml"].iter().any(|extension| name.ends_with(extension)),
    }
}
