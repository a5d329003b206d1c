//! Nothing that hierad writes depends on a plaintext, but for which secrets of one key are equal.
//!
//! Two repositories differ in nothing but the plaintexts of their secrets. Each form of output must read the same for
//! both, once their fingerprints are numbered in the order in which they come.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value as Json, json};

use crate::support::Sandbox;
use crate::support::extent::full_or;
use crate::support::keys::{encrypted, key_file};
use crate::support::random::Random;
use crate::support::terminal::hierad;

/// Secrets, and others of which everything that a conversion, a pattern or a merge could ask has another answer.
const PLAINTEXTS: [[&str; 2]; 19] = [
    ["hunter2", "correct horse battery"],
    ["5", "five"],
    ["true", "7.5"],
    ["--x", "x"],
    ["a,b,c", "abc"],
    ["", "something"],
    ["1.2.3", "no version"],
    ["2026-01-01", "never"],
    ["line\n", "one\ntwo\n"],
    ["public", "nowhere"],
    ["web01", "web02"],
    ["/etc/passwd", "https://user:pass@host/"],
    ["!", "~zzz"],
    ["[1, 2]", "\u{e9}\u{1F600}"],
    // Expressions are not looked at.
    ["%{facts.role}", "%{facts.none}"],
    ["%{trusted.certname}", "web01"],
    ["a %{lookup('k0')} b", "a %{lookup('missing')} b"],
    ["%{alias('k1')}", "%{nothing('k1')}"],
    ["%{literal('%')}{facts.role}", "%{"],
];

const RUNS: [&str; 18] = [
    "diff",
    "diff --full",
    "diff --exit-code HEAD .",
    "diff --format json",
    "diff --format json --full",
    "diff --format markdown",
    "diff HEAD HEAD~1 --format json",
    "render --format json",
    "render --format ndjson",
    "render --format yaml HEAD~1",
    "lookup KEY --node web01",
    "lookup KEY --node db01 --render-as json",
    "lookup KEY --node web01 --explain",
    "lookup KEY --node db01 --explain-options",
    "lookup KEY --node db01 --merge unique",
    "lookup KEY --node web01 --merge deep --knock-out-prefix=--",
    "lookup KEY --node db01 --type Pattern[/^h/]",
    "check --format json",
];

#[test]
fn nothing_depends_on_a_plaintext() {
    (0..full_or(4, 1)).for_each(compare);
}

/// All pairs of plaintexts with all conversions: some minutes.
#[test]
#[ignore = "takes minutes"]
fn nothing_depends_on_fifty_plaintexts() {
    (100..150).for_each(compare);
}

fn compare(seed: u64) {
    let [first, second] = [0, 1].map(|side| Twin::new(seed, side));
    let mut stand_ins = 0;
    for (at, run) in RUNS.into_iter().enumerate() {
        let of_keys = run.contains("KEY");
        let keys: Vec<String> = if of_keys { first.keys.clone() } else { vec![String::new()] };
        let (start, step) = if of_keys { full_or((0, 5), (at % 3, 4)) } else { (0, 1) };
        for key in keys.iter().skip(start).step_by(step) {
            let arguments = run.replace("KEY", key);
            let [a, b] = [&first, &second].map(|twin| twin.written(&arguments));
            assert!(a == b, "seed {seed}: {arguments} depends on a plaintext\n{}", difference(&a, &b));
            stand_ins += a.matches('#').count();
        }
    }
    assert!(stand_ins > 200 || seed % 4 == 3, "seed {seed}: {stand_ins} stand-ins are hardly any");
}

/// One of two repositories.
struct Twin {
    sandbox: Sandbox,
    keys: Vec<String>,
}

impl Twin {
    fn new(seed: u64, side: usize) -> Twin {
        let mut tree = Dice::new(seed, side);
        let keys: Vec<String> = (0..Dice::conversions().len()).map(|n| format!("k{n}")).collect();
        let sandbox = Sandbox::new();
        sandbox.write(".git/hierad.yaml", "profiles: [../profiles]\n");
        sandbox.write("profiles/web01.yaml", "{name: web01, facts: {role: web}}\n");
        sandbox.write("profiles/db01.yaml", "{name: db01, facts: {role: db}}\n");
        sandbox.write("hiera.yaml", HIERA);
        for commit in ["first", "second"] {
            for (path, file) in tree.files(&keys) {
                sandbox.write(&path, file.to_string());
            }
            sandbox.commit(commit);
        }
        Twin { sandbox, keys }
    }

    /// Returns all that a run writes, with names of commits left out and fingerprints numbered.
    fn written(&self, arguments: &str) -> String {
        static FINGERPRINT: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"(?:(?:<|&#60;)[a-z]+ |hmac-sha256:)([0-9a-f]{8})(?:[0-9a-f]{24})?").unwrap());
        let mut command = hierad(self.sandbox.root());
        command.args(arguments.split_whitespace());
        command.arg("--pkcs7-private-key").arg(key_file("default.key.pem"));
        command.arg("--pkcs7-public-key").arg(key_file("default.pub.pem"));
        command.env("HIERAD_FINGERPRINT_KEY", "5a".repeat(32));
        let output = command.output().unwrap();
        let mut text = format!("{:?}\n", output.status.code());
        text.push_str(&String::from_utf8(output.stdout).unwrap());
        text.push_str(&String::from_utf8(output.stderr).unwrap());
        assert!(!text.contains("panicked") && !text.contains("SECRET["), "{arguments}: {text}");
        for (name, revision) in [("before", "HEAD~1"), ("after", "HEAD")] {
            let id = self.sandbox.id(revision).to_string();
            text = text.replace(&id, name).replace(&id[..8], name);
        }
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let numbered = FINGERPRINT.replace_all(&text, |found: &regex::Captures<'_>| {
            let next = numbers.len();
            format!("#{}", numbers.entry(found[1].to_owned()).or_insert(next))
        });
        numbered.into_owned()
    }
}

const HIERA: &str = "\
version: 5
hierarchy:
  - {name: Node, path: 'nodes/%{trusted.certname}.eyaml', lookup_key: eyaml_lookup_key}
  - {name: Secrets, path: common.eyaml, lookup_key: eyaml_lookup_key}
  - {name: Common, path: common.yaml}
";

/// Makes a tree of a seed. All that is not a plaintext is the same on both sides.
struct Dice {
    random: Random,
    /// The plaintexts of this side.
    plaintexts: [String; 3],
    /// True if `lookup_options` refer to secrets.
    is_spoilt: bool,
}

impl Dice {
    fn new(seed: u64, side: usize) -> Dice {
        let mut random = Random::new(seed + 7);
        let mut plaintexts = BTreeSet::new();
        while plaintexts.len() < 3 {
            plaintexts.insert(random.below(PLAINTEXTS.len()));
        }
        let plaintexts: Vec<String> = plaintexts.into_iter().map(|at| PLAINTEXTS[at][side].to_owned()).collect();
        Dice { random, plaintexts: plaintexts.try_into().unwrap(), is_spoilt: seed % 4 == 3 }
    }

    /// A block, as one of the three secrets encrypted anew.
    fn block(&mut self) -> String {
        let (at, seed) = (self.random.below(3), self.random.next());
        encrypted(&self.plaintexts[at], seed)
    }

    /// The conversions of each key: one for `k0`, and so on. All of them or a third.
    fn conversions() -> Vec<Json> {
        let all = [
            Json::Null,
            json!("Array"),
            json!(["Array", true]),
            json!("Integer"),
            json!(["Integer", 16]),
            json!("Float"),
            json!("Numeric"),
            json!("Boolean"),
            json!("String"),
            json!(["String", "%.1s"]),
            json!(["String", "%p"]),
            json!(["String", "%#s"]),
            json!("Sensitive"),
            json!("Sensitive[String[8]]"),
            json!("Enum['hunter2', 'five']"),
            json!("Pattern[/^h/]"),
            json!("Pattern['[0-9]']"),
            json!("String[1, 7]"),
            json!("Optional[String[3]]"),
            json!("Hash"),
            json!("Tuple[String]"),
            json!("Struct[{a => String}]"),
            json!("Timestamp"),
            json!(["Timestamp", "%Y-%m-%d"]),
            json!("Timespan"),
            json!("SemVer"),
            json!("SemVerRange"),
            json!("Regexp"),
            json!("Binary"),
            json!(["Binary", "%s"]),
            json!("URI"),
            json!("Type"),
            json!("Variant[Integer, String]"),
            json!("Init[Integer]"),
            json!("Sensitive[Integer]"),
            json!("NoSuchType"),
        ];
        all.into_iter().step_by(full_or(1, 3)).collect()
    }

    fn files(&mut self, keys: &[String]) -> Vec<(String, Json)> {
        let paths = ["data/nodes/web01.eyaml", "data/nodes/db01.eyaml", "data/common.eyaml", "data/common.yaml"];
        let mut files = Vec::new();
        for path in paths {
            let mut file = Map::new();
            for (at, key) in keys.iter().enumerate() {
                // Most keys have a value in some file above the common ones.
                if path.contains("nodes") && self.random.below(3) > 0 {
                    continue;
                }
                let secret = path.ends_with("eyaml");
                // Every conversion gets a secret by itself, and values of all kinds.
                let plain = at < keys.len() && path == "data/common.eyaml" && self.random.below(2) == 0;
                let value = if plain { json!(self.block()) } else { self.value(2, secret, keys) };
                file.insert(key.clone(), value);
            }
            if path == "data/common.yaml" {
                file.insert("public".into(), json!("open"));
                file.insert("key_hunter2".into(), json!("a guess"));
                file.insert("lookup_options".into(), self.options(keys));
            }
            files.push((path.to_owned(), Json::Object(file)));
        }
        files
    }

    fn value(&mut self, depth: usize, secret: bool, keys: &[String]) -> Json {
        let key = self.random.pick(keys).clone();
        match self.random.below(if depth == 0 { 12 } else { 17 }) {
            0..3 if secret => json!(self.block()),
            3 if secret => json!(format!("%{{facts.role}}:{}", self.block())),
            4 if secret => json!(format!("{}{}", self.block(), self.block())),
            0 => json!("hunter2"),
            1 => json!(["x", "--x", "five", "5"][self.random.below(4)]),
            2 | 3 => json!(format!("%{{lookup('{key}')}}")),
            4 | 5 => json!(format!("%{{alias('{key}')}}")),
            6 => json!(format!("a %{{lookup('{key}.0')}} b")),
            7 => json!(format!("%{{lookup('{key}.a')}}%{{lookup('{key}')}}")),
            // The text that this gives is an expression with a secret in it.
            8 => json!(format!("%{{literal('%')}}{{lookup('key_%{{lookup('{key}')}}')}}")),
            9 => json!(format!("%{{literal('%')}}{{%{{lookup('{key}')}}}}")),
            10 => json!(self.random.below(9)),
            11 => json!(null),
            12..15 => (0..self.random.below(4)).map(|_| self.value(depth - 1, secret, keys)).collect(),
            _ => {
                let names = ["a".to_owned(), "b".to_owned(), format!("%{{lookup('{key}')}}")];
                let mut map = Map::new();
                for _ in 0..self.random.below(3) {
                    let name = self.random.pick(&names).clone();
                    map.insert(name, self.value(depth - 1, secret, keys));
                }
                Json::Object(map)
            }
        }
    }

    fn options(&mut self, keys: &[String]) -> Json {
        let mut options = Map::new();
        for (key, convert_to) in keys.iter().zip(Dice::conversions()) {
            let reference = format!("%{{lookup('{}')}}", self.random.pick(keys));
            // Options that depend on a secret spoil the answers of all keys.
            let choice = self.random.below(if self.is_spoilt { 16 } else { 13 });
            let merge = match choice {
                0..6 => Json::Null,
                6 | 7 => json!("unique"),
                8 => json!("hash"),
                9 | 10 => json!("deep"),
                11 => json!({"strategy": "deep", "knockout_prefix": "--", "sort_merged_arrays": true}),
                12 => json!({"strategy": "deep", "merge_hash_arrays": true}),
                13 => json!({"strategy": "deep", "knockout_prefix": reference}),
                14 => json!({"strategy": "unconstrained_deep", "unpack_arrays": ","}),
                _ => json!(reference),
            };
            let mut entry = Map::new();
            entry.extend((!merge.is_null()).then(|| ("merge".to_owned(), merge)));
            entry.extend((!convert_to.is_null()).then(|| ("convert_to".to_owned(), convert_to)));
            options.insert(key.clone(), Json::Object(entry));
        }
        Json::Object(options)
    }
}

/// The first lines that differ.
fn difference(a: &str, b: &str) -> String {
    let differ = a.lines().zip(b.lines()).enumerate().find(|(_, (a, b))| a != b);
    match differ {
        Some((at, (a, b))) => {
            let start = a.bytes().zip(b.bytes()).position(|(a, b)| a != b).unwrap_or_default().saturating_sub(300);
            let cut = |text: &str| text.chars().skip(start).take(900).collect::<String>();
            format!("line {at}\n- {}\n+ {}", cut(a), cut(b))
        }
        None => format!("{} and {} lines", a.lines().count(), b.lines().count()),
    }
}
