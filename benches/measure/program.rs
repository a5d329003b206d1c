//! Running programs to their end.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use super::memory;

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The program that is measured.
pub(crate) static HIERAD: LazyLock<PathBuf> = LazyLock::new(|| installed(Path::new(env!("CARGO_BIN_EXE_hierad"))));

/// A copy of a program, as people install it: one that was just linked lies in the system's memory in pieces and starts
/// slower.
pub(crate) fn installed(program: &Path) -> PathBuf {
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join(program.file_name().unwrap_or_default());
    _ = std::fs::remove_file(&copy);
    std::fs::copy(program, &copy).map_or_else(|_| program.to_owned(), |_| copy)
}

/// A whole run of a program, from start to exit.
pub(crate) struct Run {
    pub(crate) time: Duration,
    /// In MiB, where the system tells.
    pub(crate) peak: Option<f64>,
}

/// Runs a program to its end and drops what it prints; what it complains about is the error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let child = spawn(command)?;
    finish(command, child)
}

/// The same, with the time that it takes and the memory.
pub(crate) fn measured(command: &mut Command) -> Result<Run> {
    let start = Instant::now();
    let child = spawn(command)?;
    let id = child.id();
    std::thread::scope(|scope| {
        let watch = scope.spawn(move || memory::watch(id));
        finish(command, child)?;
        let time = start.elapsed();
        Ok(Run { time, peak: watch.join().ok().flatten() })
    })
}

/// Runs a program to its end; the number of bytes that it prints.
pub(crate) fn printed(command: &mut Command) -> Result<u64> {
    let mut child = start(command.stdout(Stdio::piped()))?;
    let bytes = child.stdout.take().map(|mut out| std::io::copy(&mut out, &mut std::io::sink())).transpose()?;
    finish(command, child)?;
    Ok(bytes.unwrap_or(0))
}

fn spawn(command: &mut Command) -> Result<Child> {
    start(command.stdout(Stdio::null()))
}

fn start(command: &mut Command) -> Result<Child> {
    let spawned = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn();
    spawned.map_err(|error| format!("{}: {error}", command.get_program().display()).into())
}

/// Waits for a program to end.
pub(crate) fn finish(command: &Command, child: Child) -> Result<()> {
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let (program, status) = (command.get_program().display(), output.status);
    Err(format!("{program}: {status}\n{}", String::from_utf8_lossy(&output.stderr)).into())
}

/// A data repository and the profiles of its nodes.
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) repository: PathBuf,
    pub(crate) profiles: PathBuf,
}

impl Subject {
    /// hierad on it; `HIERAD_BENCH_PUPPET` is `--puppet`.
    pub(crate) fn hierad(&self) -> Command {
        let mut command = Command::new(&*HIERAD);
        command.arg("--repo").arg(&self.repository).arg("--profiles").arg(&self.profiles);
        if let Some(version) = std::env::var_os("HIERAD_BENCH_PUPPET") {
            command.arg("--puppet").arg(version);
        }
        command
    }

    /// `hierad diff` that remembers nothing of former runs.
    pub(crate) fn diff(&self, before: &str, after: &str) -> Command {
        let mut command = self.hierad();
        command.args(["diff", "--no-cache", before, after]);
        command
    }

    /// Runs git on the repository.
    pub(crate) fn git(&self, arguments: &[&str]) -> Result<String> {
        let output = Command::new("git").arg("-C").arg(&self.repository).args(arguments).output()?;
        if !output.status.success() {
            return Err(format!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
    }

    /// Puts the files of a revision into a new folder; the repository stays as it is.
    pub(crate) fn check_out(&self, revision: &str, folder: &Path) -> Result<()> {
        let commit = self.git(&["rev-parse", revision])?;
        let clone = ["clone", "--quiet", "--shared", "--no-checkout"];
        run(Command::new("git").args(clone).arg(&self.repository).arg(folder))?;
        run(Command::new("git").arg("-C").arg(folder).args(["checkout", "--quiet", "--detach", &commit]))
    }
}
