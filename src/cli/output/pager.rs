//! The pager of a terminal, chosen as git does: `GIT_PAGER`, git's `core.pager`, `PAGER`, else `less`.

use std::env;
use std::io::{Error, ErrorKind, IsTerminal, Result, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use super::Harmless;
use crate::app::Workspace;
use crate::cli::{Global, output};
use crate::git;

/// The output for a long text: a pager on a terminal, else standard output.
pub(in crate::cli) enum Paged {
    Pager(Pager),
    Plain(Box<dyn Write>),
}

/// A running pager.
pub(in crate::cli) struct Pager {
    child: Child,
    /// `None` once all is written.
    input: Option<Harmless<ChildStdin>>,
}

impl Paged {
    /// Starts the pager if standard output is a terminal and a pager is available.
    pub(in crate::cli) fn new(workspace: &Workspace, global: &Global) -> Paged {
        let is_wanted = !global.no_pager && std::io::stdout().is_terminal();
        let command = is_wanted.then(|| pager_command(workspace)).flatten();
        let pager = command.and_then(|command| Pager::start(&command, output::color(global)));
        pager.map_or_else(|| Paged::plain(output::coloured(output::color(global))), Paged::Pager)
    }

    /// Starts a pager for a text, as [`Paged::new`] does, and returns standard output for documents that programs
    /// read.
    pub(in crate::cli) fn of(is_text: bool, workspace: &Workspace, global: &Global) -> Paged {
        if is_text { Paged::new(workspace, global) } else { Paged::plain(output::stdout()) }
    }

    /// Returns how many entries of this many lines are shown: all in a pager, a screen of them on a terminal without
    /// one, and `otherwise` many without a terminal.
    pub(in crate::cli) fn entries(&self, lines: usize, otherwise: usize) -> usize {
        match self {
            Paged::Pager(_) => usize::MAX,
            Paged::Plain(_) => self.lines().map_or(otherwise, |all| all / lines),
        }
    }

    /// Returns standard output as it is.
    pub(in crate::cli) fn plain(out: output::Output) -> Paged {
        Paged::Plain(Box::new(out))
    }

    /// Returns roughly how many lines fit the terminal, or `None` if there is a pager or no terminal.
    pub(in crate::cli) fn lines(&self) -> Option<usize> {
        match self {
            Paged::Plain(_) if std::io::stdout().is_terminal() => output::height(),
            _ => None,
        }
    }

    /// Waits until all is written and the reader has seen it.
    pub(in crate::cli) fn finish(self) -> Result<()> {
        match self {
            Paged::Plain(mut out) => out.flush(),
            Paged::Pager(mut pager) => {
                // A reader that leaves the pager has seen enough.
                _ = pager.input.take().map(|mut input| input.flush());
                pager.child.wait().map(drop)
            }
        }
    }
}

impl Write for Paged {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let written = match self {
            Paged::Plain(out) => return out.write(bytes),
            Paged::Pager(pager) => pager.input.as_mut().map_or(Ok(bytes.len()), |input| input.write(bytes)),
        };
        match written {
            // A reader that leaves the pager has seen enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(bytes.len()),
            written => written,
        }
    }

    fn flush(&mut self) -> Result<()> {
        match self {
            Paged::Plain(out) => out.flush(),
            Paged::Pager(_) => Ok(()),
        }
    }
}

impl Pager {
    fn start(command: &str, color: bool) -> Option<Pager> {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).stdin(Stdio::piped());
        // As git does: `less` ends at once if a screen is enough, passes colours on and leaves the text on the
        // screen.
        for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
            if env::var_os(name).is_none() {
                shell.env(name, value);
            }
        }
        let mut child = shell.spawn().ok()?;
        leave_interrupts_to_the_pager().ok()?;
        let input = child.stdin.take().map(|input| output::to_pager(input, color));
        Some(Pager { child, input })
    }
}

/// Ignores interrupts, which the pager uses to end a search.
fn leave_interrupts_to_the_pager() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _context = runtime.enter();
    // The handler stays installed.
    #[cfg(unix)]
    drop(tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt()).map_err(Error::other)?);
    Ok(())
}

/// Returns the command of the pager, or `None` if none is wanted or there is none.
fn pager_command(workspace: &Workspace) -> Option<String> {
    let variable = |name: &str| env::var(name).ok();
    let setting =
        || git::config_value(workspace.repository.git_dir(), "core.pager").ok().flatten().map(|setting| setting.value);
    let configured = variable("GIT_PAGER").or_else(setting).or_else(|| variable("PAGER"));
    let command = match configured {
        Some(command) => command,
        None => is_installed("less").then(|| "less".to_owned())?,
    };
    Some(command).filter(|command| !command.trim().is_empty() && command != "cat")
}

fn is_installed(program: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}
