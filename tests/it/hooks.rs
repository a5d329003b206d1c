//! Git's hooks as hierad installs them, run by real git commands.

mod gate;
mod install;
mod managers;
mod notify;
mod push;
mod scripts;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::terminal::{Printed, SITE, hierad, run};
use crate::support::{Sandbox, git_in};

/// A path with the binary's own folder before all others.
fn path() -> OsString {
    let own = Path::new(env!("CARGO_BIN_EXE_hierad")).parent().unwrap().to_owned();
    let rest = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&rest))).unwrap()
}

/// A shell script in a folder, with the environment of the tests and hierad on the path.
fn shell(folder: &Path, script: &str) -> Command {
    let calm = hierad(folder);
    let mut shell = Command::new("sh");
    shell.args(["-euc", script]).current_dir(folder).env_clear();
    shell.envs(calm.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("PATH", path());
    shell
}

impl Sandbox {
    /// Runs a shell script in the repository, with hierad on the path.
    fn shell(&self, script: &str) -> Printed {
        self.masked(&mut shell(self.root(), script))
    }

    /// Returns true if a daemon was told to look since the last call.
    fn was_told(&self) -> bool {
        std::fs::remove_file(self.told()).is_ok()
    }

    fn told(&self) -> PathBuf {
        self.root().join(".git/hierad.notify")
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root().join(path)).unwrap()
    }

    /// Writes a hook that git would run.
    fn hook(&self, path: &str, content: &str) {
        self.write(path, content);
        self.sh(&format!("chmod 750 {path}"));
    }

    /// The files in a folder with their modes and sizes, git's samples aside.
    fn listing(&self, folder: &str) -> String {
        self.sh(&format!("ls -l {folder} | grep -v sample | awk 'NF > 2 {{print $1, $5, $9, $10, $11}}'"))
    }
}

/// A site with a remote `origin`, to which `main` was pushed, and the hook that shows what a push changes.
fn pushed() -> Sandbox {
    let site = Sandbox::of(SITE);
    site.sh("git clone --quiet --bare . ../origin.git; git remote add origin ../origin.git; git fetch --quiet");
    site.hierad("hooks install pre-push").ok();
    site
}

/// Returns the commit of the remote's `main`.
fn remote(site: &Sandbox, reference: &str) -> String {
    git_in(&site.beside("origin.git"), ["rev-parse", reference])
}

/// Runs hierad in a folder that need not be a repository.
fn hierad_at(folder: &Path, arguments: &str) -> Printed {
    run(hierad(folder).args(arguments.split_whitespace()))
}
