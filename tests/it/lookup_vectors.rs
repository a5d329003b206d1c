//! Lookups against the answers of the real Puppet 7 and 8 in `tests/vectors/lookup`, recorded by
//! `tests/puppet/record_lookup.rb`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::support::keys::{TestKeys, all_keys};
use crate::support::recorded;
use hierad::disclosure::Disclosure;
use hierad::fleet::{Fleet, Revision, resolve};
use hierad::hiera::Outcome;
use hierad::hiera::backend::{Backends, DeclaredFunction};
use hierad::hiera::layer::{Environment, EnvironmentOptions, GlobalConfig, HIERA_YAML, VariableText};
use hierad::hiera::lookup::{Lookup, NodeSources};
use hierad::hiera::merge::Strategy;
use hierad::hiera::options::LookupOptions;
use hierad::hiera::scope::NodeScope;
use hierad::node::{NodeProfile, read_profiles};
use hierad::puppet::regex::Regexes;
use hierad::puppet::{Puppet, Ruby};
use hierad::puppet::{json, yaml};
use hierad::tree::{FileTree, MemoryTree, MountedTree, Target, follow};
use hierad::value::{Hash, Value};
use hierad::workers::Workers;

/// Cases in which hierad departs from Puppet on purpose. Puppet's deep merge empties a text in its cache of parsed
/// files, so its answer depends on earlier lookups. hierad answers as Puppet does when it is asked for nothing else.
const DEPARTURES: [&str; 3] = [
    "a text shared by an anchor is cleared for both",
    "an emptied text stays empty for other nodes",
    "a key looked up before is not emptied",
];

/// The folder of a case's files outside of the repository.
const OUTSIDE: &str = "/outside";

/// Cases that hierad answers with "unknown" yet, by the name of the case, with the reason. Here each of them must
/// differ.
const UNKNOWN_YET: [(&str, &str); 1] = [(
    "eyaml: knock-outs that one lookup comes to twice",
    "the second time Puppet merges what the first merge has left in its cache",
)];

/// One recorded case.
pub(crate) struct Case<'a>(pub(crate) &'a Value);

impl Case<'_> {
    pub(crate) fn text(&self, field: &str) -> &str {
        self.0.get(field).and_then(Value::as_str).unwrap_or_else(|| panic!("a case without {field}"))
    }

    /// Its topic and its name.
    fn title(&self, topic: &Path) -> String {
        format!("{}: {}", topic.file_stem().unwrap().to_str().unwrap(), self.text("name"))
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

    /// The variables that hierad gets as settings in place of a manifest.
    fn variables(&self) -> Arc<[VariableText]> {
        let Some(text) = self.0.get("variables").and_then(Value::as_str) else { return Arc::default() };
        let variables = json::parse(text.as_bytes()).value;
        let texts =
            variables.as_hash().unwrap().iter().map(|(name, text)| [name, text].map(|one| one.as_str().unwrap()));
        texts.map(|[name, text]| VariableText { name: name.into(), text: text.into() }).collect()
    }

    /// The repository, and what lies outside of it: there it is the same files with absolute paths.
    pub(crate) fn repository(&self, puppet: Puppet) -> (Arc<dyn FileTree>, EnvironmentOptions) {
        self.repository_on(puppet, puppet.ruby())
    }

    fn repository_on(&self, puppet: Puppet, ruby: Ruby) -> (Arc<dyn FileTree>, EnvironmentOptions) {
        let (fixture, lookup_options) = self.settings();
        let tree: Arc<dyn FileTree> = Arc::new(MemoryTree::from_fixture(&fixture));
        let disk: Arc<dyn FileTree> = Arc::new(MountedTree::new(OUTSIDE, tree.clone()));
        let hiera_config = self.0.get("hiera_config").and_then(Value::as_str).unwrap_or(HIERA_YAML).to_owned();
        let outside = |field| self.0.get(field).and_then(Value::as_str).map(|path| format!("{OUTSIDE}/{path}"));
        let options = EnvironmentOptions {
            puppet,
            ruby,
            hiera_config,
            lookup_options,
            variables: self.variables(),
            global: outside("global").map(|path| GlobalConfig { tree: Some(disk.clone()), path }),
            basemodulepath: outside("basemodulepath").into_iter().collect(),
            disk,
            eyaml: all_keys(),
            host: Arc::new(TestKeys),
            backends: declared(&*tree),
            ..EnvironmentOptions::default()
        };
        (tree, options)
    }

    /// Returns hierad's answers in the form of the recorded ones.
    fn answers(&self, puppet: Puppet) -> Vec<Value> {
        self.answers_on(puppet, puppet.ruby())
    }

    fn answers_on(&self, puppet: Puppet, ruby: Ruby) -> Vec<Value> {
        let (tree, options) = self.repository_on(puppet, ruby);
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
            let environment = environment.for_scope(&scope);
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
    let values = |values: &Value| DeclaredFunction::Values(Arc::new(values.as_hash().unwrap().clone()));
    functions.as_hash().unwrap().iter().map(|(name, all)| (name.as_str().unwrap().to_owned(), values(all))).collect()
}

/// Returns the difference between two answers of a node: other values, or only one fails.
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
        && ours.1.is_some() == theirs.1.is_some();
    (!same).then(|| format!("  {key}: Puppet says {theirs:?}, hierad says {ours:?}"))
}

fn check(topic: &Path, puppet: Puppet, field: &str) -> (usize, Vec<String>) {
    let cases = recorded::cases(topic);
    let mut failures = Vec::new();
    for case in cases.iter().map(Case).filter(|case| !DEPARTURES.contains(&case.text("name"))) {
        let name = case.title(topic);
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

/// Error texts by case, key and node.
type Texts = BTreeMap<String, BTreeMap<(String, String), String>>;

/// Returns the error texts of a topic that are not Puppet's.
fn own_texts(topic: &Path, puppet: Puppet, field: &str) -> Texts {
    let mut texts = Texts::new();
    for case in recorded::cases(topic).iter().map(Case) {
        let name = case.title(topic);
        for (recorded, answered) in case.list(field).iter().zip(case.answers(puppet)) {
            let errors = |node: &Value| node.get("errors").and_then(Value::as_hash).unwrap().clone();
            let ours = errors(&answered);
            for (key, text) in errors(recorded).iter() {
                // Files outside of the repository have absolute paths here, those of an environment its folder.
                let own = ours.get(key.as_str().unwrap()).map(|own| own.as_str().unwrap().replace("/outside/", ""));
                let own = own.map(|own| own.replace("environments/development/", ""));
                if let Some(own) = own.filter(|own| Some(&**own) != text.as_str()) {
                    let place = (recorded.get("node").unwrap(), key);
                    let [node, key] = [place.0, place.1].map(|text| text.as_str().unwrap().to_owned());
                    texts.entry(name.clone()).or_default().insert((key, node), own);
                }
            }
        }
    }
    texts
}

/// Reads the list of error texts that are not Puppet's on purpose: by case the reason, and by text the keys that have
/// it, on all nodes on which they fail.
fn listed_texts(version: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/error_texts.yaml");
    let list = yaml::parse(&fs::read(path).unwrap()).value;
    let case = |(name, case): (&Value, &Value)| {
        let name = name.as_str().unwrap().to_owned();
        assert!(case.get("because").and_then(Value::as_str).is_some(), "{name} has no reason");
        let mut texts = BTreeMap::new();
        for (text, keys) in case.get("texts").and_then(Value::as_hash).unwrap().iter() {
            for key in keys.as_array().unwrap() {
                texts.insert(key.as_str().unwrap().to_owned(), text.as_str().unwrap().to_owned());
            }
        }
        (name, texts)
    };
    let is_of_version = |case: &Value| case.get("only").is_none_or(|only| only.as_str() == Some(version));
    list.as_hash().unwrap().iter().filter(|(_, case)| is_of_version(case)).map(case).collect()
}

/// Checks that the error texts that are not Puppet's are those of the list, no more and no fewer.
fn check_texts(puppet: Puppet, field: &str) {
    let mut listed = listed_texts(field);
    let mut wrong = Vec::new();
    for (case, texts) in recorded::topics().flat_map(|topic| own_texts(&topic, puppet, field)) {
        let listed = listed.remove(&case).unwrap_or_default();
        let keys: BTreeSet<&String> = texts.keys().map(|(key, _)| key).collect();
        let not_needed = listed.keys().filter(|key| !keys.contains(key));
        wrong.extend(not_needed.map(|key| format!("{case} / {key}: the text is Puppet's")));
        let not_listed = texts.iter().filter(|((key, _), text)| listed.get(key) != Some(*text));
        wrong.extend(not_listed.map(|((key, node), text)| format!("{case} / {key} on {node}: {text:?}")));
    }
    wrong.extend(listed.keys().map(|case| format!("{case}: all texts are Puppet's")));
    assert!(wrong.is_empty(), "{} error texts are not as listed:\n{}", wrong.len(), wrong.join("\n"));
}

fn check_all(puppet: Puppet, field: &str) {
    let mut cases = 0;
    let mut failures = Vec::new();
    for path in recorded::topics() {
        let (count, failed) = check(&path, puppet, field);
        cases += count;
        failures.extend(failed);
    }
    assert!(cases > 250, "only {cases} cases");
    assert!(failures.is_empty(), "{} of {cases} cases differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn answers_are_those_of_puppet_7() {
    check_all(Puppet::V7, "puppet7");
}

#[test]
fn answers_are_those_of_puppet_8() {
    check_all(Puppet::V8, "puppet8");
}

#[test]
fn error_texts_are_those_of_puppet_7() {
    check_texts(Puppet::V7, "puppet7");
}

#[test]
fn error_texts_are_those_of_puppet_8() {
    check_texts(Puppet::V8, "puppet8");
}

/// The answers of OpenVox 9 that are others than those of Puppet 8, by node and key, as `record_openvox.rb` wrote them.
fn of_openvox<'r>(recorded: &'r Value, case: &str) -> BTreeMap<(&'r str, &'r str), &'r Value> {
    let answers = recorded.get(case).and_then(Value::as_array).into_iter().flatten();
    let parts = answers.filter_map(|answer| <&[Value; 3]>::try_from(answer.as_array()?).ok());
    parts.map(|[node, key, answer]| ((node.as_str().unwrap(), key.as_str().unwrap()), answer)).collect()
}

/// Returns the difference between OpenVox's answer, `{"value": V}`, `{"error": TEXT}` or `{}`, and hierad's.
fn difference_to_openvox(answer: &Value, hierad: &Value, key: &str) -> Option<String> {
    let ours = |field| hierad.get(field).and_then(|all| all.get(key));
    let (value, error) = (ours("values"), ours("errors"));
    let written = |value: Option<&Value>| value.map(json::compact);
    // Files outside of the repository have absolute paths here.
    let error = error.map(|text| text.to_s().replace("/outside/", ""));
    let same = written(answer.get("value")) == written(value)
        && answer.get("error").is_some() == error.is_some()
        && answer.get("error").is_none_or(|text| !text.to_s().contains("OpenVox") || Some(text.to_s()) == error);
    (!same).then(|| format!("  {key}: OpenVox says {answer:?}, hierad says {value:?} {error:?}"))
}

/// Returns what differs from the answers of a Ruby that were recorded, or else from those of Puppet 8.
fn differences_on(ruby: &str, puppet: Puppet, is_asked: impl Fn(&str) -> bool) -> Vec<String> {
    let all = json::parse(include_bytes!("../vectors/openvox.json")).value;
    let (recorded, version) = (all.get(ruby).unwrap(), Ruby::of_version(ruby).unwrap());
    let mut failures = Vec::new();
    for topic in recorded::topics().filter(|topic| is_asked(&topic.file_stem().unwrap().to_string_lossy())) {
        let cases = recorded::cases(&topic);
        for case in cases.iter().map(Case).filter(|case| !DEPARTURES.contains(&case.text("name"))) {
            let title = case.title(&topic);
            let others = of_openvox(recorded, &title);
            let nodes = case.list("puppet8").iter().zip(case.answers_on(puppet, version));
            let differences = nodes.flat_map(|(puppet, hierad)| {
                let node = puppet.get("node").and_then(Value::as_str).unwrap();
                let keys = case.list("keys").iter().filter_map(Value::as_str);
                let of_key = |key| match others.get(&(node, key)) {
                    Some(answer) => difference_to_openvox(answer, &hierad, key),
                    None => difference(puppet, &hierad, key),
                };
                keys.filter_map(of_key).collect::<Vec<_>>()
            });
            let is_unknown_yet = UNKNOWN_YET.iter().any(|(unknown, _)| *unknown == title);
            let differences = differences.filter(|text| !(is_unknown_yet && text.contains("unknown to hierad: ")));
            failures.extend(differences.map(|difference| format!("Ruby {ruby}: {title}\n{difference}")));
        }
    }
    failures
}

#[test]
fn answers_are_those_of_openvox_9_on_ruby_3_3_and_3_4() {
    let on = |ruby| differences_on(ruby, Puppet::V9, |topic| !topic.starts_with("eyaml"));
    let failures: Vec<String> = ["3.3", "3.4"].into_iter().flat_map(on).collect();
    assert!(failures.is_empty(), "{} answers differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn floats_and_uris_are_those_of_servers_on_jruby() {
    let failures = differences_on("jruby-9.4", Puppet::V8, |topic| ["floats", "uris"].contains(&topic));
    assert!(failures.is_empty(), "{} answers differ:\n{}", failures.len(), failures.join("\n"));
}
