//! `PuppetDB`'s query API, version 4.
//!
//! Nodes come from the inventory, with their environment, trusted data and only the requested facts. A server that
//! cannot extract facts is asked for all of them, and one without an inventory for its factsets. Answers are read
//! page by page, and checked to be of one list: see [`pages`]. The nodes' [`catalogs`] are added if the settings ask
//! for them.

mod catalogs;
mod pages;
mod query;
mod rows;

use std::sync::Arc;
use std::time::Duration;

use super::http::{Api, Http};
use super::{Asked, Nodes, Source, run_blocking};
use crate::inventory::{FactNames, FetchError};
use crate::settings::PuppetDbSetting;
use query::Form;

/// The path of queries that name their entity.
const PATH: &str = "/pdb/query/v4";

/// The API, with the token header of Puppet Enterprise.
const API: Api =
    Api { token: "x-authentication", advice_if_absent: "check 'url': PuppetDB's query API, version 4, is not there" };

/// A `PuppetDB`.
pub(super) struct PuppetDb<'s>(pub(super) &'s PuppetDbSetting);

impl Source for PuppetDb<'_> {
    fn identity(&self) -> (&'static str, String) {
        let PuppetDbSetting { server, query, classes, .. } = self.0;
        let classes = if *classes { "\nclasses" } else { "" };
        ("puppetdb", format!("{}\n{}{classes}", server.url, query.as_deref().unwrap_or_default()))
    }

    fn refresh(&self) -> Duration {
        self.0.refresh
    }

    fn knows_all(&self) -> bool {
        self.0.query.is_none()
    }

    fn ask(&self, facts: &FactNames, _: &[Arc<str>]) -> Result<Asked, FetchError> {
        run_blocking(async || fetch(self.0, facts).await).map(Asked::All)
    }
}

/// Fetches all nodes with at least these facts.
async fn fetch(setting: &PuppetDbSetting, facts: &FactNames) -> Result<Nodes, FetchError> {
    let http = Http::new(&setting.server, &API)?;
    let (mut form, mut refusal) = (Form::for_facts(facts), None);
    loop {
        // All facts of a node take tens of kilobytes, sometimes megabytes.
        let page = if form == Form::Extract { setting.page } else { setting.page / 10 };
        let query = query::text(form, facts, setting.query.as_deref());
        match (pages::all(&http, &query, page).await, form.simpler()) {
            (Err(error), Some(simpler)) if is_unknown(&error) => {
                refusal.get_or_insert(error);
                form = simpler;
            }
            // The filter may be wrong: then the first refusal says the most about it.
            (Err(error), _) => return Err(refusal.unwrap_or(error)),
            (Ok((lines, count)), _) => {
                let facts = if form == Form::Extract { facts.clone() } else { FactNames::All(()) };
                let lines = if setting.classes { catalogs::with_catalogs(&http, &lines).await? } else { lines };
                return Ok(Nodes { lines, count, facts });
            }
        }
    }
}

/// Returns true if the server does not seem to support such queries.
fn is_unknown(error: &FetchError) -> bool {
    const REFUSALS: [&str; 3] = ["Can't extract", "PQL parse error", "AST field"];
    matches!(
        error,
        FetchError::Refused { status: 400 | 500, body_start, .. }
            if REFUSALS.iter().any(|words| body_start.contains(words))
    )
}
