//! Policies: which changes hit a rule, what waivers take away, whose settings count, and how reports tell it.

mod conditions;
mod forms;
mod lines;
mod merged;
mod readings;
mod settings;
mod trial;
mod waivers;

use serde_json::Value as Json;

use crate::support::Sandbox;
use crate::support::terminal::SITE;

/// Data beyond that of the site: a secret, a hash, and a value that no node sees.
const DATA: &str = "
-- data/common.yaml
motd: hello
ntp: [a, b]
token: abc
db::password: hunter2
sshd::config: {Port: 22, PermitRootLogin: 'no'}
port: 1
lookup_options: {db::password: {convert_to: Sensitive}}
";

/// A site with these policies in its trusted settings, and a commit that changes these files.
fn site(policies: &str, files: &str) -> Sandbox {
    let site = Sandbox::of(&format!("{SITE}{DATA}"));
    trust(&site, policies);
    site.files(files);
    site.commit("a change");
    site
}

/// Writes settings that count whoever commits.
fn trust(site: &Sandbox, policies: &str) {
    site.write(".git/hierad.yaml", format!("profiles: ../profiles\n{policies}"));
}

/// The policies in the report of the last commit, a line each: name, state, level, and what was found.
#[track_caller]
fn hits(site: &Sandbox) -> Vec<String> {
    let printed = site.hierad("diff --format json --allow-blind");
    printed.is(0);
    lines(&printed.json())
}

fn lines(report: &Json) -> Vec<String> {
    let text = |hit: &Json, name: &str| hit[name].as_str().unwrap().to_owned();
    let hits = report["policies"].as_array().cloned().unwrap_or_default();
    let line = |hit: &Json| ["policy", "state", "level", "found"].map(|name| text(hit, name)).join(" | ");
    hits.iter().map(line).collect()
}
