//! Random repositories with secrets in many places: in texts, as names, under merges, conversions and references.

use std::path::Path;
use std::sync::LazyLock;

use serde_json::{Map, Value as Json, json};

use crate::support::Sandbox;
use crate::support::random::Random;

/// The encrypted blocks of a text, which mean the same.
type Blocks = [String; 2];

static BLOCKS: LazyLock<Vec<Blocks>> = LazyLock::new(|| {
    let vectors: Json = serde_json::from_str(include_str!("../../vectors/secrets.json")).unwrap();
    let block = |secret: &Json, i: usize| secret["blocks"][i].as_str().unwrap().to_owned();
    vectors.as_array().unwrap().iter().map(|secret| [block(secret, 0), block(secret, 1)]).collect()
});

/// A repository of two commits.
pub(super) struct Repository {
    sandbox: Sandbox,
}

const FILES: [&str; 5] =
    ["nodes/web01.example.com.eyaml", "nodes/db01.eyaml", "common.eyaml", "common.yaml", "clear.yaml"];

/// Settings outside of the tree, which allow all keys that it names.
pub(super) const SETTINGS: &str = "profiles: [../profiles]\neyaml: {allowed_keys: ['/**']}\n";

/// The levels: secrets above and below what refers to them.
pub(super) fn hiera_yaml() -> String {
    let keys = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/eyaml/keys");
    let keys = keys.display();
    let eyaml = format!(
        "lookup_key: eyaml_lookup_key, options: {{pkcs7_private_key: {keys}/default.key.pem, pkcs7_public_key: {keys}/default.pub.pem}}"
    );
    format!(
        "version: 5\nhierarchy:\n  - {{name: Node, path: 'nodes/%{{trusted.certname}}.eyaml', {eyaml}}}\n  \
         - {{name: Clear, path: clear.yaml}}\n  - {{name: Secrets, path: common.eyaml, {eyaml}}}\n  \
         - {{name: Common, path: common.yaml}}\n"
    )
}

impl Repository {
    pub(super) fn new(seed: u64) -> Repository {
        let mut dice = Dice(Random::new(seed + 1));
        let sandbox = Sandbox::new();
        sandbox.write(".git/hierad.yaml", SETTINGS);
        sandbox.write("profiles/web01.yaml", "{name: web01.example.com, facts: {os: {family: Debian}}}\n");
        sandbox.write("profiles/db01.yaml", "{name: db01, facts: {os: {family: RedHat}}}\n");
        sandbox.write("hiera.yaml", hiera_yaml());
        let files: Vec<Json> = FILES.iter().map(|path| dice.file(path)).collect();
        for (path, file) in FILES.iter().zip(&files) {
            sandbox.write(&format!("data/{path}"), file.to_string());
        }
        sandbox.commit("first");
        for (path, file) in FILES.iter().zip(&files) {
            sandbox.write(&format!("data/{path}"), dice.edited(file, path).to_string());
        }
        sandbox.commit("second");
        Repository { sandbox }
    }

    pub(super) fn root(&self) -> &Path {
        self.sandbox.root()
    }
}

struct Dice(Random);

impl Dice {
    fn key(&mut self) -> String {
        format!("k{}", self.0.below(10))
    }

    fn file(&mut self, path: &str) -> Json {
        let mut file = Map::new();
        for _ in 0..4 + self.0.below(6) {
            file.insert(self.key(), self.value(3, path.ends_with("eyaml")));
        }
        if path == "common.yaml" {
            file.insert("public".into(), json!({"entry": "open"}));
            file.insert("lookup_options".into(), self.options());
        }
        Json::Object(file)
    }

    /// A file with other values, and secrets encrypted anew.
    fn edited(&mut self, file: &Json, path: &str) -> Json {
        let mut file = file.clone();
        for (key, value) in file.as_object_mut().unwrap() {
            match self.0.below(6) {
                0 if key.starts_with('k') => *value = self.value(3, path.ends_with("eyaml")),
                0 if key == "lookup_options" => *value = self.options(),
                1 | 2 => *value = anew(value),
                _ => {}
            }
        }
        file
    }

    fn block(&mut self) -> String {
        let blocks = self.0.pick(&BLOCKS);
        blocks[0].clone()
    }

    fn value(&mut self, depth: usize, secret: bool) -> Json {
        match self.0.below(if depth == 0 { 8 } else { 12 }) {
            0..3 if secret => json!(self.block()),
            3 if secret => json!(format!("user:{}@{}", self.block(), self.block())),
            0 | 1 => json!(format!("%{{lookup('{}')}}", self.key())),
            2 => json!(format!("%{{alias('{}')}}", self.key())),
            3 => json!(format!("a %{{lookup('{}.a')}} b", self.key())),
            4 => json!(format!("%{{lookup('{}.0')}}, %{{trusted.certname}}", self.key())),
            5 => json!(self.0.below(3)),
            6 => json!(["open", "--open", "", "web01.example.com"][self.0.below(4)]),
            7 => [json!(null), json!(true), json!(1.5)][self.0.below(3)].clone(),
            8 | 9 => (0..self.0.below(5)).map(|_| self.value(depth - 1, secret)).collect(),
            _ => {
                let reference = format!("%{{lookup('{}')}}", self.key());
                let names = ["a", "b", "name", "password", &reference];
                let entry = |dice: &mut Dice| ((*dice.0.pick(&names)).to_owned(), dice.value(depth - 1, secret));
                Json::Object((0..self.0.below(4)).map(|_| entry(self)).collect())
            }
        }
    }

    fn options(&mut self) -> Json {
        let mut options = Map::new();
        for _ in 0..self.0.below(8) {
            let reference = format!("%{{lookup('{}')}}", self.key());
            let merge = match self.0.below(12) {
                0 => json!("first"),
                1..3 => json!("unique"),
                3..5 => json!("hash"),
                5..7 => json!("deep"),
                7 => json!({"strategy": "deep", "knockout_prefix": "--", "sort_merged_arrays": true}),
                8 => json!({"strategy": "deep", "merge_hash_arrays": true}),
                9 => json!({"strategy": "deep", "knockout_prefix": reference}),
                10 => json!({"strategy": "unconstrained_deep", "unpack_arrays": ","}),
                _ => json!(reference),
            };
            let mut entry = json!({ "merge": merge });
            if self.0.below(3) == 0 {
                let types = ["Sensitive", "Integer", "Float", "Boolean", "Timestamp", "Array", "SemVer", &reference];
                entry["convert_to"] = json!(self.0.pick(&types));
            }
            options.insert(self.key(), entry);
        }
        if self.0.below(8) == 0 {
            options.insert(format!("^(%{{lookup('{}')}}", self.key()), json!({"merge": "first"}));
        }
        Json::Object(options)
    }
}

/// `value` with every block replaced by another of the same text.
pub(super) fn anew(value: &Json) -> Json {
    match value {
        Json::String(text) => {
            let swapped = BLOCKS.iter().fold(text.clone(), |text, [old, new]| text.replace(old, new));
            json!(swapped)
        }
        Json::Array(items) => items.iter().map(anew).collect(),
        Json::Object(map) => Json::Object(map.iter().map(|(key, value)| (key.clone(), anew(value))).collect()),
        other => other.clone(),
    }
}

/// The encrypted block of a text.
pub(super) fn block(text: &str, variant: usize) -> String {
    let vectors: Json = serde_json::from_str(include_str!("../../vectors/secrets.json")).unwrap();
    let secret = vectors.as_array().unwrap().iter().find(|secret| secret["text"] == text).expect("a recorded text");
    secret["blocks"][variant].as_str().unwrap().to_owned()
}
