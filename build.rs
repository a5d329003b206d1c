//! Names this build by the hash of all that it is made of, since caches on disk are read only by the build that wrote
//! them: a program's version, size and time are often those of another one. Names the commit, too, for `--version`.

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
    let commit = packed().or_else(checked_out).map(|commit| format!(" ({commit})")).unwrap_or_default();
    println!("cargo::rustc-env=HIERAD_VERSION={}{commit}", env::var("CARGO_PKG_VERSION").unwrap_or_default());
    Ok(())
}

/// The file in which `cargo package` names the commit of a packed crate.
const PACKED: &str = ".cargo_vcs_info.json";

/// Returns the commit of a packed crate, or `None` if this folder is not one.
fn packed() -> Option<String> {
    let text = fs::read_to_string(PACKED).ok()?;
    println!("cargo::rerun-if-changed={PACKED}");
    let id = text.split_once("\"sha1\":")?.1.split('"').nth(1)?;
    (id.len() >= SHORT && id.bytes().all(|digit| digit.is_ascii_hexdigit())).then(|| id[..SHORT].to_owned())
}

/// The digits of a commit's id that are shown.
const SHORT: usize = 8;

/// Returns the commit that is checked out in this folder, with its day, or `None` if the folder is not the top of a
/// repository of its own. Has this script run again after the next commit; it builds again only if it says
/// something else then.
fn checked_out() -> Option<String> {
    let here = env::current_dir().ok()?.canonicalize().ok()?;
    if Path::new(&git(&["rev-parse", "--show-toplevel"])?).canonicalize().ok()? != here {
        return None;
    }
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    // Of files that are not there, cargo would think that they have changed.
    for name in ["HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        let path = git(&["rev-parse", "--git-path", name])?;
        let is_branch = Some(name) == branch.as_deref();
        let near = Path::new(&path).ancestors().find(|near| near.exists());
        if let Some(near) = near.filter(|near| is_branch || *near == Path::new(&path)) {
            println!("cargo::rerun-if-changed={}", near.display());
        }
    }
    let commit = git(&["show", "--no-patch", "--no-show-signature", "--format=%H %cs", "HEAD"])?;
    let (id, day) = commit.split_once(' ')?;
    Some(format!("{} {day}", id.get(..SHORT)?))
}

/// Asks git about this folder, whatever a hook that builds says of another repository.
fn git(arguments: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    for name in
        ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"]
    {
        git.env_remove(name);
    }
    let output = git.args(arguments).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim_end().to_owned();
    (!text.is_empty()).then_some(text)
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
