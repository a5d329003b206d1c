//! The data files of a hierarchy.

use std::collections::BTreeMap;

use super::Content;
use super::data::Writer;
use super::emit::{Language, Node};
use super::expression::{self, Place};
use super::hierarchy::{Dialect, Plan};
use super::options::{self, Owner};
use super::random::Random;
use super::words::{KEYS, ODD_KEYS};

/// All the files of a repository so far, by path.
pub(crate) type Files = BTreeMap<String, Content>;

/// Writes most of the files that `plan` would read.
pub(crate) fn write(random: &mut Random, plan: &Plan) -> Files {
    let mut files = Files::new();
    let share = random.between(12, 55);
    for path in &plan.files {
        if random.percent(72) {
            let encrypted = path.ends_with("eyaml") || random.percent(6);
            let text = environment_file(random, Language::of(path), encrypted, share, plan.dialect);
            files.insert(path.clone(), Content::File(text));
        }
    }
    odd_files(random, plan, &mut files);
    files
}

fn environment_file(random: &mut Random, language: Language, encrypted: bool, share: u32, dialect: Dialect) -> String {
    let mut entries = Vec::new();
    let mut writer = Writer::new(random, language, encrypted);
    writer.anchored = dialect != Dialect::Hiera3 { aliases: false };
    for (number, (key, kind)) in KEYS.iter().enumerate() {
        if writer.random.percent(share) {
            let value = writer.value(*kind, Place::Value(number));
            entries.push((writer.language.text(writer.random, key), value));
        }
    }
    if language == Language::Yaml && writer.random.percent(20) {
        let key = writer.random.pick(&ODD_KEYS).to_owned();
        let kind = super::words::Kind::Mixed;
        entries.push((key, writer.value(kind, Place::Aside)));
    }
    if random.percent(45) && dialect == Dialect::Hiera5 {
        entries.push(options::lookup_options(random, language, &Owner::Environment));
    }
    if dialect != Dialect::Hiera5 && !entries.is_empty() && random.percent(5) {
        let (key, _) = entries[random.index(entries.len())].clone();
        entries.push((key, Node::Scalar(random.pick(&["1", "[\"again\"]", "{\"again\": 2}", "\"%{role}\""]).into())));
    }
    if random.percent(4) {
        // On the stack of names a variable is called so.
        let name = random.pick(&["role", "::site", "flag", "list", "nope", "quirk"]);
        entries.push((format!("\"scope:{name}\""), Node::Scalar(format!("\"{{%{{{name}}}}}\""))));
    }
    if random.percent(6) {
        let key = expression::embedded(random, Place::Aside);
        entries.push((language.text(random, &key), Node::Scalar("1".into())));
    }
    let entries = random.shuffled_unless_anchored(entries);
    language.document(random, &Node::Map(entries))
}

/// Links, folders and other things that lie where a data file is expected.
fn odd_files(random: &mut Random, plan: &Plan, files: &mut Files) {
    let Some(path) = plan.files.get(random.index(plan.files.len().max(1))) else { return };
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let up = "../".repeat(folder.split('/').filter(|part| !part.is_empty()).count());
    match random.weighted(&[80, 8, 2, 1, 4, 3, 2]) {
        1 => {
            if let Some(Content::File(text)) =
                files.insert(path.clone(), Content::Link(format!("{up}elsewhere/{name}")))
            {
                files.insert(format!("elsewhere/{name}"), Content::File(text));
            }
        }
        2 => _ = files.insert(path.clone(), Content::Link("gone.yaml".into())),
        3 => {
            files.remove(path);
            files.insert(format!("{path}/inside.yaml"), Content::File("a: 1\n".into()));
        }
        4 => _ = files.insert(path.clone(), Content::File(String::new())),
        5 => {
            let text = random.pick(&["# only this\n", "---\n", "false\n", "~\n"]);
            files.insert(path.clone(), Content::File(text.into()));
        }
        6 => _ = files.insert(path.clone(), Content::File(random.pick(&["[a, b]\n", "text\n", "5\n", "{}\n"]).into())),
        _ => {}
    }
}

impl Random {
    /// The entries in another order, unless an alias among them must come behind its anchor.
    fn shuffled_unless_anchored(&mut self, entries: Vec<(String, Node)>) -> Vec<(String, Node)> {
        fn anchored(node: &Node) -> bool {
            match node {
                Node::Scalar(_) => false,
                Node::List(items) => items.iter().any(anchored),
                Node::Map(entries) => entries.iter().any(|(_, node)| anchored(node)),
                Node::Marked(..) => true,
            }
        }
        if entries.iter().any(|(_, node)| anchored(node)) { entries } else { self.shuffled(&entries) }
    }
}
