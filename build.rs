//! Names this build by the hash of all that it is made of, since caches on disk are read only by the build that wrote
//! them: a program's version, size and time are often those of another one.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::Command;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let mut sources = BTreeMap::new();
    for path in ["src", "Cargo.toml", "Cargo.lock", "build.rs"] {
        println!("cargo::rerun-if-changed={path}");
        add(Path::new(path), &mut sources)?;
    }
    let mut hasher = DefaultHasher::new();
    sources.hash(&mut hasher);
    let is_setting = |name: &str| {
        ["CARGO_CFG_", "CARGO_FEATURE_", "CARGO_ENCODED_"].iter().any(|start| name.starts_with(start))
            || ["TARGET", "PROFILE", "OPT_LEVEL"].contains(&name)
    };
    let settings: BTreeMap<_, _> = env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_setting)).collect();
    settings.hash(&mut hasher);
    let compiler = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).arg("-vV").output()?;
    compiler.stdout.hash(&mut hasher);
    println!("cargo::rustc-env=SOURCE_HASH={:016x}", hasher.finish());
    Ok(())
}

/// Adds the file at `path`, or those below it, by their names.
fn add(path: &Path, sources: &mut BTreeMap<String, Vec<u8>>) -> io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            add(&entry?.path(), sources)?;
        }
    } else if path.exists() {
        sources.insert(path.to_string_lossy().into_owned(), fs::read(path)?);
    }
    Ok(())
}
