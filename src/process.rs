//! Programs that hierad runs: ending them together with everything that they have started, and keeping hierad's
//! secrets from them.

mod mark;

use tokio::process::{Child, Command};

use mark::Mark;

/// The names of forges and CI servers that are unambiguous anywhere in a variable's name.
const FORGES: [&str; 17] = [
    "APPVEYOR",
    "BITBUCKET",
    "BUILDKITE",
    "CIRCLECI",
    "CODEBERG",
    "FORGEJO",
    "GERRIT",
    "GITEA",
    "GITHUB",
    "GITLAB",
    "GOGS",
    "HIERAD",
    "JENKINS",
    "SEMAPHORE",
    "TEAMCITY",
    "TRAVIS",
    "WOODPECKER",
];

/// Names that are also parts of other words: they are recognised only as whole words, or directly before a word for a
/// secret.
const SHORT_FORGES: [&str; 7] = ["ACTIONS", "CI", "CIRCLE", "DRONE", "GH", "GL", "RUNNER"];

/// Parts of words, and words with or without a final S, which show that a variable holds a secret.
const SECRET_PARTS: [&str; 16] = [
    "AUTH",
    "BEARER",
    "COOKIE",
    "CRED",
    "HMAC",
    "JWT",
    "KEY",
    "NETRC",
    "PASS",
    "PEM",
    "PSWD",
    "PWD",
    "SECRET",
    "SESSION",
    "SIGNATURE",
    "TOKEN",
];
const SECRET_WORDS: [&str; 4] = ["PAT", "PIN", "PW", "TOK"];

/// The beginnings of git's variables for single settings, such as a header with a token. Variables with paths of
/// settings are not among them.
const GIT_SETTINGS: [&str; 4] = ["GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "GIT_CONFIG_PARAMETERS"];

/// Keeps the secrets of forges, of their CI jobs and of hierad itself from a program that answers for data: it works
/// on input that strangers may have written. The program gets everything else that the user has set.
pub fn without_tokens(command: &mut std::process::Command) {
    for (name, value) in std::env::vars_os() {
        if is_token(&name.to_string_lossy(), &value.to_string_lossy()) {
            command.env_remove(name);
        }
    }
}

/// Returns true for a variable with a secret of a forge or a CI server: by its name, or by a password in an address.
pub fn is_token(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty()).collect();
    if words.concat() == "SYSTEMACCESSTOKEN" || GIT_SETTINGS.iter().any(|setting| name.starts_with(setting)) {
        return true;
    }
    // One word may contain both, such as CITOKEN.
    let is_joined = |word: &&str| SHORT_FORGES.iter().filter_map(|forge| word.strip_prefix(forge)).any(is_secret);
    let is_of_forge =
        FORGES.iter().any(|forge| name.contains(forge)) || words.iter().any(|word| SHORT_FORGES.contains(word));
    let holds_secret = words.iter().any(|word| is_secret(word)) || has_password(value);
    is_of_forge && holds_secret || words.iter().any(is_joined)
}

/// Returns true for a word that says that something is secret. "Author" is not one, although "authorized" is.
fn is_secret(word: &str) -> bool {
    let word = word.replace("AUTHORIZ", "AUTH").replace("AUTHOR", "");
    let singular = word.strip_suffix('S').unwrap_or(&word);
    let is_secret_word = SECRET_WORDS.contains(&singular) || singular.ends_with("PW");
    is_secret_word || SECRET_PARTS.iter().any(|part| word.contains(part))
}

/// Returns true for a text with an address that has a user before its host, or a user with a password anywhere.
fn has_password(value: &str) -> bool {
    let ends_part = |c: char| matches!(c, '/' | '?' | '#') || c.is_whitespace();
    let has_user = |(at, slashes): (usize, &str)| {
        value[at + slashes.len()..].split(ends_part).next().is_some_and(|host| host.contains('@'))
    };
    let has_both = |(at, _): (usize, &str)| {
        // A container image may be named by its tag and its digest.
        let is_digest = value[at..].starts_with("@sha256:") || value[at..].starts_with("@sha512:");
        !is_digest && value[..at].rsplit(ends_part).next().is_some_and(|user| user.contains(':'))
    };
    value.match_indices("//").any(has_user) || value.match_indices('@').any(has_both)
}

/// Has this process, which must not have begun threads yet, wait for all others.
pub fn lower_priority() {
    #[cfg(unix)]
    if let Err(error) = rustix::process::nice(LOW_PRIORITY) {
        tracing::debug!(%error, "the process has the usual priority");
    }
}

/// The addition of the command `nice` by itself.
#[cfg(unix)]
const LOW_PRIORITY: i32 = 10;

/// Everything that a command starts: its process group and, on Linux, processes that have left it. They are killed
/// when this is dropped.
#[derive(Debug)]
pub struct Group {
    leader: Option<u32>,
    mark: Option<Mark>,
}

impl Group {
    /// Makes a command the leader of a new group. Call [`is_led_by`](Group::is_led_by) once it runs.
    pub fn led(command: &mut Command) -> Group {
        #[cfg(unix)]
        command.process_group(0);
        Group::marked(command.as_std_mut())
    }

    /// Marks a command, and leaves its group as it is.
    pub fn marked(command: &mut std::process::Command) -> Group {
        Group { leader: None, mark: Some(Mark::put_on(command)) }
    }

    /// Makes this process lead a new session, and so a new group. Nothing that it starts has a terminal to prompt on.
    pub fn lead_session() {
        #[cfg(unix)]
        if let Err(error) = rustix::process::setsid() {
            tracing::debug!(%error, "cannot leave the session");
        }
    }

    /// Records the process that leads the group.
    pub fn is_led_by(&mut self, child: &Child) {
        self.leader = child.id();
    }

    /// Lets the processes live on after this is dropped.
    pub fn release(&mut self) {
        self.leader = None;
        self.release_others();
    }

    /// Lets processes that have left the group live on after this is dropped.
    pub fn release_others(&mut self) {
        self.mark = None;
    }

    /// Asks the processes to end, so that they can tidy up.
    pub fn terminate(&self) {
        #[cfg(unix)]
        self.signal(rustix::process::Signal::TERM);
    }

    /// Ends this process and its whole group when its standard input ends, because the holder of the other end is
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
        if let Some(id) = self.leader.and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw) {
            _ = rustix::process::kill_process_group(id, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        #[cfg(unix)]
        self.signal(rustix::process::Signal::KILL);
        if let Some(mark) = &self.mark {
            mark.kill();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_forges_are_told_from_what_programs_need() {
        let address = "https://gitlab-ci-token:x@gitlab.example.com/a/b.git";
        for name in [
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
            "ACTIONS_RUNTIME_TOKEN",
            "BITBUCKET_STEP_OIDC_TOKEN",
            "BUILDKITE_AGENT_ACCESS_TOKEN",
            "CIRCLE_OIDC_TOKEN_V2",
            "CI_DEPENDENCY_PROXY_PASSWORD",
            "CI_DEPLOY_PASSWORD",
            "CI_JOB_JWT",
            "CI_JOB_JWT_V2",
            "CI_JOB_TOKEN",
            "CI_NETRC_PASSWORD",
            "CI_REGISTRY_PASSWORD",
            "CI_SERVER_TLS_KEY_FILE",
            "DRONE_NETRC_FILE",
            "FORGEJO_TOKEN",
            "GH_ENTERPRISE_TOKEN",
            "GH_PAT",
            "GITHUB_APP_PRIVATE_KEY",
            "GIT_CONFIG_COUNT",
            "GIT_CONFIG_KEY_0",
            "GIT_CONFIG_PARAMETERS",
            "GIT_CONFIG_VALUE_12",
            "GL_TOKEN",
            "HIERAD_FINGERPRINT_KEY",
            "HIERAD_GITEA_TOKEN",
            "INPUT_GITHUB-TOKEN",
            "RELEASE_GITHUB_API_TOKEN",
            "SYSTEM_ACCESSTOKEN",
            "gitlab_private_token",
        ] {
            assert!(is_token(name, "x"), "{name}");
        }
        assert!(is_token("CI_REPOSITORY_URL", address) && is_token("DRONE_REMOTE_URL", address));
        for name in [
            "GITHUBTOKEN",
            "GHTOKEN",
            "GITHUB_APIKEY",
            "CI_SSHKEY",
            "CI_KEYS",
            "GITLAB_PATS",
            "GITLAB_PASSPHRASE",
            "GITEA_CREDS",
        ] {
            assert!(is_token(name, "x"), "{name}");
        }
        assert!(is_token("CI_URLS", "https://a.example https://u:p@b/") && is_token("CI_PROXY", "//u:p@b/x"));
        for name in [
            "AUTHOR_CITY",
            "AWS_SECRET_ACCESS_KEY",
            "CI_JOB_AUTHORS",
            "CIPHER_KEY",
            "GLUSTER_KEY",
            "TRANSACTIONS_KEY",
            "SOCIAL_TOKEN",
            "AZURE_CLIENT_SECRET",
            "CI",
            "CI_COMMIT_AUTHOR",
            "CI_PROJECT_PATH",
            "CONJUR_AUTHN_API_KEY",
            "GITHUB_ACTIONS",
            "GITHUB_EVENT_PATH",
            "GITHUB_PATH",
            "GIT_CONFIG_GLOBAL",
            "GIT_CONFIG_NOSYSTEM",
            "HIERAD_CONFIG",
            "HOME",
            "LANG",
            "MYSQL_PWD",
            "PATH",
            "PGPASSWORD",
            "RUNNER_TEMP",
            "SSH_AUTH_SOCK",
            "VAULT_ADDR",
            "VAULT_TOKEN",
        ] {
            assert!(!is_token(name, "/a/b@c"), "{name}");
        }
        for (name, value) in [("HTTPS_PROXY", address), ("CI_PROJECT_URL", "https://gitlab.example.com/a@b")] {
            assert!(!is_token(name, value), "{name}");
        }
    }

    #[test]
    fn secrets_of_forges_are_known_by_parts_of_names() {
        for name in "GITHUB2_TOKEN GITLAB1_PASSWORD MYGITHUB_TOKEN MYGITHUBTOKEN NPMGITLABTOKEN GITHUBAPP_PRIVATE_KEY \
                     GITLABCI_TOKEN GITHUBENTERPRISE_TOKEN GITHUB_PRIVATEKEY GITHUB_DEPLOYKEY CI_DEPLOYKEY CI2_KEY \
                     GITLAB_ACCESSKEY CI_SIGNINGKEY GITHUB_PWD GITLAB_PSWD GITHUB_PASSCODE GITHUB_PIN GITLAB_BEARER \
                     GITHUB_AUTHORIZATION GITHUB_AUTHTOKEN GITHUB_BASICAUTH CI_REGISTRYAUTH JENKINS_APIKEY2 \
                     GITHUB_KEY1 GITHUB_TOKEN2 CI_SSH_KEYFILE CI_PRIVATE_PEMFILE GITLAB_SIGNATURE CI_SESSIONID \
                     GITHUB_WEBHOOK_HMAC GITHUB_KEYRING GITEA_USERPASS GITHUB_TOK TFE_GITHUB_OAUTH2 BITBUCKET_APPPW \
                     GITLAB-TOKEN SYSTEM_ACCESS_TOKEN GERRIT_PASSWORD CITOKEN"
            .split_whitespace()
        {
            assert!(is_token(name, "x"), "{name}");
        }
        for value in
            ["u:p@proxy:3128", "https:///u:p@h/x", "https:/u:p@h", "https:\\\\u:p@h", "a b u:p@h", "http://a?u=b:c@h"]
        {
            assert!(is_token("CI_PROXY", value), "{value}");
        }
        for value in ["git@h:p", "Ada <ada@example.com>", "h/i:1@sha256:ab", "https://h:80/a@b", "a: b@c"] {
            assert!(!is_token("CI_VALUE", value), "{value}");
        }
    }
}
