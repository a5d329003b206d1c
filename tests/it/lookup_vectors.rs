//! Lookups against what the real Puppet 7 and 8 answered: `tests/vectors/lookup`, recorded by `tests/puppet/record_lookup.rb`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::support::keys::TestKeys;
use hierad::disclosure::Disclosure;
use hierad::fleet::{Fleet, Revision, resolve};
use hierad::hiera::Outcome;
use hierad::hiera::backend::{Backends, Declared};
use hierad::hiera::layer::{Environment, EnvironmentOptions, GlobalConfig};
use hierad::hiera::lookup::{Lookup, NodeSources};
use hierad::hiera::merge::Strategy;
use hierad::hiera::options::LookupOptions;
use hierad::hiera::scope::NodeScope;
use hierad::node::{NodeProfile, read_profiles};
use hierad::puppet::Puppet;
use hierad::puppet::regex::Regexes;
use hierad::puppet::{json, yaml};
use hierad::tree::{FileTree, MemoryTree, MountedTree, Target, follow};
use hierad::value::{Hash, Value};
use hierad::workers::Workers;

/// Where hierad departs from Puppet on purpose. Puppet's deep merge empties a text in its cache of parsed files, so what it
/// answers depends on what was looked up before, on which node; hierad answers as Puppet does when it is asked for nothing else.
const DEPARTURES: [&str; 3] = [
    "a text shared by an anchor is cleared for both",
    "an emptied text stays empty for other nodes",
    "a key looked up before is not emptied",
];

/// Where the files of a case are that lie outside of the repository.
const OUTSIDE: &str = "/outside";

/// Cases that hierad answers with "unknown" yet, by the name of the case, with the reason. Here each of them must differ.
const UNKNOWN_YET: [(&str, &str); 1] = [(
    "eyaml: knock-outs that one lookup comes to twice",
    "the second time Puppet merges what the first merge has left in its cache",
)];

/// How many of a hundred error texts must be Puppet's, word for word.
const EQUAL_TEXTS: usize = 95;

/// One recorded case.
pub(crate) struct Case<'a>(pub(crate) &'a Value);

impl Case<'_> {
    pub(crate) fn text(&self, field: &str) -> &str {
        self.0.get(field).and_then(Value::as_str).unwrap_or_else(|| panic!("a case without {field}"))
    }

    pub(crate) fn list(&self, field: &str) -> &[Value] {
        self.0.get(field).and_then(Value::as_array).unwrap_or_else(|| panic!("a case without {field}"))
    }

    pub(crate) fn profiles(&self) -> Vec<NodeProfile> {
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
    pub(crate) fn repository(&self, puppet: Puppet) -> (Arc<dyn FileTree>, EnvironmentOptions) {
        let (fixture, lookup_options) = self.settings();
        let tree: Arc<dyn FileTree> = Arc::new(MemoryTree::from_fixture(&fixture));
        let disk: Arc<dyn FileTree> = Arc::new(MountedTree::new(OUTSIDE, tree.clone()));
        let outside = |field| self.0.get(field).and_then(Value::as_str).map(|path| format!("{OUTSIDE}/{path}"));
        let options = EnvironmentOptions {
            puppet,
            lookup_options,
            global: outside("global").map(|path| GlobalConfig { tree: Some(disk.clone()), path }),
            basemodulepath: outside("basemodulepath").into_iter().collect(),
            disk,
            outside: Arc::new(TestKeys),
            backends: declared(&*tree),
            ..EnvironmentOptions::default()
        };
        (tree, options)
    }

    /// What hierad answers, in the form of the recorded answers.
    fn answers(&self, puppet: Puppet) -> Vec<Value> {
        let (tree, options) = self.repository(puppet);
        let environment = Environment::load(tree, options, Arc::default()).unwrap();
        match self.0.get("merge") {
            Some(merge) => self.answers_merged(&environment, merge),
            None => self.answers_of_fleet(environment),
        }
    }

    /// The answers with the merge that the question asks for.
    fn answers_merged(&self, environment: &Environment, merge: &Value) -> Vec<Value> {
        let strategy = Strategy::from_option(merge);
        let answer = |profile: &NodeProfile| {
            let scope = NodeScope::new(profile);
            let sources = NodeSources::new(environment, &scope);
            let lookup = Lookup::new(environment, &sources, &scope);
            let get = |key: &str| match &strategy {
                Ok(strategy) => lookup.get(key, Some(strategy)),
                Err(error) => Outcome::Failed(error.clone()),
            };
            let keys = self.list("keys").iter().filter_map(Value::as_str);
            answer(profile, keys.map(|key| (key, get(key))))
        };
        self.profiles().iter().map(answer).collect()
    }

    fn answers_of_fleet(&self, environment: Environment) -> Vec<Value> {
        let profiles = self.profiles();
        let fleet = Arc::new(Fleet::new(profiles.clone()));
        let revision = Revision::new(environment, fleet.clone(), &Workers::of(1)).unwrap();
        let keys: Vec<Arc<str>> = self.list("keys").iter().filter_map(Value::as_str).map(Arc::from).collect();
        let effective = resolve(&revision, &fleet.everywhere(&keys), &Workers::of(1));
        let node = |profile: &NodeProfile| {
            let id = fleet.find(&profile.name).unwrap();
            let outcomes = effective.keys.iter().filter_map(|(key, answers)| {
                let found = answers.iter().find(|answer| answer.nodes.contains(id))?;
                Some((&**key, (*found.outcome).clone()))
            });
            answer(profile, outcomes)
        };
        profiles.iter().map(node).collect()
    }
}

/// A node's answers in the recorded form.
fn answer<'k>(profile: &NodeProfile, outcomes: impl Iterator<Item = (&'k str, Outcome)>) -> Value {
    let (mut values, mut errors) = (Hash::new(), Hash::new());
    for (key, outcome) in outcomes {
        match outcome {
            Outcome::Found(value) => _ = values.insert(key, Disclosure::shown().value(&value).into_owned()),
            Outcome::Failed(error) => _ = errors.insert(key, Value::from(&*Disclosure::shown().text(&error.text))),
            Outcome::NotFound => {}
        }
    }
    let name = Value::from(&*profile.name);
    Value::hash(Hash::from_iter([("node", name), ("values", Value::hash(values)), ("errors", Value::hash(errors))]))
}

/// The functions of `functions.yaml`, with their values by name: those that Puppet has in the fixture's `lib`.
fn declared(tree: &dyn FileTree) -> Backends {
    let Ok(Target::File(_, id)) = follow(tree, "functions.yaml") else { return Backends::new() };
    let functions = yaml::parse(&tree.read(id).unwrap()).value;
    let values = |values: &Value| Declared::Values(Arc::new(values.as_hash().unwrap().clone()));
    functions.as_hash().unwrap().iter().map(|(name, all)| (name.as_str().unwrap().to_owned(), values(all))).collect()
}

/// Errors that must be Puppet's word for word.
const EXACT_TEXTS: [&str; 2] = ["eyaml backend error", "Undefined variable '"];

/// The difference between two answers of a node: values must be the same, and the same keys must fail; some in the same words.
fn difference(puppet: &Value, hierad: &Value, key: &str) -> Option<String> {
    let of = |answer: &Value| {
        let value = answer.get("values").and_then(|values| values.get(key)).map(json::compact);
        (value, answer.get("errors").and_then(|errors| errors.get(key)).map(json::compact))
    };
    let (mut ours, theirs) = (of(hierad), of(puppet));
    // Outside of the repository the paths are absolute.
    ours.1 = ours.1.map(|text| text.replace("/outside/", ""));
    // A value that JSON cannot hold is recorded in its written form, so compare the written forms.
    let ours_written = json::parse(ours.0.clone().unwrap_or_default().as_bytes()).value;
    let theirs_written = json::parse(theirs.0.clone().unwrap_or_default().as_bytes()).value;
    let same = ours_written == theirs_written
        && ours.0.is_some() == theirs.0.is_some()
        && ours.1.is_some() == theirs.1.is_some()
        && (ours.1 == theirs.1
            || !theirs.1.as_ref().is_some_and(|text| EXACT_TEXTS.iter().any(|exact| text.contains(exact))));
    (!same).then(|| format!("  {key}: Puppet says {theirs:?}, hierad says {ours:?}"))
}

fn check(topic: &Path, puppet: Puppet, field: &str) -> (usize, Vec<String>) {
    let recorded = json::parse(&fs::read(topic).unwrap());
    assert_eq!(recorded.fault, None, "{}", topic.display());
    let cases = recorded.value.as_array().unwrap();
    let mut failures = Vec::new();
    for case in cases.iter().map(Case).filter(|case| !DEPARTURES.contains(&case.text("name"))) {
        let name = format!("{}: {}", topic.file_stem().unwrap().to_str().unwrap(), case.text("name"));
        let differences = differences(&case, puppet, field);
        match UNKNOWN_YET.iter().find(|(unknown, _)| *unknown == name) {
            Some((_, reason)) if differences.is_empty() => {
                failures.push(format!("{name}: hierad answers it now, although {reason}: take it off the list"));
            }
            Some(_) if differences.iter().all(|difference| difference.contains("unknown to hierad: ")) => {}
            _ if differences.is_empty() => {}
            _ => failures.push(format!("{name} / {field}\n{}\n{}", differences.join("\n"), case.text("fixture"))),
        }
    }
    (cases.len(), failures)
}

fn differences(case: &Case<'_>, puppet: Puppet, field: &str) -> Vec<String> {
    let nodes = case.list(field).iter().zip(case.answers(puppet));
    let of_node = |(expected, answered): (&Value, Value)| {
        let keys = case.list("keys").iter().filter_map(Value::as_str);
        keys.filter_map(|key| difference(expected, &answered, key)).collect::<Vec<_>>()
    };
    nodes.flat_map(of_node).collect()
}

/// Error texts of Puppet's, and those that hierad has word for word; the others are printed for who looks for them.
fn texts(topic: &Path, puppet: Puppet, field: &str) -> (usize, usize) {
    let recorded = json::parse(&fs::read(topic).unwrap());
    let (mut all, mut same) = (0, 0);
    for case in recorded.value.as_array().unwrap().iter().map(Case) {
        for (expected, answered) in case.list(field).iter().zip(case.answers(puppet)) {
            for (key, text) in expected.get("errors").and_then(Value::as_hash).unwrap().iter() {
                let ours = answered.get("errors").and_then(|errors| errors.get(key.as_str().unwrap()));
                // Outside of the repository the paths are absolute.
                let ours = ours.map(|ours| Value::from(ours.as_str().unwrap().replace("/outside/", "")));
                all += 1;
                same += usize::from(ours.as_ref() == Some(text));
                if ours.as_ref() != Some(text) {
                    let name = format!("{} / {} / {}", topic.display(), case.text("name"), key.as_str().unwrap());
                    println!(
                        "{name}\n  Puppet: {}\n  hierad: {}",
                        json::compact(text),
                        ours.as_ref().map_or_else(String::new, json::compact)
                    );
                }
            }
        }
    }
    (all, same)
}

/// The topics' files.
fn topics() -> impl Iterator<Item = PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/lookup");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"))
}

fn check_all(puppet: Puppet, field: &str) {
    let mut cases = 0;
    let mut failures = Vec::new();
    for path in topics() {
        let (count, failed) = check(&path, puppet, field);
        cases += count;
        failures.extend(failed);
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

#[test]
fn error_texts_are_puppets() {
    let counts = topics().map(|topic| texts(&topic, Puppet::V8, "puppet8"));
    let (all, same) = counts.fold((0, 0), |(all, same), (more, equal)| (all + more, same + equal));
    println!("{same} of {all} texts are equal");
    assert!(same * 100 >= all * EQUAL_TEXTS, "only {same} of {all} error texts are Puppet's");
}
