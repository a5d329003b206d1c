//! Variables that the settings take from the data. What Puppet does is in `tests/vectors/lookup/variables.json`.

use std::path::Path;
use std::sync::Arc;

use hierad::diff::{self, Diff};
use hierad::fleet::{self, Effective, Fleet, Revision};
use hierad::hiera::Outcome;
use hierad::hiera::layer::{Environment, EnvironmentOptions, Store, VariableText};
use hierad::hiera::lookup::{Lookup, WithVariables};
use hierad::hiera::scope::NodeScope;
use hierad::node::read_profiles;
use hierad::puppet::Puppet;
use hierad::tree::MemoryTree;
use hierad::workers::Workers;

use crate::lookup_vectors::Case;
use crate::support::Sandbox;
use crate::support::recorded::cases;
use crate::support::terminal::SITE;
use crate::support::values::next;

fn resolved(revision: &Revision) -> Effective {
    fleet::resolve(revision, &revision.fleet.everywhere(revision.keys.iter()), &Workers::of(1))
}

#[test]
fn one_node_alone_has_the_answers_of_a_fleet() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/lookup/variables.json");
    let mut count = 0;
    for case in cases(&path).iter().map(Case) {
        let (tree, options) = case.repository(Puppet::V8);
        let load = || Environment::load(tree.clone(), options.clone(), Arc::default()).unwrap();
        let revision = Revision::new(load(), Arc::new(Fleet::new(case.profiles())), &Workers::of(1)).unwrap();
        let effective = resolved(&revision);
        let environment = load();
        for profile in case.profiles() {
            let node = revision.fleet.find(&profile.name).unwrap();
            let with_variables = WithVariables::of(&environment, profile);
            let scope = NodeScope::new(&with_variables.profile);
            let sources = with_variables.sources(&environment, &scope);
            for (key, answers) in &effective.keys {
                let of_fleet = answers.iter().find(|answer| answer.nodes.contains(node));
                let of_fleet = of_fleet.map_or(Outcome::NotFound, |answer| (*answer.on(node)).clone());
                let alone = Lookup::new(&environment, &sources, &scope).get(key, None);
                assert_eq!(alone, of_fleet, "{}: {key}", case.text("name"));
                count += 1;
            }
        }
    }
    assert!(count > 100, "{count}");
}

/// Data whose roles, levels and options differ.
const DATA: [&str; 9] = [
    "-- data/common.yaml\nrole: web\nport: 1\nlist: [a]\nurl: 'http://%{role}.%{facts.site}'\n",
    "-- data/common.yaml\nrole: db\nport: 1\nlist: [a]\nurl: 'http://%{role}.%{facts.site}'\n",
    "-- data/common.yaml\nrole: web\nport: 2\nlist: [a]\nurl: 'http://%{role}.%{facts.site}'\n",
    "-- data/common.yaml\nrole: web\nport: 1\nlist: [a]\nurl: 'http://%{role}.%{facts.site}'\nlookup_options: {list: {merge: unique}}\n",
    "-- data/common.yaml\nrole: web\nport: 1\nlist: [a]\n-- data/site/bonn.yaml\nrole: db\n",
    "-- data/common.yaml\nrole: web\nport: 1\nlist: [a]\nurl: 'http://%{role}.%{facts.site}'\n\
     -- data/role/.yaml\nlookup_options: {list: {merge: unique}}\n",
    "-- data/common.yaml\nrole: '%{facts.nothing}'\nport: 1\nlist: [a]\nurl: 'http://%{role}.%{facts.site}'\n",
    "-- data/common.yaml\nrole: web\nport: 1\nlist: [a]\nurl: 'http://%{zone}'\n-- manifests/site.pp\n$zone = $facts['site'][0,3]\n",
    "-- data/common.yaml\nrole: web\nport: 1\nlist: [a]\nurl: 'http://%{zone}'\n-- manifests/site.pp\n$zone = upcase($site)\n",
];

const HIERARCHY: &str = "-- hiera.yaml\nversion: 5\nhierarchy:\n  - {name: role, path: 'role/%{role}.yaml'}\n\
    \x20 - {name: site, path: 'site/%{facts.site}.yaml'}\n  - {name: zone, path: 'zone/%{zone}.yaml'}\n  - {name: common, path: common.yaml}\n\
    -- data/role/web.yaml\nport: 80\nlist: [w]\n-- data/role/db.yaml\nport: 5432\n\
    -- data/zone/ber.yaml\nlist: [z]\n-- data/zone/BONN.yaml\nlist: [b]\n";

fn environment(data: &str, store: &Arc<Store>) -> Environment {
    let variables = [("role", "%{lookup('role')}"), ("tier", "%{role} of %{facts.site}")];
    let variables = variables.map(|(name, text)| VariableText { name: name.into(), text: text.into() });
    let options = EnvironmentOptions { variables: Arc::new(variables), ..EnvironmentOptions::default() };
    let tree = MemoryTree::from_fixture(&format!("{HIERARCHY}{data}"));
    Environment::load(Arc::new(tree), options, store.clone()).unwrap()
}

#[test]
fn changes_of_roles_are_all_seen() {
    let workers = Workers::of(1);
    let profiles = "{\"name\": \"a\", \"facts\": {\"site\": \"berlin\"}}\n{\"name\": \"b\", \"facts\": {\"site\": \"bonn\"}}\n\
                    {\"name\": \"c\", \"facts\": {\"site\": \"bonn\"}, \"variables\": {\"role\": \"own\"}}\n";
    let fleet = Arc::new(Fleet::new(read_profiles(profiles.as_bytes(), "n.ndjson", "production").0));
    let mut changed = 0;
    for (before, after) in (0..DATA.len()).flat_map(|before| (0..DATA.len()).map(move |after| (before, after))) {
        let store = Arc::new(Store::default());
        let whole = |data| Revision::new(environment(data, &store), fleet.clone(), &workers).unwrap();
        let expected = [before, after].map(|number| resolved(&whole(DATA[number])));
        let was = whole(DATA[before]);
        let is = next(&was, environment(DATA[after], &store), &workers).unwrap();
        assert_eq!(resolved(&is), expected[1], "{before} {after}");
        let keys = was.keys.union(&is.keys).cloned().collect();
        let affected = fleet::affected_keys(&was, &is, &keys, &workers);
        let [one, two] = fleet::resolve_all([&was, &is], &affected.keys, &workers);
        let found = diff::changes(Diff::new(&one, &two), &workers).changes;
        let all = diff::changes(Diff::new(&expected[0], &expected[1]), &workers).changes;
        assert_eq!(format!("{found:?}"), format!("{all:?}"), "{before} {after}");
        changed += all.len();
        // Where no role differs, not everything is looked up again.
        if (before, after) == (0, 2) {
            assert_eq!(affected.keys.keys().map(|key| &**key).collect::<Vec<_>>(), ["port"]);
        }
    }
    assert!(changed > 50, "{changed}");
}

fn site(variables: &str) -> Sandbox {
    let site = Sandbox::of(SITE);
    site.files(
        "-- data/common.yaml\nkind: web\nmotd: hello\nport: 1\n-- data/kinds/db.yaml\nport: 5432\nmotd: 'a %{kind}'\n",
    );
    site.write("hiera.yaml", "version: 5\nhierarchy:\n  - {name: all, paths: ['kinds/%{kind}.yaml', 'common.yaml']}\n");
    site.write("hierad.yaml", format!("profiles: profiles\nvariables:\n  {variables}\n"));
    site.commit("variables");
    site
}

#[test]
fn a_commit_that_changes_a_role_changes_what_follows() {
    let site = site("kind: \"%{lookup('kind')}\"");
    site.files("-- data/common.yaml\nkind: db\nmotd: hello\nport: 1\n");
    site.commit("another kind");
    let said = site.hierad("diff HEAD~1 HEAD");
    for words in ["kind: \"web\" -> \"db\"", "motd: \"hello\" -> \"a db\"", "port: 1 -> 5432"] {
        assert!(said.ok().contains(words), "{}", said.out);
    }
    assert_eq!(site.hierad("lookup port --node web01").ok(), "--- 5432\n");
    assert_eq!(site.hierad("lookup port --node web01 --rev HEAD~1").ok(), "--- 1\n");
    // What the profile says, or --set, stays.
    assert_eq!(site.hierad("lookup port --node web01 --set kind=web").ok(), "--- 1\n");
    let rendered = site.hierad("render --set kind=web --format ndjson --output -");
    assert!(rendered.ok().contains("\"port\":1}") && !rendered.out.contains("5432"), "{}", rendered.out);
}

#[test]
fn a_role_that_fails_is_told_where_it_is_read() {
    let site = site("kind: \"%{lookup('broken')}\"");
    site.files("-- data/common.yaml\nbroken: '%{nothing}'\nmotd: hello\nplain: 1\n");
    site.commit("broken");
    let reason = "the variable 'kind' of the settings cannot be resolved: Undefined variable 'nothing'";
    site.hierad("lookup motd --node web01").fails(&["unknown to hierad: ", reason]);
    assert!(site.hierad("render --allow-blind --format ndjson --output -").out.contains(reason));
}

#[test]
fn faults_of_variables_are_told_with_their_line() {
    for (variables, words) in [
        ("kind: [x]", "'kind' of 'variables' must be a text such as"),
        (
            "kind: {from: facts.x}",
            "'kind' of 'variables' must have 'from', a variable such as trusted.certname, and 'match'",
        ),
        ("kind: {from: facts.x, match: x, default: y}", "and 'match', a pattern, and nothing else"),
        ("kind: {from: 'x::y', match: x}", "'kind' of 'variables' has a 'from' that is not a variable: 'x::y'"),
        ("kind: {from: x, match: '('}", "'kind' of 'variables' has a 'match' that is not a valid pattern: "),
        ("facts: x", "'facts' of 'variables' is set by Puppet"),
        ("a::b: x", "'a::b' of 'variables' is not the name of a top-scope variable"),
        ("Kind: x", "'Kind' of 'variables' is not the name of a top-scope variable"),
    ] {
        site(variables).hierad("lookup motd --node web01").fails(&["hierad.yaml:3: ", words]);
    }
    site("- x").hierad("lookup motd --node web01").fails(&["hierad.yaml:2: ", "'variables' must be a hash such as"]);
}
