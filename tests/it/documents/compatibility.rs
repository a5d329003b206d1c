//! The list in `docs/compatibility.md`: each entry has a check here, and each check has an entry.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hierad::fleet::{Fleet, Revision, resolve};
use hierad::hiera::layer::{Environment, EnvironmentOptions};
use hierad::hiera::{Outcome, Reader};
use hierad::node::NodeProfile;
use hierad::puppet::ErrorKind;
use hierad::puppet::json;
use hierad::tree::{Entry, MemoryTree};
use hierad::value::{Secrecy, Value};
use hierad::workers::Workers;

use super::pages::{page, root};

/// A proof that an entry is true.
enum Check {
    /// A recorded case in which Puppet, or Hiera 3, finds something: its topic and name. Other tests compare hierad
    /// with it.
    Recorded(&'static str, &'static str),
    /// A recorded document that can be read, and one that cannot.
    Read(&'static str),
    /// Recorded conversions to a type that succeed.
    Converts(&'static str),
    /// A repository in which the key `a` is an opaque secret.
    Opaque(&'static str),
    /// A repository in which hierad does not know the key `a`, and words of the error.
    Unknown(&'static str, &'static str),
    /// The same with an error of Puppet's.
    Fails(&'static str, &'static str),
    /// A repository with something that is told, by its code, in a text with these words.
    Told(&'static str, &'static str, &'static str),
}

use Check::{Converts, Fails, Opaque, Read, Recorded, Told, Unknown};

const SUPPORT: [&str; 3] = ["supported", "opaque", "not"];

const SURROGATES: &str = "-- hiera.yaml
version: 5
hierarchy: [{name: yaml, path: common.yaml}, {name: hocon, path: x.conf, data_hash: hocon_data}]
-- data/common.yaml
a: [x]
lookup_options: {a: {merge: {strategy: deep, knockout_prefix: '--'}}}
-- data/x.conf
a: [\"\\ud83d\\ude00\"]
";
const LINK: &str = "-- hiera.yaml\nversion: 5\n-- data/common.yaml -> /etc/hosts\n";
const DATADIR: &str = "-- hiera.yaml\nversion: 5\ndefaults: {datadir: /srv/data, data_hash: yaml_data}\n";
const SUBMODULE: &str = "-- hiera.yaml\nversion: 5\ndefaults: {datadir: submodule, data_hash: yaml_data}\n";
const HOCON: &str =
    "-- hiera.yaml\nversion: 5\nhierarchy: [{name: h, data_hash: hocon_data, path: h.conf}]\n-- data/h.conf\n";
const EYAML: &str = "-- hiera.yaml\nversion: 5\nhierarchy: [{name: e, lookup_key: eyaml_lookup_key, path: e.yaml, options: {pkcs7_private_key: /no, pkcs7_public_key: /no}}]\n-- data/e.yaml\n";
const CONVERT: &str = "-- hiera.yaml\nversion: 5\n-- data/common.yaml\na: 1\nlookup_options: {a: {convert_to: ";

/// Row, column, entry, check.
const CHECKS: &[(&str, &str, &str, Check)] = &[
    ("hiera.yaml", "supported", "version 5", Recorded("lookup/config", "version 5 alone")),
    ("hiera.yaml", "supported", "version 4", Recorded("lookup/config", "version 4 with a hierarchy")),
    ("hiera.yaml", "supported", "version 3 by itself, as Hiera 3.10 reads it", Recorded("hiera3/config", "version 3")),
    ("hiera.yaml", "supported", "version 3 in the global layer", Recorded("lookup/version3", "all layers")),
    (
        "hiera.yaml",
        "not",
        "other backends of Hiera 3",
        Unknown(
            "-- hiera.yaml\n:backends: redis\n:hierarchy: [common]\n-- hieradata/common.yaml\na: 1\n",
            "the backend 'redis'",
        ),
    ),
    ("functions", "supported", "`yaml_data`", Recorded("lookup/paths", "paths")),
    (
        "functions",
        "supported",
        "`json_data`",
        Recorded("lookup/spec_global", "version 5 with a datadir, yaml and json"),
    ),
    ("functions", "supported", "`hocon_data`", Recorded("lookup/hocon", "a level of hocon_data")),
    ("functions", "supported", "`eyaml_lookup_key`", Recorded("lookup/eyaml", "blocks in texts")),
    (
        "functions",
        "supported",
        "those that `backends` declares",
        Recorded("lookup/functions", "a data_hash is interpolated"),
    ),
    (
        "functions",
        "not",
        "all others",
        Fails(
            "-- hiera.yaml\nversion: 5\nhierarchy: [{name: v, lookup_key: hiera_vault}, {name: c, path: common.yaml}]\n-- data/common.yaml\na: 1\n",
            "Unable to find 'lookup_key' function named 'hiera_vault'",
        ),
    ),
    ("layers", "supported", "global", Recorded("lookup/layers", "the first layer that has a key counts")),
    ("layers", "supported", "environment", Recorded("lookup/spec_lookup", "data of the environment")),
    (
        "layers",
        "supported",
        "several environments in one repository",
        Recorded("lookup/environments", "modules are those of the environment"),
    ),
    (
        "layers",
        "supported",
        "modules of the `modulepath`",
        Recorded("lookup/modules", "modulepath in environment.conf"),
    ),
    (
        "layers",
        "supported",
        "modules outside of the repository",
        Recorded("lookup/basemodules", "a module outside of the repository"),
    ),
    ("layers", "supported", "`default_hierarchy`", Recorded("lookup/defaults", "only where all layers have nothing")),
    (
        "layers",
        "not",
        "modules that only a Puppetfile or `.fixtures.yml` names",
        Told(
            "-- hiera.yaml\nversion: 5\n-- Puppetfile\nmod 'puppetlabs/ntp', '1.0.0'\n-- data/common.yaml\nntp::servers: []\n",
            "absent-module",
            "module ntp",
        ),
    ),
    (
        "layers",
        "not",
        "the old data provider `function`",
        Unknown(
            "-- environment.conf\nenvironment_data_provider = function\n-- data/common.yaml\na: 1\n",
            "the data provider 'function'",
        ),
    ),
    ("locations", "supported", "`path`", Recorded("lookup/levels", "one level of one file")),
    ("locations", "supported", "`paths`", Recorded("lookup/paths", "paths")),
    ("locations", "supported", "`glob`", Recorded("lookup/paths", "a glob's order")),
    ("locations", "supported", "`globs`", Recorded("lookup/paths", "globs in order")),
    ("locations", "supported", "`uri`", Recorded("lookup/functions", "uris and paths that are not there")),
    ("locations", "supported", "`uris`", Recorded("lookup/functions", "uris and paths that are not there")),
    ("locations", "supported", "`mapped_paths`", Recorded("lookup/paths", "mapped paths over a list")),
    ("locations", "supported", "`datadir`", Recorded("lookup/paths", "datadirs")),
    ("locations", "supported", "links", Recorded("lookup/paths", "links to files and folders")),
    ("locations", "not", "links that leave the repository", Told(LINK, "outside-repository", "taken as absent")),
    (
        "locations",
        "not",
        "absolute datadirs that the settings do not map",
        Told(DATADIR, "outside-repository", "is an absolute path"),
    ),
    ("locations", "not", "submodules without a clone", Told(SUBMODULE, "outside-repository", "is another repository")),
    ("data", "supported", "YAML as Ruby's Psych reads it, down to its messages", Read("yaml.ndjson")),
    ("data", "supported", "JSON", Read("json.ndjson")),
    ("data", "supported", "HOCON as the gem `hocon` 1.3.1 reads it, mistakes included", Read("hocon.ndjson")),
    (
        "data",
        "not",
        "HOCON that reads an environment variable (upper-case name)",
        Unknown("a: ${HOME}\n", "environment variable"),
    ),
    (
        "data",
        "not",
        "HOCON that includes a file of the server",
        Unknown("include file(\"/etc/x.conf\")\na: 1\n", "include"),
    ),
    ("merging", "supported", "`first`", Recorded("lookup/merge", "one level has the key")),
    ("merging", "supported", "`unique`", Recorded("lookup/merge", "unique flattens and compares")),
    ("merging", "supported", "`hash`", Recorded("lookup/merge", "two levels, disjoint hashes")),
    ("merging", "supported", "`deep` with all options", Recorded("lookup/merge", "all options together")),
    ("merging", "supported", "`lookup_options` by name", Recorded("lookup/options", "by name")),
    ("merging", "supported", "`lookup_options` by pattern", Recorded("lookup/options", "regular expressions")),
    (
        "merging",
        "not",
        "a knock-out prefix over halves of characters, as escapes in HOCON make them",
        Unknown(SURROGATES, "a text with surrogates"),
    ),
    ("interpolation", "supported", "variables", Recorded("lookup/interpolation", "plain variables")),
    ("interpolation", "supported", "`lookup`", Recorded("lookup/interpolation", "methods")),
    ("interpolation", "supported", "`hiera`", Recorded("lookup/interpolation", "methods")),
    ("interpolation", "supported", "`alias`", Recorded("lookup/interpolation", "alias")),
    ("interpolation", "supported", "`literal`", Recorded("lookup/interpolation", "scope and literal")),
    ("interpolation", "supported", "`scope`", Recorded("lookup/interpolation", "scope and literal")),
    ("interpolation", "supported", "dotted keys", Recorded("lookup/spec_interpolation", "dotted keys of data")),
    ("interpolation", "supported", "recursion, caught", Recorded("lookup/interpolation", "recursion")),
    (
        "interpolation",
        "not",
        "variables that only the Puppet server sets",
        Unknown("-- hiera.yaml\nversion: 5\n-- data/common.yaml\na: '%{serverip}'\n", "is set by the Puppet server"),
    ),
    (
        "interpolation",
        "not",
        "bytes of `!binary` that are not ASCII, where they have an expression or are joined with letters beyond ASCII",
        Unknown(
            "-- hiera.yaml\nversion: 5\n-- data/common.yaml\na: \"é%{lookup('b')}\"\nb: !binary w6k=\n",
            "bytes without an encoding",
        ),
    ),
    ("`convert_to`", "supported", "`Integer`", Converts("Integer")),
    ("`convert_to`", "supported", "`Float`", Converts("Float")),
    ("`convert_to`", "supported", "`Numeric`", Converts("Numeric")),
    ("`convert_to`", "supported", "`Boolean`", Converts("Boolean")),
    ("`convert_to`", "supported", "`String` with formats", Converts("String")),
    ("`convert_to`", "supported", "`Array`", Converts("Array")),
    ("`convert_to`", "supported", "`Hash`", Converts("Hash")),
    ("`convert_to`", "supported", "`Tuple`", Converts("Tuple")),
    ("`convert_to`", "supported", "`Struct`", Converts("Struct")),
    ("`convert_to`", "supported", "`Sensitive`", Converts("Sensitive")),
    ("`convert_to`", "supported", "`Timestamp`", Converts("Timestamp")),
    ("`convert_to`", "supported", "`Timespan`", Converts("Timespan")),
    ("`convert_to`", "supported", "`SemVer`", Converts("SemVer")),
    ("`convert_to`", "supported", "`SemVerRange`", Converts("SemVerRange")),
    ("`convert_to`", "supported", "`Regexp`", Converts("Regexp")),
    ("`convert_to`", "supported", "`Binary`", Converts("Binary")),
    ("`convert_to`", "supported", "`URI`", Converts("URI")),
    ("`convert_to`", "supported", "`Optional`", Converts("Optional")),
    ("`convert_to`", "supported", "`NotUndef`", Converts("NotUndef")),
    ("`convert_to`", "supported", "`Variant`", Converts("Variant")),
    ("`convert_to`", "supported", "`Enum`", Converts("Enum")),
    ("`convert_to`", "supported", "`Pattern`", Converts("Pattern")),
    ("`convert_to`", "supported", "`Init`", Converts("Init")),
    ("`convert_to`", "not", "types of modules (`.pp` files)", Unknown("Stdlib::Port", "the data type 'Stdlib::Port'")),
    (
        "`convert_to`",
        "not",
        "types that the expression itself defines, with `Object` or `TypeSet`",
        Unknown("Object[{name => 'X', attributes => {a => Integer}}]", "the definition of a type by 'Object'"),
    ),
    (
        "`convert_to`",
        "not",
        "times more than 5·10²¹ years away",
        Unknown("Timestamp[1000000000000000000000000000000]", "a time that many ages away"),
    ),
    (
        "`convert_to`",
        "not",
        "time zones of 24 hours, or with 60 minutes or seconds",
        Unknown(
            "-- hiera.yaml\nversion: 5\n-- data/common.yaml\nlookup_options: {a: {convert_to: [Timestamp, '%F %T %z']}}\n\
             a: '2020-01-01 00:00:00 -23:59:60'\n",
            "the time zone",
        ),
    ),
    ("eyaml", "supported", "PKCS7 with the ciphers that `eyaml` writes", Recorded("lookup/eyaml", "ciphers and forms")),
    ("eyaml", "opaque", "PKCS7 without a key", Opaque("a: ENC[PKCS7,MIIBeQ==]\n")),
    ("eyaml", "opaque", "GPG and other methods", Opaque("a: ENC[GPG,hQEMA==]\n")),
    (
        "eyaml",
        "opaque",
        "what an encrypted value decides",
        Opaque("a: ENC[PKCS7,MIIBeQ==]\nlookup_options: {a: {convert_to: Integer}}\n"),
    ),
];

#[test]
fn each_entry_of_the_list_is_checked() {
    let written = entries();
    let checked: BTreeSet<[String; 3]> =
        CHECKS.iter().map(|(row, column, entry, _)| [row, column, entry].map(|text| (*text).to_owned())).collect();
    assert_eq!(checked.len(), CHECKS.len(), "an entry is checked twice");
    let unchecked: Vec<_> = written.difference(&checked).collect();
    let unwritten: Vec<_> = checked.difference(&written).collect();
    assert!(unchecked.is_empty() && unwritten.is_empty(), "unchecked: {unchecked:#?}\nnot in the list: {unwritten:#?}");
    let failed =
        CHECKS.iter().filter_map(|(row, _, entry, check)| Some(format!("{row}: {entry}: {}", check.run(row).err()?)));
    let failed: Vec<String> = failed.collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Returns the entries of the list: area, support and text.
fn entries() -> BTreeSet<[String; 3]> {
    let page = page("docs/compatibility.md");
    let list = page.lines().skip_while(|line| !line.starts_with("- **")).take_while(|line| !line.is_empty());
    let mut items: Vec<(&str, String)> = Vec::new();
    let mut area = "";
    for line in list {
        if let Some(name) = line.strip_prefix("- **") {
            area = name.trim_end_matches("**");
        } else if let Some(item) = line.strip_prefix("  - ") {
            items.push((area, item.to_owned()));
        } else {
            let (_, item) = items.last_mut().unwrap();
            item.push(' ');
            item.push_str(line.trim_start());
        }
    }
    let mut found = BTreeSet::new();
    for (area, item) in items {
        let (support, entries) = item.split_once(": ").unwrap();
        assert!(SUPPORT.contains(&support), "{area}: {support}");
        found.extend(entries.split("; ").map(|entry| [area, support, entry].map(str::to_owned)));
    }
    assert!(found.len() > 50, "{found:#?}");
    found
}

impl Check {
    fn run(&self, row: &str) -> Result<(), String> {
        match self {
            Recorded(topic, name) => recorded(topic, name),
            Read(file) => read(file),
            Converts(kind) => converts(kind),
            Opaque(data) => match outcome(&format!("{EYAML}{data}")) {
                Some(Outcome::Found(value)) if value.secrecy().is_some_and(Secrecy::is_opaque) => Ok(()),
                other => Err(format!("{other:?}")),
            },
            Unknown(text, words) => match outcome(&repository(row, text)) {
                Some(Outcome::Failed(error)) if error.kind == ErrorKind::Unknown && error.text.contains(words) => {
                    Ok(())
                }
                other => Err(format!("{other:?}")),
            },
            Fails(fixture, words) => match outcome(fixture) {
                Some(Outcome::Failed(error)) if error.text.contains(words) => Ok(()),
                other => Err(format!("{other:?}")),
            },
            Told(fixture, code, words) => told(fixture, code, words),
        }
    }
}

/// Returns the repository that a check means: what is not one is the part of one that its row is about.
fn repository(row: &str, text: &str) -> String {
    match row {
        _ if text.starts_with("-- ") => text.to_owned(),
        "data" => format!("{HOCON}{text}"),
        "eyaml" => format!("{EYAML}{text}"),
        _ => format!("{CONVERT}\"{text}\"}}}}\n"),
    }
}

fn recorded(topic: &str, name: &str) -> Result<(), String> {
    let cases = crate::support::recorded::cases(&vectors().join(format!("{topic}.json")));
    let named = |case: &&Value| case.get("name").and_then(Value::as_str) == Some(name);
    let case = cases.iter().find(named).ok_or("no such case")?;
    let answers = case.get("puppet8").or(case.get("priority")).and_then(Value::as_array).ok_or("no answers")?;
    let finds = |answer: &Value| answer.get("values").and_then(Value::as_hash).is_some_and(|values| !values.is_empty());
    if answers.iter().any(finds) { Ok(()) } else { Err("nothing is found".to_owned()) }
}

fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| json::parse(line.as_bytes()).value).collect()
}

fn read(file: &str) -> Result<(), String> {
    let records = lines(&vectors().join(file));
    let (failed, read): (Vec<_>, Vec<_>) = records.iter().partition(|record| record.get("error").is_some());
    if failed.is_empty() || read.is_empty() { Err("too few documents".to_owned()) } else { Ok(()) }
}

fn converts(kind: &str) -> Result<(), String> {
    let is_of_kind = |record: &Value| {
        let written = record.get("convert_to").or(record.get("type"));
        let written = written.and_then(|written| written.as_array().map_or(Some(written), |items| items.first()));
        let rest = written.and_then(Value::as_str).and_then(|text| text.strip_prefix(kind));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
    };
    let succeeds = |record: &Value| {
        record.get("puppet8").or(record.get("puppet")).is_some_and(|answer| answer.get("value").is_some())
    };
    let folder = fs::read_dir(vectors().join("convert")).unwrap().map(|entry| entry.unwrap().path());
    let files = folder.filter(|path| path.extension().is_some_and(|extension| extension == "ndjson"));
    let found = files.flat_map(|path| lines(&path)).any(|record| is_of_kind(&record) && succeeds(&record));
    if found { Ok(()) } else { Err("no recorded conversion succeeds".to_owned()) }
}

fn load(fixture: &str) -> Revision {
    let fleet =
        Fleet::new(vec![NodeProfile { name: "n".into(), environment: "production".into(), ..NodeProfile::default() }]);
    let mut tree = MemoryTree::from_fixture(fixture);
    tree.insert("submodule", Entry::Submodule(None));
    let options = EnvironmentOptions { reader: Reader::Auto, ..EnvironmentOptions::default() };
    let environment = Environment::load(Arc::new(tree), options, Arc::default()).unwrap();
    Revision::new(environment, Arc::new(fleet), &Workers::of(1)).unwrap()
}

/// Returns the answer for the key `a`.
fn outcome(fixture: &str) -> Option<Outcome> {
    let revision = load(fixture);
    let work = revision.fleet.everywhere([&"a".into()]);
    let effective = resolve(&revision, &work, &Workers::of(1));
    effective.keys.get("a").and_then(|answers| answers.first()).map(|answer| (*answer.outcome).clone())
}

fn told(fixture: &str, code: &str, words: &str) -> Result<(), String> {
    let revision = load(fixture);
    let found = revision.findings.iter().map(|finding| &finding.diagnostic);
    let all: Vec<_> = revision.environment.diagnostics.iter().chain(found).collect();
    let is_told = all.iter().any(|diagnostic| diagnostic.code == code && diagnostic.text.contains(words));
    if is_told { Ok(()) } else { Err(format!("{all:?}")) }
}

fn vectors() -> PathBuf {
    root().join("tests/vectors")
}
