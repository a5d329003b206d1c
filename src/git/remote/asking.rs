//! Keeps git from prompting while it exchanges data with other repositories, and leaves the user's other settings as
//! they are.

use std::process::Command;

use crate::git::command::GitCommand;

/// Makes a git command fail instead of asking for a password. `git` is used to read the repository's settings.
pub(super) fn ask_nobody(command: &mut Command, git: &GitCommand) {
    command.env("GIT_TERMINAL_PROMPT", "0").env("GCM_INTERACTIVE", "never").env("SSH_ASKPASS_REQUIRE", "never");
    // A program that the user has set for this process may know the answer; others open a window.
    if !is_set("GIT_ASKPASS") {
        command.env("GIT_ASKPASS", "");
    }
    // These are the user's own choice for this process.
    if !is_set("GIT_SSH_COMMAND")
        && !is_set("GIT_SSH")
        && let Some(ssh) = Ssh::of(git).without_questions()
    {
        command.env("GIT_SSH_COMMAND", ssh);
    }
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some()
}

/// The command for SSH in git's settings.
#[derive(Debug, Default)]
struct Ssh {
    /// The command line for a shell, or `None` for `ssh`.
    command: Option<String>,
    /// The kind of options that it takes, or `None` to infer it from the program's name.
    variant: Option<String>,
}

impl Ssh {
    fn of(git: &GitCommand) -> Ssh {
        let setting = |name| git.query(&["config", "--null", "--get", name]).ok().flatten();
        let setting = |name| setting(name).map(|value| value.trim_end_matches('\0').to_owned());
        let variant = std::env::var("GIT_SSH_VARIANT").ok().or_else(|| setting("ssh.variant"));
        Ssh { command: setting("core.sshCommand"), variant: variant.filter(|variant| variant != "auto") }
    }

    /// Returns the command with the option that keeps OpenSSH from asking, or `None` if it may be another program, or
    /// is more than a program with arguments.
    fn without_questions(&self) -> Option<String> {
        let command = self.command.as_deref().unwrap_or("ssh").trim_end();
        let program = command.split_whitespace().next()?.rsplit('/').next()?;
        let is_open_ssh = match self.variant.as_deref() {
            None => program == "ssh" || program == "ssh.exe",
            Some(variant) => variant == "ssh",
        };
        let is_plain = !command.contains(['\n', ';', '&', '|', '<', '>', '(', ')', '#', '`', '\\']);
        (is_open_ssh && is_plain).then(|| format!("{command} -o BatchMode=yes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_ssh_is_told_to_ask_nothing_and_other_commands_are_left_alone() {
        let with = |command: Option<&str>, variant: Option<&str>| {
            let (command, variant) = (command.map(ToOwned::to_owned), variant.map(ToOwned::to_owned));
            Ssh { command, variant }.without_questions()
        };
        assert_eq!(with(None, None).as_deref(), Some("ssh -o BatchMode=yes"));
        for plain in
            ["ssh", "/usr/bin/ssh -v", "ssh -i \"$HOME/deploy key\" -o IdentitiesOnly=yes", "ssh -F ~/a,b@c:d=%h"]
        {
            assert_eq!(with(Some(plain), None), Some(format!("{plain} -o BatchMode=yes")), "{plain}");
        }
        assert_eq!(with(Some("ssh -4 "), None).as_deref(), Some("ssh -4 -o BatchMode=yes"));
        assert_eq!(with(Some("/opt/our-ssh"), Some("ssh")).as_deref(), Some("/opt/our-ssh -o BatchMode=yes"));
        for other in [
            "",
            " ",
            "plink -batch",
            "/opt/our-ssh",
            "sshpass -f file ssh",
            "A=b ssh",
            "env ssh",
            "\"/a b/ssh\" -4",
            "ssh -4 # ours",
            "ssh \"$@\"; true",
            "ssh -i $(our-key)",
            "ssh -i `our-key`",
            "ssh -i a\\",
            "ssh 2>/dev/null",
        ] {
            assert_eq!(with(Some(other), None), None, "{other}");
        }
        assert_eq!(with(Some("ssh"), Some("plink")), None);
        assert_eq!(with(None, Some("simple")), None);
    }
}
