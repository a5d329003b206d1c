//! Variables of paths that profiles lack, and remedies for them.

use crate::blind_spots::accept;
use crate::hiera::config::Config;
use crate::hiera::layer::Environment;
use crate::puppet::facter;
use crate::report::Remedy;

/// The code of blind spots and faults of such variables.
pub(crate) const UNDEFINED: &str = "undefined-variable";

/// Returns a variable's name without leading colons. Ask the fleet for the name as written: any other makes it read all
/// profiles again.
pub(crate) fn plain(variable: &str) -> &str {
    variable.trim_start_matches("::")
}

/// Returns true if the value of a variable depends on the class that asks: Puppet looks up parameters in the scope of
/// their class. hierad asks from the top scope, as `puppet lookup` does. Hiera 3, and version 3 in the global layer,
/// set some variables in that scope that Hiera 5 does not have.
///
/// Source: `resource/type.rb` (`set_resource_parameters`), `hiera/scope.rb`.
pub(crate) fn is_of_caller(variable: &str, environment: &Environment) -> bool {
    let is_version3 = |config: &Config| config.version == 3 || config.hiera3.is_some();
    let has_version3 =
        || environment.layers().any(|layer| layer.config.as_ref().is_ok_and(|config| is_version3(config)));
    is_of_scope(plain(variable)) || (HIERA3_CALLER_VARIABLES.contains(&plain(variable)) && has_version3())
}

const HIERA3_CALLER_VARIABLES: [&str; 3] = ["calling_module", "calling_class", "calling_class_path"];

fn is_of_scope(name: &str) -> bool {
    let is_of_class = name.split_once("::").is_some_and(|(class, _)| class != "settings");
    is_of_class || ["module_name", "caller_module_name", "title", "name"].contains(&name)
}

/// Returns the remedy for a variable, given by its plain name, that profiles lack. It suggests accepting variables of
/// the caller, and others that are not facts of Facter if they `may_be_accepted`.
pub(crate) fn fix(name: &str, may_be_accepted: bool) -> Remedy {
    if is_of_scope(name) || HIERA3_CALLER_VARIABLES.contains(&name) {
        let words = "look at what catalogs give their classes or, if that is the same, add to hierad.yaml";
        return accept::remedy(words, UNDEFINED, [name]);
    }
    if let Some(remedy) = fix_of_fact(name) {
        return remedy;
    }
    let trusted_hint =
        if name.starts_with("trusted.") { " (PuppetDB's inventory has trusted data, Facter has none)" } else { "" };
    if !may_be_accepted {
        return Remedy::words(format!(
            "set it in the profiles of these nodes{trusted_hint}, to null where a node has none"
        ));
    }
    let words = format!("set it in the profiles{trusted_hint} or, if these nodes have none, add to hierad.yaml");
    accept::remedy(words, UNDEFINED, [name])
}

/// Returns the remedy for one of Facter's facts, given by its plain name, or `None` for any other variable.
pub(crate) fn fix_of_fact(name: &str) -> Option<Remedy> {
    let fact = name.strip_prefix("facts.").unwrap_or(name);
    let fact = fact.split('.').next().unwrap_or(fact);
    let advice = "take the facts of these nodes with";
    if facter::is_legacy(fact) {
        return Some(Remedy::words(format!(
            "{advice} `facter --json --show-legacy` or `puppet facts show --show-legacy`: without the flag, '{fact}' \
             is left out (agents of Puppet 8 send it only with include_legacy_facts; set it to null if they do not)"
        )));
    }
    let words = format!("{advice} `facter --json --show-legacy`, or set it to null where a node has none");
    facter::is_core(fact).then(|| Remedy::words(words))
}
