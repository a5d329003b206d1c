//! Shared by the tests: temporary repositories made with the `git` command, the same on every machine.

pub(crate) mod extent;
pub(crate) mod golden;
pub(crate) mod keys;
pub(crate) mod preload;
pub(crate) mod random;
pub(crate) mod recorded;
pub(crate) mod report;
pub(crate) mod rich;
pub(crate) mod schema;
pub(crate) mod terminal;
pub(crate) mod twin;
pub(crate) mod values;
pub(crate) mod watching;
pub(crate) mod work;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, UNIX_EPOCH};

use hierad::daemon::queue::{Job, Queue};
use hierad::git::{CommitId, Repository};
use tempfile::TempDir;

/// The path of something that all `git` commands of tests use.
macro_rules! own {
    ($name:literal) => {
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/support/git/", $name)
    };
}

/// A `git` command that no setting of this machine reaches, with a fixed author and time.
pub(crate) fn git_command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    for (variable, _) in std::env::vars_os() {
        if variable.to_string_lossy().starts_with("GIT_") {
            command.env_remove(variable);
        }
    }
    command.current_dir(folder).env("HOME", folder).env("LC_ALL", "C");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", own!("config"));
    // Without git's examples of hooks, which would be half of all files that the tests make.
    command.env("GIT_TEMPLATE_DIR", own!("template"));
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Ada").env(format!("GIT_{who}_EMAIL"), "ada@example.com");
        command.env(format!("GIT_{who}_DATE"), "1700000000 +0100");
    }
    command
}

/// The folder of repositories: in memory, where there is room for them and programs can run. Tests make and remove
/// some hundred thousand small files, which costs on a disk as much as the tests themselves.
fn scratch() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let has_room = |system: rustix::fs::StatVfs| {
        let is_free = system.f_bavail.saturating_mul(system.f_frsize) > 4 << 30;
        is_free && !system.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC)
    };
    if std::env::var_os("TMPDIR").is_none() && rustix::fs::statvfs(memory).is_ok_and(has_room) {
        return memory.to_owned();
    }
    std::env::temp_dir()
}

/// A repository in a folder of its own, which goes with it.
pub(crate) struct Sandbox {
    base: TempDir,
    root: PathBuf,
}

impl Sandbox {
    /// A repository with a work tree and the branch `main`, which is empty.
    pub(crate) fn new() -> Sandbox {
        Sandbox::with(&[])
    }

    /// A repository made by `git init` with these arguments.
    pub(crate) fn with(arguments: &[&str]) -> Sandbox {
        let base = TempDir::new_in(scratch()).unwrap();
        let root = base.path().canonicalize().unwrap().join("repository");
        std::fs::create_dir(&root).unwrap();
        let sandbox = Sandbox { base, root };
        let mut all = vec!["init", "--quiet", "--initial-branch=main"];
        all.extend(arguments);
        sandbox.git(all);
        sandbox
    }

    /// The folder of the repository.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A path beside the repository.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.base.path().canonicalize().unwrap().join(name)
    }

    /// The repository as hierad opens it.
    pub(crate) fn open(&self) -> Repository {
        Repository::discover(&self.root).unwrap()
    }

    /// Runs `git` in the repository; what it prints, without the end of the line.
    pub(crate) fn git<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> String {
        git_in(&self.root, arguments)
    }

    /// Runs a shell script in the repository.
    pub(crate) fn sh(&self, script: &str) -> String {
        let git = git_command(&self.root);
        let mut shell = Command::new("sh");
        shell.args(["-euc", script]).current_dir(&self.root);
        for (variable, value) in git.get_envs() {
            match value {
                Some(value) => shell.env(variable, value),
                None => shell.env_remove(variable),
            };
        }
        printed(&script, &shell.output().unwrap())
    }

    /// Writes a file and the folders above it.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Writes a file that its owner alone can read.
    pub(crate) fn write_secret(&self, path: &str, content: &str) {
        self.write(path, content);
        #[cfg(unix)]
        std::fs::set_permissions(self.root.join(path), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    }

    /// Waits until all files are old enough to be cached: a younger one may change again and look the same.
    #[cfg(unix)]
    pub(crate) fn settle(&self) {
        while age_of_newest(&self.root) < Duration::from_millis(2_100) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Commits everything in the work tree.
    pub(crate) fn commit(&self, message: &str) -> CommitId {
        self.git(["add", "--all"]);
        self.git(["commit", "--quiet", "--allow-empty", "--message", message]);
        self.id("HEAD")
    }

    /// The commit that `git` itself sees in a revision.
    pub(crate) fn id(&self, revision: &str) -> CommitId {
        CommitId::from_hex(&self.git(["rev-list", "--max-count=1", revision])).unwrap()
    }
}

/// Returns the oldest job of a repository that waits, and the time until it is due.
pub(crate) async fn next_job(queue: &Queue, repository: &str) -> Option<(Job, Duration)> {
    loop {
        let waiting = queue.waiting(&repository.into()).await.unwrap();
        let first = waiting.first()?;
        if let Some(job) = queue.take(first.number).await.unwrap() {
            return Some((job, first.wait));
        }
    }
}

/// Runs `git` in a folder; what it prints, without the end of the line.
pub(crate) fn git_in<S: AsRef<OsStr>>(folder: &Path, arguments: impl IntoIterator<Item = S>) -> String {
    let mut command = git_command(folder);
    command.args(arguments);
    let output = command.output().unwrap();
    printed(&command, &output)
}

/// Returns the time since the last change of any file below `folder`, git's own files left out.
#[cfg(unix)]
fn age_of_newest(folder: &Path) -> Duration {
    use std::os::unix::fs::MetadataExt;
    let age = |entry: std::fs::DirEntry| {
        let metadata = entry.metadata().unwrap();
        if metadata.is_dir() {
            return age_of_newest(&entry.path());
        }
        let seconds = u64::try_from(metadata.ctime()).unwrap();
        let changed = UNIX_EPOCH + Duration::new(seconds, u32::try_from(metadata.ctime_nsec()).unwrap());
        changed.elapsed().unwrap_or_default()
    };
    let ages = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    ages.filter(|entry| entry.file_name() != ".git").map(age).min().unwrap_or(Duration::MAX)
}

fn printed(command: &dyn std::fmt::Debug, output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed: {errors}");
    String::from_utf8(output.stdout.clone()).unwrap().trim_end().to_owned()
}
