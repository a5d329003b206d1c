//! Programs that hierad runs: those that are ended together with all that they have started, and those that must not
//! have what hierad holds.

use tokio::process::{Child, Command};

/// The variables that hold the tokens of forges and of their CI jobs.
pub const TOKEN_VARIABLES: [&str; 16] = [
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    "ACTIONS_RUNTIME_TOKEN",
    "BITBUCKET_STEP_OIDC_TOKEN",
    "CI_DEPLOY_PASSWORD",
    "CI_JOB_TOKEN",
    "CI_REGISTRY_PASSWORD",
    "FORGEJO_TOKEN",
    "GH_ENTERPRISE_TOKEN",
    "GH_TOKEN",
    "GITEA_TOKEN",
    "GITHUB_TOKEN",
    "GITLAB_TOKEN",
    "HIERAD_GITEA_TOKEN",
    "HIERAD_GITHUB_TOKEN",
    "HIERAD_GITLAB_TOKEN",
    "SYSTEM_ACCESSTOKEN",
];

/// Keeps the tokens of forges from a program that answers for data: it works on what a stranger has written.
pub fn without_tokens(command: &mut std::process::Command) {
    for name in TOKEN_VARIABLES {
        command.env_remove(name);
    }
}

/// The process group of a command. All its processes are killed when this is dropped.
pub struct Group(Option<u32>);

impl Group {
    /// Makes a command the leader of a new group.
    pub fn led(command: &mut Command) {
        #[cfg(unix)]
        command.process_group(0);
    }

    /// Returns the group of a command that was started as its leader.
    pub fn of(child: &Child) -> Group {
        Group(child.id())
    }

    /// Lets the processes go on.
    pub fn release(&mut self) {
        self.0 = None;
    }

    /// Asks the processes to end, so that they can tidy up.
    pub fn terminate(&self) {
        #[cfg(unix)]
        self.signal(rustix::process::Signal::TERM);
    }

    /// Has this process end with all of its group when its standard input ends: whoever holds the other end of that is
    /// gone.
    pub fn end_with_input() {
        std::thread::spawn(|| {
            _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            Group::end_own();
        });
    }

    /// Kills the group of this process, and so this process.
    fn end_own() {
        #[cfg(unix)]
        if let Err(error) = rustix::process::kill_current_process_group(rustix::process::Signal::KILL) {
            tracing::debug!(%error, "cannot end the process group");
        }
        std::process::exit(1);
    }

    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(id) = self.0.and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw) {
            _ = rustix::process::kill_process_group(id, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        #[cfg(unix)]
        self.signal(rustix::process::Signal::KILL);
    }
}
