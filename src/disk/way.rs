//! The way that a path takes, name by name, as the system follows it.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The maximum number of links to follow, as on Linux.
const MAX_LINKS: usize = 40;

/// A step on the way to a file: one name of its path.
pub struct Step {
    /// The folder, without links.
    pub folder: PathBuf,
    /// The path of the name in `folder`. If it is a link, the next steps follow it.
    pub entry: PathBuf,
}

/// The steps of a path. They end with an error at an entry that cannot be read.
pub struct Way {
    place: PathBuf,
    /// The names that are left, the next one last.
    pending: Vec<OsString>,
    /// The last entry, which is not followed yet.
    last: Option<PathBuf>,
    links: usize,
}

impl Way {
    /// Returns the way of a path, from the root.
    pub fn of(path: &Path) -> io::Result<Way> {
        let mut way = Way { place: PathBuf::new(), pending: Vec::new(), last: None, links: 0 };
        way.enter(&std::path::absolute(path)?);
        Ok(way)
    }

    /// Returns the place that the steps so far have led to. It contains no links once all steps are taken.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Puts the names of a path before those that are pending. A path from the root restarts there.
    fn enter(&mut self, path: &Path) {
        for part in path.components().rev() {
            match part {
                Component::Normal(name) => self.pending.push(name.into()),
                Component::ParentDir => self.pending.push("..".into()),
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => {
                    path.ancestors().last().unwrap_or(Path::new("/")).clone_into(&mut self.place);
                }
            }
        }
    }

    fn follow(&mut self, entry: PathBuf) -> io::Result<()> {
        if !entry.symlink_metadata()?.is_symlink() {
            self.place = entry;
            return Ok(());
        }
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(io::Error::other("it leads into a loop of symbolic links"));
        }
        self.enter(&entry.read_link()?);
        Ok(())
    }
}

impl Iterator for Way {
    type Item = io::Result<Step>;

    fn next(&mut self) -> Option<io::Result<Step>> {
        if let Some(last) = self.last.take()
            && let Err(error) = self.follow(last)
        {
            self.pending.clear();
            return Some(Err(error));
        }
        while let Some(name) = self.pending.pop() {
            if name == ".." {
                self.place.pop();
                continue;
            }
            let entry = self.place.join(&name);
            self.last = Some(entry.clone());
            return Some(Ok(Step { folder: self.place.clone(), entry }));
        }
        None
    }
}
