//! Lookups against what the real Puppet 7 and 8 answered: `tests/vectors/lookup`, recorded by `tests/puppet/record_lookup.rb`.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use crate::support::keys::TestKeys;
use hierad::disclosure::Disclosure;
use hierad::fleet::{Fleet, Revision, resolve};
use hierad::hiera::layer::{Environment, EnvironmentOptions, GlobalConfig};
use hierad::hiera::options::LookupOptions;
use hierad::hiera::regex::Regexes;
use hierad::hiera::{Outcome, Puppet};
use hierad::node::{NodeProfile, read_profiles};
use hierad::tree::{FileTree, MemoryTree, Placed};
use hierad::value::{Hash, Value, json, yaml};

/// Where hierad departs from Puppet on purpose. Puppet's deep merge empties a text in its cache of parsed files, so what it
/// answers depends on what was looked up before, on which node; hierad answers as Puppet does when it is asked for nothing else.
const DEPARTURES: [&str; 3] = [
    "a text shared by an anchor is cleared for both",
    "an emptied text stays empty for other nodes",
    "a key looked up before is not emptied",
];

/// Where the files of a case are that lie outside of the repository.
const OUTSIDE: &str = "/outside";

/// One recorded case.
struct Case<'a>(&'a Value);

impl Case<'_> {
    fn text(&self, field: &str) -> &str {
        self.0.get(field).and_then(Value::as_str).unwrap_or_else(|| panic!("a case without {field}"))
    }

    fn list(&self, field: &str) -> &[Value] {
        self.0.get(field).and_then(Value::as_array).unwrap_or_else(|| panic!("a case without {field}"))
    }

    fn profiles(&self) -> Vec<NodeProfile> {
        let read = |profile: &Value| {
            let (profiles, errors) = read_profiles(json::compact(profile).as_bytes(), "case.json", "production");
            assert_eq!(errors, []);
            profiles
        };
        self.list("profiles").iter().flat_map(read).collect()
    }

    /// The fixture, and the options that hierad gets as settings in place of a file of it.
    fn settings(&self) -> (String, Arc<LookupOptions>) {
        let fixture = self.text("fixture");
        let Some(path) = self.0.get("settings").and_then(Value::as_str) else {
            return (fixture.to_owned(), Arc::default());
        };
        let (before, rest) = fixture.split_once(&format!("-- {path}\n")).unwrap();
        let (content, after) = rest.split_once("-- ").unwrap();
        let content = yaml::parse(content.as_bytes()).value;
        let options = content.get("lookup_options").and_then(Value::as_hash).unwrap();
        let options = LookupOptions::compile(options, &Regexes::default()).unwrap();
        (format!("{before}-- {after}"), Arc::new(options))
    }

    /// The repository, and what lies outside of it: there it is the same files with absolute paths.
    fn repository(&self, puppet: Puppet) -> (Arc<dyn FileTree>, EnvironmentOptions) {
        let (fixture, lookup_options) = self.settings();
        let tree: Arc<dyn FileTree> = Arc::new(MemoryTree::from_fixture(&fixture));
        let disk: Arc<dyn FileTree> = Arc::new(Placed::new(OUTSIDE, tree.clone()));
        let outside = |field| self.0.get(field).and_then(Value::as_str).map(|path| format!("{OUTSIDE}/{path}"));
        let options = EnvironmentOptions {
            puppet,
            lookup_options,
            global: outside("global").map(|path| GlobalConfig { tree: Some(disk.clone()), path }),
            basemodulepath: outside("basemodulepath").into_iter().collect(),
            disk,
            outside: Arc::new(TestKeys),
            ..EnvironmentOptions::default()
        };
        (tree, options)
    }

    /// What hierad answers, in the form of the recorded answers.
    fn answers(&self, puppet: Puppet) -> Vec<Value> {
        let (tree, options) = self.repository(puppet);
        let environment = Environment::load(tree, options, Arc::default()).unwrap();
        let profiles = self.profiles();
        let fleet = Fleet::new(profiles.clone());
        let revision = Revision::new(environment, &fleet).unwrap();
        let keys = self.list("keys").iter().filter_map(Value::as_str).map(Arc::from).collect();
        let effective = resolve(&revision, &fleet, &keys, NonZeroUsize::MIN);
        let node = |profile: &NodeProfile| {
            let id = fleet.find(&profile.name).unwrap();
            let (mut values, mut errors) = (Hash::new(), Hash::new());
            for (key, answers) in &effective.keys {
                match answers.iter().find(|answer| answer.nodes.contains(id)).map(|answer| &*answer.outcome) {
                    Some(Outcome::Found(value)) => {
                        _ = values.insert(&**key, Disclosure::shown().value(value).into_owned());
                    }
                    Some(Outcome::Failed(error)) => {
                        _ = errors.insert(&**key, Value::from(&*Disclosure::shown().text(&error.text)));
                    }
                    _ => {}
                }
            }
            let name = Value::from(&*profile.name);
            Value::hash(Hash::from_iter([
                ("node", name),
                ("values", Value::hash(values)),
                ("errors", Value::hash(errors)),
            ]))
        };
        profiles.iter().map(node).collect()
    }
}

/// The difference between two answers of a node: values must be the same, and the same keys must fail; those about eyaml in the
/// same words.
fn difference(puppet: &Value, hierad: &Value, key: &str) -> Option<String> {
    let of = |answer: &Value| {
        let value = answer.get("values").and_then(|values| values.get(key)).map(json::compact);
        (value, answer.get("errors").and_then(|errors| errors.get(key)).map(json::compact))
    };
    let (ours, theirs) = (of(hierad), of(puppet));
    // A value that JSON cannot hold is recorded in its written form, so compare the written forms.
    let ours_written = json::parse(ours.0.clone().unwrap_or_default().as_bytes()).value;
    let theirs_written = json::parse(theirs.0.clone().unwrap_or_default().as_bytes()).value;
    let same = ours_written == theirs_written
        && ours.0.is_some() == theirs.0.is_some()
        && ours.1.is_some() == theirs.1.is_some()
        && (ours.1 == theirs.1 || !theirs.1.as_ref().is_some_and(|text| text.contains("eyaml backend error")));
    (!same).then(|| format!("  {key}: Puppet says {theirs:?}, hierad says {ours:?}"))
}

fn check(topic: &Path, puppet: Puppet, field: &str) -> (usize, Vec<String>) {
    let recorded = json::parse(&fs::read(topic).unwrap());
    assert_eq!(recorded.fault, None, "{}", topic.display());
    let cases = recorded.value.as_array().unwrap();
    let mut failures = Vec::new();
    for case in cases.iter().map(Case).filter(|case| !DEPARTURES.contains(&case.text("name"))) {
        for (expected, answered) in case.list(field).iter().zip(case.answers(puppet)) {
            let keys = case.list("keys").iter().filter_map(Value::as_str);
            let different: Vec<String> = keys.filter_map(|key| difference(expected, &answered, key)).collect();
            if !different.is_empty() {
                let name = format!("{} / {} / {field}", topic.display(), case.text("name"));
                failures.push(format!("{name}\n{}\n{}", different.join("\n"), case.text("fixture")));
            }
        }
    }
    (cases.len(), failures)
}

fn check_all(puppet: Puppet, field: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/lookup");
    let mut cases = 0;
    let mut failures = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let (count, failed) = check(&path, puppet, field);
            cases += count;
            failures.extend(failed);
        }
    }
    assert!(cases > 250, "only {cases} cases");
    assert!(failures.is_empty(), "{} of {cases} cases differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn puppet_7_answers_the_same() {
    check_all(Puppet::V7, "puppet7");
}

#[test]
fn puppet_8_answers_the_same() {
    check_all(Puppet::V8, "puppet8");
}
