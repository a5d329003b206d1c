//! Gitea and Forgejo, whose API, webhooks and Actions are mostly copied from GitHub.

use serde_json::Value as Json;

use super::ci::{Ci, Jobs, Read, Variable, actions};
use super::webhook::{Proof, RequestEvent, Webhooks};
use super::{Api, Constants, Forge, ForgeError, Request, github};

/// The end of the address of an API.
const API_PATH: &str = "/api/v1";

static CONSTANTS: Constants = Constants {
    name: "gitea",
    aliases: &["forgejo"],
    webhooks: Webhooks {
        event: "x-gitea-event",
        proof: Proof::Signature("x-gitea-signature", ""),
        pushes: github::PUSHES,
        requests: &["pull_request", "pull_request_sync"],
    },
    jobs: Jobs { runners: &["GITEA_ACTIONS", "FORGEJO_ACTIONS"], depth: None, ..actions::JOBS },
    api: Some(Api {
        public: None,
        place: API_PATH,
        auth: ("authorization", "token "),
        headers: &[],
        tokens: &["HIERAD_GITEA_TOKEN", "GITEA_TOKEN", "FORGEJO_TOKEN", "GITHUB_TOKEN"],
        comments_query: "",
        may_read: "the token must be one that can read the repository",
        may_comment: "the token needs the scopes `write:issue` and `read:repository`, and must see the repository; the \
                      token of a fork's run may only read",
        may_set_status: "the token needs the scope `write:repository`",
        request_page: "/pulls/",
        files: "src/commit",
        ..github::API
    }),
};

/// Gitea and Forgejo.
#[derive(Debug)]
pub(super) struct Gitea;

impl Forge for Gitea {
    fn constants(&self) -> &'static Constants {
        &CONSTANTS
    }

    /// Recognises old versions by the address of the API: they only have the variables of GitHub.
    fn is_job(&self, variable: Variable<'_>) -> bool {
        let has_api = || variable("GITHUB_API_URL").is_some_and(|api| api.trim_end_matches('/').ends_with(API_PATH));
        let is_set = |name: &&str| variable(name).is_some();
        CONSTANTS.jobs.runners.iter().any(is_set) || is_set(&"GITHUB_ACTIONS") && has_api()
    }

    fn ci(&self, variable: Variable<'_>, read: Read<'_>) -> Result<Ci, ForgeError> {
        actions::read(&Gitea, variable, read)
    }

    /// Takes every edit for news, since not all versions report what was edited.
    fn news(&self, body: &[u8]) -> Result<Option<RequestEvent>, serde_json::Error> {
        github::news(body, |action, _| matches!(action, "opened" | "reopened" | "synchronized" | "edited"))
    }

    fn request(&self, found: &Json) -> Option<Request> {
        github::request(found)
    }
}
