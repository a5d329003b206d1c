//! Variables that manifests make of others have the values that Puppet had when `tests/puppet/record_top_scope.rb` ran.

use hierad::hiera::derived::{DerivedVariable, DerivedVariables};
use hierad::node::{NodeProfile, Wanted, read_profiles};
use hierad::puppet::json;
use hierad::puppet::manifest::{Language, Lookups};
use hierad::value::Value;

/// Returns the variables that a manifest makes of others.
fn derived(manifest: &str) -> DerivedVariables {
    let scope = Lookups::of(manifest, Language::Manifest).top_scope.expect("a manifest that is read");
    let known = scope.variables.into_iter().filter_map(|(name, formula)| Some((name, formula?)));
    DerivedVariables::new(known.map(|(name, formula)| DerivedVariable { name: name.into(), formula }))
}

/// Returns the profiles of the vectors, each with its name.
fn profiles(recorded: &Value) -> Vec<NodeProfile> {
    let nodes = recorded.get("nodes").expect("profiles");
    let (profiles, errors) = read_profiles(json::compact(nodes).as_bytes(), "nodes.json", "production");
    assert_eq!(errors, []);
    profiles
}

#[test]
fn variables_made_of_others_are_puppets() {
    let recorded = json::parse(include_bytes!("../vectors/top_scope.json")).value;
    let profiles = profiles(&recorded);
    let (mut known, mut all) = (0, 0);
    for one in recorded.get("manifests").and_then(Value::as_array).expect("manifests") {
        let manifest = one.get("manifest").and_then(Value::as_str).expect("a manifest");
        let derived = derived(manifest);
        for (node, expected) in one.get("nodes").and_then(Value::as_hash).expect("nodes").iter() {
            let mut profile = profiles.iter().find(|profile| node.as_str() == Some(&profile.name)).unwrap().clone();
            derived.set(&mut profile);
            let expected = expected.as_hash().expect("variables");
            all += expected.len();
            for (name, value) in profile.variables.iter().filter(|(name, _)| name.to_s().starts_with('v')) {
                known += 1;
                assert_eq!(Some(value), expected.get_value(name), "{} on {} in\n{manifest}", name.to_s(), node.to_s());
            }
        }
    }
    // That many are known, and the others honestly unknown.
    assert!(known * 3 > all && all > 900, "{known} of {all}");
}

#[test]
fn what_a_variable_is_made_of_is_read_with_it_alone() {
    let derived =
        derived("$a = split($trusted['certname'], '-')[0]\n$b = \"${a}-${facts['os']['family']}\"\n$c = $d\n");
    let wanted = |name: &str| {
        let mut wanted = Wanted::default();
        wanted.add(name, &[]);
        let count = derived.wanted(&mut wanted);
        let mut names: Vec<String> = wanted.names().unwrap().map(str::to_owned).collect();
        names.sort();
        (names, count.is_empty())
    };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(wanted("b"), (names(&["a", "b", "os", "trusted"]), false));
    assert_eq!(wanted("::a"), (names(&["a", "trusted"]), false));
    assert_eq!(wanted("c"), (names(&["c", "d"]), false));
    assert_eq!(wanted("x"), (names(&["x"]), true));
}
