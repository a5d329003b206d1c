//! The help for a user without node profiles: a sample profile with the variables that hiera.yaml uses.

use std::collections::BTreeSet;
use std::path::Path;

use crate::hiera::config::LevelConfig;
use crate::hiera::key;
use crate::hiera::layer::Environment;
use crate::puppet::{emit, facter};
use crate::value::{Hash, Value};

/// The node of the sample.
const SAMPLE_NODE: &str = "web01.example.com";

/// Variables that need no declaration, since they follow from the name.
const DERIVED: [&str; 6] =
    ["environment", "clientcert", "trusted.certname", "trusted.hostname", "trusted.domain", "server_facts.environment"];

/// Sample values of well-known variables; others are `VALUE`.
const SAMPLE_VALUES: [(&str, &str); 10] = [
    ("fqdn", SAMPLE_NODE),
    ("hostname", "web01"),
    ("domain", "example.com"),
    ("family", "Debian"),
    ("osfamily", "Debian"),
    ("operatingsystem", "Debian"),
    ("codename", "bookworm"),
    ("kernel", "Linux"),
    ("role", "web"),
    ("pp_role", "web"),
];

/// Returns the error text, which says what to write and where. `environment` is that of the last commit, if there is
/// one; `settings` is the file that counts.
pub(super) fn no_profiles(environment: Option<&Environment>, settings: &Path) -> String {
    let variables = environment.map(variables).unwrap_or_default();
    let variables_hint = match variables.len() {
        0 => "",
        1 => ", with the variable that hiera.yaml asks for",
        _ => ", with the variables that hiera.yaml asks for",
    };
    let sample = emit::document(&Value::hash(sample(&variables)));
    let sample: Vec<String> =
        sample.lines().filter(|line| *line != "---").map(|line| format!("    {line}\n")).collect();
    let sample = sample.concat();
    let profiles = settings.with_file_name("profiles");
    format!(
        "no node profiles: what a commit does depends on the node, so hierad needs the facts of each.\n\n\
         `hierad init` looks for them here and on this machine, and takes a PuppetDB with --puppetdb URL.\n\
         Or write a file for each node, such as {}{variables_hint}:\n\n{sample}\n\
         The output of `facter --json --show-legacy`, `puppet facts show --show-legacy --render-as json` and\n\
         PuppetDB works, too. Then name the folder:\n\
         with --profiles {}, or for good in {}:\n\n    profiles: [profiles/]",
        profiles.join(format!("{SAMPLE_NODE}.yaml")).display(),
        profiles.display(),
        settings.display(),
    )
}

/// Returns the variables in the paths of all hierarchies.
fn variables(environment: &Environment) -> BTreeSet<String> {
    let configs = environment.layers().filter_map(|layer| layer.config.as_ref().ok());
    let names = configs.flat_map(|config| config.all_levels()).flat_map(LevelConfig::variables);
    let mut found: BTreeSet<String> = names.map(|(name, _)| name.trim_start_matches("::").to_owned()).collect();
    found.retain(|name| !DERIVED.contains(&name.as_str()));
    found
}

/// Returns a profile that sets `variables`.
fn sample(variables: &BTreeSet<String>) -> Hash {
    let mut sample = Hash::from_iter([("name", Value::from(SAMPLE_NODE))]);
    for name in variables {
        let Some(segments) = key::split(name) else { continue };
        let mut names: Vec<String> = segments.iter().map(Value::to_s).collect();
        if !matches!(names.first().map(String::as_str), Some("facts" | "trusted" | "server_facts")) {
            // Others come from manifests or an ENC.
            let kind = if facter::is_legacy(&names[0]) || facter::is_core(&names[0]) { "facts" } else { "variables" };
            names.insert(0, kind.to_owned());
        }
        set_sample(&mut sample, &names);
    }
    if sample.len() == 1 {
        let os = Hash::from_iter([("family", Value::from("Debian"))]);
        sample.insert("facts", Value::hash(Hash::from_iter([("os", Value::hash(os))])));
    }
    sample
}

/// Sets the nested entry at `names` to its sample value.
fn set_sample(hash: &mut Hash, names: &[String]) {
    match names {
        [] => {}
        [name] => {
            let known = SAMPLE_VALUES.iter().find(|(known, _)| known == name);
            hash.insert(name.as_str(), Value::from(known.map_or("VALUE", |(_, value)| value)));
        }
        [name, rest @ ..] => {
            let mut inner = hash.get(name).and_then(Value::as_hash).cloned().unwrap_or_default();
            set_sample(&mut inner, rest);
            hash.insert(name.as_str(), Value::hash(inner));
        }
    }
}
