//! The commit in `--version`, as the build script names it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::git_in;

/// The build script of this package, compiled.
fn script(folder: &Path) -> PathBuf {
    let program = folder.join("script");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/build.rs");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let status = Command::new(rustc).args(["--edition", "2024", "-o"]).arg(&program).arg(source).status();
    assert!(status.unwrap().success());
    program
}

/// The version that the script names in a folder, and the files after whose change it runs again.
fn version(script: &Path, folder: &Path) -> (String, Vec<String>) {
    let mut command = Command::new(script);
    command.current_dir(folder).env("CARGO_PKG_VERSION", "0.1.0").env("GIT_DIR", "/nowhere/at/all");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let lines = String::from_utf8(output.stdout).unwrap();
    let all = |start: &str| lines.lines().filter_map(|line| line.strip_prefix(start)).map(str::to_owned).collect();
    let named: Vec<String> = all("cargo::rustc-env=HIERAD_VERSION=");
    (named.concat(), all("cargo::rerun-if-changed="))
}

#[test]
fn the_version_names_the_commit_of_this_folder() {
    let base = tempfile::tempdir().unwrap();
    let script = script(base.path());
    let own = base.path().join("own");
    std::fs::create_dir_all(own.join("src/inner/src")).unwrap();
    let (plain, _) = version(&script, &own);
    assert_eq!(plain, "0.1.0", "no repository");
    git_in(&own, ["init", "--quiet", "--initial-branch", "main"]);
    assert_eq!(version(&script, &own).0, "0.1.0", "no commit");
    git_in(&own, ["commit", "--quiet", "--allow-empty", "--message", "one"]);
    let commit = || git_in(&own, ["show", "--no-patch", "--abbrev=8", "--format=0.1.0 (%h %cs)", "HEAD"]);
    let (first, watched) = version(&script, &own);
    assert_eq!(first, commit().trim());
    assert!(watched.iter().any(|path| path.ends_with("refs/heads/main")), "{watched:?}");
    assert!(
        watched.iter().all(|path| path == "build.rs" || path.starts_with("Cargo") || own.join(path).exists()),
        "{watched:?}"
    );
    // A packed branch, which the next commit unpacks; a detached head; another work tree; a folder inside; a crate.
    git_in(&own, ["pack-refs", "--all"]);
    let (_, watched) = version(&script, &own);
    assert!(watched.iter().any(|path| path.ends_with("refs/heads")), "{watched:?}");
    git_in(&own, ["commit", "--quiet", "--allow-empty", "--message", "two"]);
    assert_eq!(version(&script, &own).0, commit().trim());
    git_in(&own, ["checkout", "--quiet", "--detach"]);
    assert_eq!(version(&script, &own).0, commit().trim());
    git_in(&own, ["worktree", "add", "--quiet", "../other"]);
    let other = base.path().join("other");
    std::fs::create_dir_all(other.join("src")).unwrap();
    assert_eq!(version(&script, &other).0, commit().trim());
    let inside = own.join("src/inner");
    assert_eq!(version(&script, &inside).0, "0.1.0", "inside of another repository");
    let packed = "{\"git\": {\"sha1\": \"0123456789abcdef0123456789abcdef01234567\"}, \"path_in_vcs\": \"\"}";
    std::fs::write(inside.join(".cargo_vcs_info.json"), packed).unwrap();
    assert_eq!(version(&script, &inside).0, "0.1.0 (01234567)");
}
