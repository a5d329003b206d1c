//! The data: hiera.yaml, and the files of all levels.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::Shape;
use super::history::Edit;
use super::profiles::{certname, role, site};

/// The levels that there can be, in the order in which a shape with fewer leaves them out, with the place of each.
const LEVELS: [(&str, &str, u8); 8] = [
    ("Common", "common.yaml", 9),
    ("Node", "nodes/%{trusted.certname}.yaml", 0),
    ("Role", "roles/%{trusted.extensions.pp_role}.yaml", 2),
    ("Site", "sites/%{facts.site}.yaml", 3),
    ("Tier", "tiers/%{facts.tier}.yaml", 4),
    ("Operating system", "os/%{facts.os.family}.yaml", 6),
    ("Role on a site", "roles/%{trusted.extensions.pp_role}/%{facts.site}.yaml", 1),
    ("Release", "os/%{facts.os.family}/%{facts.os.release.major}.yaml", 5),
];

type File = Map<String, Value>;

/// All files of a revision, and which of them have to be written.
pub(super) struct Data {
    shape: Shape,
    files: BTreeMap<String, File>,
    levels: Vec<Value>,
    /// A level that is gone for now.
    gone: Option<(usize, Value)>,
    written: BTreeSet<String>,
}

impl Data {
    pub(super) fn new(shape: &Shape) -> Data {
        let mut chosen: Vec<_> = LEVELS.iter().take(shape.levels.into()).collect();
        chosen.sort_by_key(|(_, _, place)| *place);
        let level = |(name, path): (&str, &str)| json!({"name": name, "path": path});
        let mut levels: Vec<Value> = chosen.iter().map(|(name, path, _)| level((name, path))).collect();
        for number in LEVELS.len()..shape.levels.into() {
            let at = levels.len() - 1;
            levels.insert(at, level((&format!("Layer {number}"), &format!("layers/{number}.yaml"))));
        }
        let mut data =
            Data { shape: shape.clone(), files: BTreeMap::new(), levels, gone: None, written: BTreeSet::new() };
        data.fill();
        data
    }

    fn fill(&mut self) {
        let shape = self.shape.clone();
        let keys = shape.keys;
        self.file("common.yaml", 0..keys);
        let options: Map<String, Value> =
            (0..keys).filter(|key| key % 40 == 3).map(|key| (self.key(key), json!({"merge": "deep"}))).collect();
        let common = self.files.entry("common.yaml".into()).or_default();
        common.insert("lookup_options".into(), options.into());
        if let Some(Value::Object(options)) = common.get_mut("lookup_options") {
            options.insert("^module\\d+::list".into(), json!({"merge": "unique"}));
        }
        for number in 0..shape.roles {
            self.file(&format!("roles/{}.yaml", role(&shape, number)), (0..keys / 25).map(|k| k * 23 + number * 7));
            for on in 0..shape.sites.min(3) {
                let path = format!("roles/{}/site{on}.yaml", role(&shape, number));
                self.file(&path, (0..keys / 250).map(|k| k * 241 + number * 3 + on));
            }
        }
        for number in 0..shape.sites {
            let path = format!("sites/{}.yaml", site(&shape, number * shape.roles));
            self.file(&path, (0..keys / 50).map(|k| k * 47 + number));
        }
        for (number, tier) in ["gold", "silver", "bronze"].iter().enumerate() {
            self.file(&format!("tiers/{tier}.yaml"), (0..keys / 100).map(|k| k * 89 + number));
        }
        self.file("os/Debian.yaml", (0..keys / 100).map(|k| k * 97));
        for release in [11, 12, 13] {
            self.file(&format!("os/Debian/{release}.yaml"), (0..keys / 200).map(|k| k * 193 + release));
        }
        for number in LEVELS.len()..shape.levels.into() {
            self.file(&format!("layers/{number}.yaml"), (0..keys / 100).map(|k| k * 101 + number));
        }
        for number in (0..shape.nodes).step_by(5) {
            self.file(&node_file(number), (0..5 + number % 11).map(|k| k * 311 + number));
        }
    }

    fn key(&self, number: usize) -> String {
        let kind = if number % 40 == 3 {
            "tree"
        } else if number % 20 == 7 {
            "list"
        } else {
            "setting"
        };
        format!("module{:03}::{kind}{number:05}", number % self.shape.keys / 50)
    }

    fn file(&mut self, path: &str, keys: impl Iterator<Item = usize>) {
        let from = path.trim_end_matches(".yaml").to_owned();
        let file = keys.map(|key| key % self.shape.keys).map(|key| (self.key(key), self.value(key, &from)));
        let file = file.collect();
        self.files.insert(path.to_owned(), file);
    }

    fn value(&self, key: usize, from: &str) -> Value {
        let share = key * 37 % 100;
        match key {
            _ if key % 40 == 3 => json!({
                "from": from, "port": 1024 + key % 60_000,
                from: {"enabled": key.is_multiple_of(2), "paths": [format!("/srv/{key}"), format!("/etc/{key}.conf")]},
            }),
            _ if key % 20 == 7 => json!([from, format!("item{key}"), format!("item{}", key + 1)]),
            _ if share < self.shape.interpolated => match key % 10 {
                0 => json!(format!("https://%{{facts.networking.fqdn}}/{key}")),
                _ => json!(format!("%{{facts.site}}-%{{facts.os.release.major}}-{key} of {from}")),
            },
            // What is looked up has a smaller number, so there is no circle.
            _ if share < self.shape.interpolated + self.shape.looked_up && key > 0 => {
                json!(format!("%{{lookup('{}')}} in {from}", self.key(key / 2)))
            }
            _ if key.is_multiple_of(3) => json!(key),
            _ if key.is_multiple_of(7) => json!(key.is_multiple_of(2)),
            _ => json!(format!("value {key} of {from}")),
        }
    }

    /// Makes an edit; what it is, for the commit's message.
    pub(super) fn apply(&mut self, edit: Edit) -> String {
        match edit {
            Edit::Node(number) => self.edit_file(&node_file(number % self.shape.nodes / 5 * 5), number),
            Edit::Role(number) => self.edit_file(&format!("roles/{}.yaml", role(&self.shape, number)), number),
            Edit::Common(number) => self.edit_file("common.yaml", number),
            Edit::Options(number) => {
                let trees = (self.shape.keys / 40).max(1);
                let key = self.key(number % trees * 40 + 3);
                let options = self.files.get_mut("common.yaml").and_then(|file| file.get_mut("lookup_options"));
                if let Some(Value::Object(options)) = options
                    && options.remove(&key).is_none()
                {
                    options.insert(key.clone(), json!({"merge": "deep"}));
                }
                self.written.remove("common.yaml");
                format!("lookup_options: {key}")
            }
            Edit::Hierarchy(number) => {
                self.written.remove("hiera.yaml");
                if let Some((at, level)) = self.gone.take() {
                    self.levels.insert(at, level);
                    return "hiera.yaml: a level is back".to_owned();
                }
                // The first and the last stay.
                let at = 1 + (number + 2) % (self.levels.len() - 2);
                self.gone = Some((at, self.levels.remove(at)));
                "hiera.yaml: one level less".to_owned()
            }
        }
    }

    fn edit_file(&mut self, path: &str, number: usize) -> String {
        let Some(file) = self.files.get_mut(path) else { return "nothing".to_owned() };
        let keys: Vec<&String> = file.keys().filter(|key| *key != "lookup_options").collect();
        let key = keys[number % keys.len()].clone();
        let value = match file.get(&key) {
            Some(Value::Array(items)) => items.iter().cloned().chain([json!(format!("item of {number}"))]).collect(),
            Some(Value::Object(entries)) => {
                let mut entries = entries.clone();
                entries.insert("port".into(), json!(number));
                Value::Object(entries)
            }
            _ => json!(format!("changed by {number}")),
        };
        file.insert(key.clone(), value);
        self.written.remove(path);
        format!("{path}: {key}")
    }

    /// Writes what is not written yet.
    pub(super) fn write(&mut self, folder: &Path) -> io::Result<()> {
        for (path, file) in &self.files {
            if self.written.insert(path.clone()) {
                write(&folder.join("data").join(path), file)?;
            }
        }
        if self.written.insert("hiera.yaml".into()) {
            let config = json!({"version": 5, "defaults": {"datadir": "data", "data_hash": "yaml_data"}, "hierarchy": self.levels});
            write(&folder.join("hiera.yaml"), &config)?;
        }
        Ok(())
    }
}

fn node_file(number: usize) -> String {
    format!("nodes/{}.yaml", certname(number))
}

fn write(path: &Path, content: &impl serde::Serialize) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let text = serde_yaml::to_string(content).map_err(io::Error::other)?;
    fs::write(path, format!("---\n{text}"))
}
