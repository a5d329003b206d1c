//! The fleet: what it is made of, and how it is written.

mod data;
mod history;
mod profiles;

use std::error::Error;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;

use clap::Args;
use hierad::git::Scratch;

use data::Data;

/// The size of a fleet, and the kind of its data.
#[derive(Debug, Clone, Args)]
pub(crate) struct Shape {
    /// Nodes; every fifth has a file of its own
    #[arg(long, default_value_t = 10_000)]
    pub(crate) nodes: usize,
    /// Keys
    #[arg(long, default_value_t = 5_000)]
    pub(crate) keys: usize,
    /// Roles, each with a file
    #[arg(long, default_value_t = 40)]
    pub(crate) roles: usize,
    /// Sites, each with a file
    #[arg(long, default_value_t = 8)]
    pub(crate) sites: usize,
    /// Levels of the hierarchy, at least 4
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(4..=99))]
    pub(crate) levels: u16,
    /// The number of a hundred keys that have values with variables in them
    #[arg(long, default_value_t = 10)]
    pub(crate) interpolated: usize,
    /// The number of a hundred keys that have values that look other keys up
    #[arg(long, default_value_t = 5)]
    pub(crate) looked_up: usize,
    /// Commits after the first ones
    #[arg(long, default_value_t = 0)]
    pub(crate) commits: usize,
    /// Another seed is another fleet
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

/// A fleet.
pub(crate) struct Fleet {
    shape: Shape,
}

impl Fleet {
    pub(crate) fn new(shape: Shape) -> Fleet {
        Fleet { shape }
    }

    /// Writes the repository with its history, and the profiles.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), Box<dyn Error>> {
        let repository = folder.join("data");
        fs::create_dir_all(&repository)?;
        self.write_profiles(&folder.join("profiles.ndjson"))?;
        let mut data = Data::new(&self.shape);
        let scratch = Scratch::init(&repository)?;
        data.write(&repository)?;
        scratch.commit("data", 0)?;
        for (minute, edit) in (1..).zip(history::edits(&self.shape)) {
            let message = data.apply(edit);
            data.write(&repository)?;
            scratch.commit(&message, minute)?;
            if let Some(branch) = edit.branch() {
                scratch.branch(branch)?;
            }
        }
        Ok(())
    }

    /// Writes the profiles alone.
    pub(crate) fn write_profiles(&self, path: &Path) -> Result<(), Box<dyn Error>> {
        let mut file = BufWriter::new(fs::File::create(path)?);
        for number in 0..self.shape.nodes {
            writeln!(file, "{}", profiles::profile(&self.shape, number))?;
        }
        Ok(file.flush()?)
    }
}
