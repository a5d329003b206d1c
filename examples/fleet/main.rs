//! Makes a synthetic fleet: a data repository with a history, and node profiles, of any size.
//!
//! ```text
//! cargo run --release --example fleet -- --nodes 10000 --keys 5000 FOLDER
//! hierad --repo FOLDER/data --profiles FOLDER/profiles.ndjson diff role~1 role
//! ```
//!
//! The first five commits after the data change one node file, one role file, one key of the common file, one entry of
//! `lookup_options`, and take a level away; branches called `node`, `role`, `common`, `options` and `hierarchy` stand
//! on them. Those that `--commits` adds are edits of all kinds. Equal arguments make equal commits.
#![allow(missing_docs, reason = "a program")]

mod fleet;

use clap::Parser;

use fleet::{Fleet, Shape};

/// Makes a synthetic fleet: a data repository with a history, and node profiles
#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    shape: Shape,
    /// A folder for `data` and `profiles.ndjson` that does not exist yet
    folder: std::path::PathBuf,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    Fleet::new(arguments.shape).write(&arguments.folder)?;
    println!("hierad --repo {0}/data --profiles {0}/profiles.ndjson diff", arguments.folder.display());
    Ok(())
}
