//! Combines what the job knows about the request with the flags.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

use super::Arguments;
use crate::app::review::RequestCommits;
use crate::cli::{Global, Result};
use crate::delivery::Private;
use crate::disk;
use crate::forge::ci::Ci;
use crate::forge::{Client, ClientOptions, Forge, Id, Page, Run};
use crate::hex::Hex;

/// The maximum sizes of a token's file and of an event, in bytes.
const MAX_TOKEN: u64 = 64 << 10;
const MAX_EVENT: u64 = 32 << 20;

/// The id of a configuration that no flag distinguishes from others.
const DEFAULT_ID: &str = "default";

/// The name of the check, unless a flag gives the configuration a name.
const PLAIN_NAME: &str = "hierad";

/// The request that is reviewed.
pub(super) struct Target {
    pub(super) ci: Ci,
    pub(super) id: Id,
    /// True if a flag sets the id.
    has_own_id: bool,
    pub(super) run: Run,
    /// The commits that are compared.
    pub(super) wanted: RequestCommits,
}

impl Target {
    /// Reads the environment of the job, which the flags override.
    pub(super) fn find(arguments: &Arguments, global: &Global) -> Result<Target> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let read = |path: &Path| disk::read_regular(path, MAX_EVENT);
        let mut ci = Ci::detect(&variable, &read)?;
        // The job knows only the pages of its own repository.
        if [&arguments.api, &arguments.project].into_iter().any(Option::is_some) || arguments.forge.is_some() {
            ci.page = None;
        }
        // The job that has saved the review has the summary.
        if arguments.post.is_some() {
            ci.url = ci.followed.take().or(ci.url);
        }
        ci.forge = arguments.forge.or(ci.forge);
        ci.api = arguments.api.clone().or(ci.api);
        ci.project = arguments.project.clone().or(ci.project);
        // Commits that a flag names in a job may come from a fork.
        ci.is_own &= arguments.head.is_none() || ci.head.is_none() || ci.head == arguments.head;
        ci.head = arguments.head.clone().or(ci.head);
        if let Some(number) = arguments.request {
            ci.is_own &= ci.number == Some(number);
            ci.number = Some(number);
        }
        let run = ci.run.unwrap_or_else(run_of_clock);
        let wanted = RequestCommits {
            remote: arguments.remote.clone(),
            must_fetch: arguments.fetch,
            ..RequestCommits::default()
        };
        let mut target = Target { id: id(arguments, global)?, has_own_id: arguments.id.is_some(), run, wanted, ci };
        target.set_wanted(arguments);
        Ok(target)
    }

    /// Sets the commits to compare, from what is known so far.
    pub(super) fn set_wanted(&mut self, arguments: &Arguments) {
        let Ci { head, base_branch, base, default_branch, number, .. } = self.ci.clone();
        let is_named = arguments.base.is_some();
        self.wanted.number = number;
        self.wanted.head = head;
        self.wanted.head_ref = self.ci.head_ref();
        self.wanted.base_branch = base_branch.filter(|_| !is_named);
        self.wanted.base = arguments.base.clone().or(base);
        self.wanted.default_branch = default_branch;
    }

    /// Makes a client of the forge, or returns `None` if the forge or its project is not known.
    pub(super) fn client(&self, arguments: &Arguments) -> Result<Option<Client>> {
        let (Some(forge), Some(project)) = (self.ci.forge, self.ci.project.clone()) else { return Ok(None) };
        let token = token(arguments, forge)?;
        let api = self.api(forge).ok_or("name the address of the forge's API with --api")?;
        let author = arguments.author.clone();
        let graphql = self.ci.graphql.clone();
        let usual_author = self.ci.author.map(str::to_owned);
        Ok(Some(Client::new(ClientOptions { forge, api, graphql, project, token, author, usual_author })?))
    }

    fn api(&self, forge: &dyn Forge) -> Option<String> {
        self.ci.api.clone().or(forge.public_api().map(str::to_owned))
    }

    /// Returns the base address of the files of the commit `head`.
    pub(super) fn files(&self, head: &str) -> Option<String> {
        let Ci { forge, page, project, .. } = &self.ci;
        let forge = (*forge)?;
        let page = page.as_ref().map(|page| Page::new(forge, page));
        page.or_else(|| Page::beside(forge, &self.api(forge)?, project.as_deref()?))?.files(head)
    }

    /// Returns the name of the check. Only `--id` changes it, so that it can be required.
    pub(super) fn check_name(&self) -> String {
        if self.has_own_id { self.name() } else { PLAIN_NAME.to_owned() }
    }

    /// Returns the name of the configuration, or `None` if no flag distinguishes it from others.
    pub(super) fn configuration_name(&self) -> Option<String> {
        (self.id.as_str() != DEFAULT_ID).then(|| self.name())
    }

    fn name(&self) -> String {
        format!("{PLAIN_NAME} ({})", self.id.as_str())
    }
}

/// Returns a run for a job without a number, taken from the clock so that later runs are greater.
fn run_of_clock() -> Run {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Run(now.as_secs(), u64::from(now.subsec_millis()))
}

fn id(arguments: &Arguments, global: &Global) -> Result<Id> {
    if let Some(text) = &arguments.id {
        let wrong =
            || format!("--id takes up to 64 letters, digits, dots, underscores and single dashes: not '{text}'");
        return Ok(Id::new(text).ok_or_else(wrong)?);
    }
    let mut parts = global.configuration();
    parts.extend(arguments.chosen.node.iter().map(|pattern| format!("node={pattern:?}")));
    parts.extend(arguments.chosen.key.iter().map(|pattern| format!("key={pattern:?}")));
    let digest = Hex(&Sha256::digest(parts.join("\0"))[..4]).to_string();
    let text = if parts.is_empty() { DEFAULT_ID } else { &digest };
    Ok(Id::new(text).ok_or("the configuration has no id")?)
}

/// Returns the token, from the file or the first variable that has one.
fn token(arguments: &Arguments, forge: &dyn Forge) -> Result<Option<Private<String>>> {
    if let Some(path) = &arguments.token_file {
        let failed = |error: std::io::Error| format!("cannot read the token in {}: {error}", path.display());
        let content = disk::read_regular(path, MAX_TOKEN).map_err(failed)?;
        let text = String::from_utf8(content).map_err(|_| format!("{} is no text", path.display()))?;
        return Ok(Some(Private(text.trim().to_owned())).filter(|token| !token.0.is_empty()));
    }
    let variable = |name: &&str| std::env::var(*name).ok().map(|value| value.trim().to_owned());
    let found = forge.api().iter().flat_map(|api| api.tokens).filter_map(variable).find(|value| !value.is_empty());
    Ok(found.map(Private))
}
