//! A repository with a request on a forge, and runs of `hierad review` in the CI of that forge.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value as Json, json};

use super::server::{Forge, Kind, TOKEN};
use crate::support::terminal::{Printed, SITE, hierad, run};
use crate::support::{Sandbox, git_in};

/// A request from the branch `feature` to `main`.
pub(super) struct Scene {
    pub(super) site: Sandbox,
    pub(super) forge: Forge,
    runs: AtomicU64,
}

impl Scene {
    pub(super) fn new(kind: Kind) -> Scene {
        Scene::of(kind, SITE)
    }

    /// With these files on `main`.
    pub(super) fn of(kind: Kind, files: &str) -> Scene {
        let site = Sandbox::of(files);
        let origin = site.beside("origin.git");
        site.git(["clone", "--quiet", "--bare", ".", origin.to_str().unwrap()]);
        site.git(["remote", "add", "origin", origin.to_str().unwrap()]);
        site.git(["fetch", "--quiet", "origin"]);
        site.git(["checkout", "--quiet", "-b", "feature"]);
        Scene { site, forge: Forge::start(kind), runs: AtomicU64::new(1000) }
    }

    /// Commits files to the branch of the request and pushes it.
    pub(super) fn push(&self, files: &str) -> String {
        self.site.files(files);
        let head = self.site.commit("a change").to_string();
        self.pushed(&head);
        head
    }

    /// Takes the commit at hand for the last one of the request.
    pub(super) fn pushed(&self, head: &str) {
        for reference in ["refs/pull/7/head", "refs/merge-requests/7/head", "refs/heads/feature"] {
            self.site.git(["push", "--quiet", "--force", "origin", &format!("HEAD:{reference}")]);
        }
        head.clone_into(&mut self.forge.state().head);
    }

    /// Returns a run of the job for a commit, as it is started for it.
    pub(super) fn job(&self, head: &str, arguments: &str) -> Job<'_> {
        let run = self.runs.fetch_add(1, Ordering::SeqCst);
        let mut command = hierad(self.site.root());
        command.arg("review").args(arguments.split_whitespace());
        match self.forge.kind {
            Kind::GitLab => self.gitlab(&mut command, head, run),
            Kind::GitHub | Kind::Gitea => self.actions(&mut command, head, run),
        }
        Job { scene: self, command, summary: self.summary(run) }
    }

    /// Runs the job for a commit.
    pub(super) fn review(&self, head: &str, arguments: &str) -> Printed {
        self.job(head, arguments).run()
    }

    fn summary(&self, run: u64) -> PathBuf {
        self.site.beside(&format!("summary-{run}.md"))
    }

    fn actions(&self, command: &mut Command, head: &str, run: u64) {
        let (repository, state) = {
            let state = self.forge.state();
            (if state.is_fork { "stranger/n" } else { "o/n" }, if state.is_open { "open" } else { "closed" })
        };
        let event = json!({
            "action": "synchronize",
            "number": 7,
            "pull_request": {
                "number": 7,
                "state": state,
                "head": { "ref": "feature", "sha": head, "repo": { "full_name": repository } },
                "base": { "ref": "main", "sha": "0".repeat(40), "repo": { "full_name": "o/n" } },
            },
        });
        self.event(command, run, "pull_request", &event);
        if self.forge.kind == Kind::Gitea {
            command.env("GITEA_ACTIONS", "true");
        }
    }

    /// Sets the environment of a job in Actions that an event has started.
    pub(super) fn event(&self, command: &mut Command, run: u64, name: &str, event: &Json) {
        let path = self.site.beside(&format!("event-{run}.json"));
        std::fs::write(&path, event.to_string()).unwrap();
        command
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_API_URL", self.forge.api())
            .env("GITHUB_GRAPHQL_URL", format!("{}/graphql", self.forge.api()))
            .env("GITHUB_SERVER_URL", "https://forge.example")
            .env("GITHUB_REPOSITORY", "o/n")
            .env("GITHUB_SHA", "f".repeat(40))
            .env("GITHUB_RUN_ID", run.to_string())
            .env("GITHUB_RUN_ATTEMPT", "1")
            .env("GITHUB_EVENT_NAME", name)
            .env("GITHUB_EVENT_PATH", path)
            .env("GITHUB_STEP_SUMMARY", self.summary(run))
            .env("GITHUB_TOKEN", TOKEN);
    }

    fn gitlab(&self, command: &mut Command, head: &str, run: u64) {
        command
            .env("GITLAB_CI", "true")
            .env("CI_API_V4_URL", self.forge.api())
            .env("CI_PROJECT_ID", "5")
            .env("CI_PROJECT_URL", "https://forge.example/o/n")
            .env("CI_MERGE_REQUEST_PROJECT_ID", "5")
            .env("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "5")
            .env("CI_MERGE_REQUEST_IID", "7")
            .env("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main")
            .env("CI_COMMIT_SHA", head)
            .env("CI_PIPELINE_ID", run.to_string())
            .env("CI_JOB_ID", "1")
            .env("HIERAD_GITLAB_TOKEN", TOKEN);
    }

    /// Makes a checkout of the merge of the request, as deep as `git fetch` is told.
    pub(super) fn checkout(&self, depth: &str) -> PathBuf {
        let folder = self.site.beside("checkout");
        let (origin, path) = (self.site.beside("origin.git"), folder.to_str().unwrap().to_owned());
        self.site.git(["init", "--quiet", &path]);
        git_in(&folder, ["remote", "add", "origin", &format!("file://{}", origin.display())]);
        git_in(&folder, ["fetch", "--quiet", "--no-tags", depth, "origin", "refs/pull/7/merge"]);
        git_in(&folder, ["checkout", "--quiet", "FETCH_HEAD"]);
        folder
    }
}

/// A run that is yet to be started.
pub(super) struct Job<'s> {
    scene: &'s Scene,
    pub(super) command: Command,
    pub(super) summary: PathBuf,
}

impl Job<'_> {
    /// Runs it to its end. It never prints the token, and asks for nothing that the forge does not describe.
    #[track_caller]
    pub(super) fn run(&mut self) -> Printed {
        let printed = run(&mut self.command);
        assert!(!printed.out.contains(TOKEN) && !printed.err.contains(TOKEN), "{printed:?}");
        self.scene.forge.assert_described();
        printed
    }
}
