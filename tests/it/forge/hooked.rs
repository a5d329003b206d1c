//! A daemon that reviews the request of a scene when the forge tells of it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hmac::{Hmac, Mac};
use serde_json::{Value as Json, json};
use sha2::Sha256;

use super::scene::Scene;
use super::server::{Forge, Kind, TOKEN};
use crate::http::client::{Answer, Daemon, connect_from, raw, raw_on, request};
use crate::support::extent::pause;
use crate::support::terminal::hierad;
use crate::support::{Sandbox, git_command};

const SECRET: &str = "open sesame, open";

/// The longest time that anything takes, unless there is a fault.
const PATIENCE: Duration = Duration::from_mins(2);

/// A scene, and the settings of a daemon for it.
pub(super) struct Hooked {
    pub(super) scene: Scene,
}

/// The name of a forge in settings and addresses.
fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::GitHub => "github",
        Kind::GitLab => "gitlab",
        Kind::Gitea => "gitea",
    }
}

impl Hooked {
    /// With reviews of the scene's project, and more settings of these.
    pub(super) fn new(scene: Scene, more: &str) -> Hooked {
        let (forge, api) = (name(scene.forge.kind), scene.forge.api());
        let project = if scene.forge.kind == Kind::GitLab { "5" } else { "o/n" };
        let reviews = format!("[{{forge: {forge}, project: {project}, api: '{api}', token_file: TOKEN{more}}}]");
        Hooked::with(scene, &format!("reviews: {reviews}\n"))
    }

    /// With settings in which `TOKEN` stands for the file with the token.
    pub(super) fn with(scene: Scene, settings: &str) -> Hooked {
        let site = &scene.site;
        site.write_secret(".git/secret", SECRET);
        site.write_secret(".git/token", TOKEN);
        let files = ["github", "gitlab", "gitea"].map(|forge| format!("{forge}: ../.git/secret"));
        let root = site.root().display().to_string();
        let settings = format!(
            "profiles: [{root}/profiles]\nhttp: {{webhook_secret_files: {{{}}}}}\n{}",
            files.join(", ").replace("..", &root),
            settings.replace("TOKEN", &format!("{root}/.git/token")),
        );
        std::fs::write(site.beside("daemon.yaml"), settings).unwrap();
        Hooked { scene }
    }

    fn state(&self) -> PathBuf {
        self.scene.site.beside("state")
    }

    pub(super) fn start(&self) -> Daemon {
        Daemon::start_in(self.scene.site.root(), &self.state(), "--config ../daemon.yaml")
    }

    /// The answer of `hierad queue` with more arguments.
    pub(super) fn queue(&self, arguments: &str) -> String {
        let mut command = hierad(self.scene.site.root());
        command.arg("queue").args(arguments.split_whitespace()).arg("--state").arg(self.state());
        self.scene.site.masked(&mut command).ok().to_owned()
    }

    /// Waits until there is nothing to do.
    #[track_caller]
    pub(super) fn settle(&self) {
        self.wait("an empty queue", || self.queue("") == "nothing is waiting\n");
    }

    #[track_caller]
    pub(super) fn wait(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let start = Instant::now();
        while !is_so() {
            assert!(start.elapsed() < PATIENCE, "waited in vain for {what}: {}", self.queue(""));
            pause(start);
        }
    }

    /// Tells the daemon of an event of request 7.
    pub(super) fn tell(&self, daemon: &Daemon) -> Answer {
        self.tell_at(daemon.address)
    }

    /// The same from any thread.
    pub(super) fn tell_at(&self, address: SocketAddr) -> Answer {
        send(address, self.scene.forge.kind, SECRET, &event(self.scene.forge.kind).to_string())
    }

    /// The same from an address of this machine.
    pub(super) fn tell_from(&self, from: Ipv4Addr, daemon: &Daemon) -> Answer {
        let kind = self.scene.forge.kind;
        raw_on(connect_from(from, daemon.address), &told(kind, SECRET, &event(kind).to_string()))
    }

    /// Tells it with a secret that is not the right one.
    pub(super) fn lie(&self, daemon: &Daemon) -> Answer {
        send(daemon.address, self.scene.forge.kind, "another secret, no", &event(self.scene.forge.kind).to_string())
    }

    /// The number of reviews that came to this result.
    pub(super) fn count(&self, daemon: &Daemon, result: &str) -> String {
        let project = if self.scene.forge.kind == Kind::GitLab { "5" } else { "o/n" };
        let reviews = format!("{} {project}", name(self.scene.forge.kind));
        daemon.metric(&format!("hierad_reviews_total{{reviews=\"{reviews}\",result=\"{result}\"}}")).unwrap()
    }
}

/// A forge whose request 7 takes any commit of a repository, which a daemon of somebody else watches.
pub(crate) struct Requests {
    forge: Forge,
}

impl Requests {
    /// The forge of a repository with these files on `main`.
    pub(crate) fn of(files: &str) -> (Sandbox, Requests) {
        let Scene { site, forge, .. } = Scene::of(Kind::GitHub, files);
        site.git(["remote", "set-head", "origin", "main"]);
        site.git(["checkout", "--quiet", "main"]);
        site.write_secret(".git/secret", SECRET);
        site.write_secret(".git/token", TOKEN);
        (site, Requests { forge })
    }

    /// The settings of a daemon that reviews them.
    pub(crate) fn settings(&self, site: &Sandbox) -> String {
        let (git, api) = (site.root().join(".git").display().to_string(), self.forge.api());
        format!(
            "http: {{listen: '127.0.0.1:0', webhook_secret_files: {{github: {git}/secret}}}}\n\
             reviews: [{{forge: github, project: o/n, api: '{api}', token_file: {git}/token}}]\n"
        )
    }

    /// Pushes a commit to the request and tells the daemon at an address, unless git does not push it.
    pub(crate) fn push(&self, site: &Sandbox, commit: &str, address: SocketAddr) {
        let refspec = format!("{commit}:refs/pull/7/head");
        let push = git_command(site.root()).args(["push", "--quiet", "--force", "origin", &refspec]).output().unwrap();
        if push.status.success() {
            commit.clone_into(&mut self.forge.state().head);
            let answer = send(address, Kind::GitHub, SECRET, &event(Kind::GitHub).to_string());
            assert_eq!(answer.status, 202, "{answer:?}");
        }
    }

    /// The number of comments that are there.
    pub(crate) fn comments(&self) -> usize {
        self.forge.state().comments.len()
    }
}

/// The event that request 7 has a new commit, as the forge describes it.
pub(super) fn event(kind: Kind) -> Json {
    let text = match kind {
        Kind::GitHub => include_str!("../../forge/webhooks/github.json"),
        Kind::GitLab => include_str!("../../forge/webhooks/gitlab.json"),
        Kind::Gitea => include_str!("../../forge/webhooks/gitea.json"),
    };
    let mut event: Json = serde_json::from_str(text).unwrap();
    if kind == Kind::GitLab {
        event["project"]["id"] = json!(5);
        event["object_attributes"]["iid"] = json!(7);
    } else {
        event["number"] = json!(7);
        event["repository"]["full_name"] = json!("o/n");
    }
    event
}

/// Sends the body of an event of a request, with the proof that the sender knows the daemon's secret.
pub(super) fn send_right(daemon: &Daemon, kind: Kind, body: &str) -> Answer {
    send(daemon.address, kind, SECRET, body)
}

fn send(address: SocketAddr, kind: Kind, secret: &str, body: &str) -> Answer {
    raw(address, &told(kind, secret, body))
}

/// Returns the request that tells of an event.
fn told(kind: Kind, secret: &str, body: &str) -> Vec<u8> {
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap().chain_update(body);
    let signature = format!("{:x}", mac.finalize().into_bytes());
    let headers = match kind {
        Kind::GitHub => format!("X-GitHub-Event: pull_request\r\nX-Hub-Signature-256: sha256={signature}\r\n"),
        Kind::GitLab => format!("X-Gitlab-Event: Merge Request Hook\r\nX-Gitlab-Token: {secret}\r\n"),
        Kind::Gitea => format!("X-Gitea-Event: pull_request\r\nX-Gitea-Signature: {signature}\r\n"),
    };
    let headers = format!("Content-Type: application/json\r\n{headers}");
    request("POST", &format!("/v1/webhooks/{}", name(kind)), &headers, body.as_bytes())
}
