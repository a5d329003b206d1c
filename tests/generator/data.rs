//! Values of keys: what a data file holds.

use super::conversion;
use super::emit::{Language, Node};
use super::encryption;
use super::expression::{self, Place};
use super::random::Random;
use super::scalar;
use super::words::{INNER, Kind, TEXTS};

/// Keys that are no strings, or that need YAML's eyes to be seen as what they are.
const ODD_INNER: [&str; 5] = ["1", "2.5", ":sym", "0x10", "2e1"];

/// Writes the values of one file.
pub(crate) struct Writer<'a> {
    /// The dice.
    pub(crate) random: &'a mut Random,
    /// The file's language.
    pub(crate) language: Language,
    /// True if it holds encrypted blocks.
    encrypted: bool,
    /// Anchors set so far in the file, and whether each is of a mapping.
    anchors: Vec<(String, bool)>,
    /// True if there are anchors at all.
    pub(crate) anchored: bool,
}

impl Writer<'_> {
    /// A writer of a new file.
    pub(crate) fn new(random: &mut Random, language: Language, encrypted: bool) -> Writer<'_> {
        Writer { random, language, encrypted, anchors: Vec::new(), anchored: true }
    }

    /// A value for a key of the kind `kind`.
    pub(crate) fn value(&mut self, kind: Kind, place: Place) -> Node {
        if self.random.percent(3) {
            return Node::Scalar("null".into());
        }
        let kind = if self.random.percent(6) { Kind::Mixed } else { kind };
        self.node(kind, place, 3)
    }

    fn node(&mut self, kind: Kind, place: Place, depth: u32) -> Node {
        let kind = match kind {
            Kind::Mixed => self.random.one(&[Kind::Scalar, Kind::Scalar, Kind::Array, Kind::Hash]),
            kind => kind,
        };
        if let Some(alias) = self.alias(kind) {
            return alias;
        }
        let node = match kind {
            Kind::Array if depth > 0 => self.list(place, depth),
            Kind::Hash if depth > 0 => self.map(place, depth),
            _ => return self.typed(kind).unwrap_or_else(|| self.scalar(place)),
        };
        self.marked(node)
    }

    /// A value that a type fits, of a kind that has such.
    fn typed(&mut self, kind: Kind) -> Option<Node> {
        if !self.random.percent(85) {
            return None;
        }
        conversion::value(self.random, kind).map(Node::Scalar)
    }

    fn scalar(&mut self, place: Place) -> Node {
        if self.encrypted && self.random.percent(40) {
            let text = encryption::text(self.random);
            return self.language.scalar(self.random, &text);
        }
        if self.random.percent(38) {
            let text = expression::text(self.random, place);
            return self.language.scalar(self.random, &text);
        }
        Node::Scalar(match self.language {
            Language::Yaml => scalar::yaml(self.random),
            Language::Json => scalar::json(self.random),
            Language::Hocon => scalar::hocon(self.random),
        })
    }

    fn list(&mut self, place: Place, depth: u32) -> Node {
        if self.random.percent(30) {
            let texts: Vec<_> = self.random.times(1, 5).map(|_| self.random_text()).collect();
            return Node::List(texts);
        }
        let hashes = self.random.percent(25);
        let items = self.random.times(0, 4).map(|_| {
            let kind = if hashes {
                Kind::Hash
            } else {
                self.random.one(&[Kind::Scalar, Kind::Scalar, Kind::Scalar, Kind::Mixed])
            };
            self.node(kind, place, depth - 1)
        });
        Node::List(items.collect())
    }

    fn random_text(&mut self) -> Node {
        let text = self.random.pick(&TEXTS);
        self.language.scalar(self.random, text)
    }

    fn map(&mut self, place: Place, depth: u32) -> Node {
        let mut entries: Vec<(String, Node)> = Vec::new();
        let merge = self.merge_key();
        for _ in self.random.times(0, 4) {
            let key = self.inner_key(place);
            let json = self.language != Language::Yaml;
            if !json && entries.iter().any(|(other, _)| *other == key) && self.random.percent(80) {
                continue;
            }
            let kind = if key.contains("tags") { Kind::Array } else { Kind::Mixed };
            entries.push((key, self.node(kind, place, depth - 1)));
        }
        if let Some(merge) = merge {
            entries.insert(self.random.index(entries.len() + 1), merge);
        }
        Node::Map(entries)
    }

    fn inner_key(&mut self, place: Place) -> String {
        let yaml = self.language == Language::Yaml;
        match self.random.weighted(&[88, 4, 3, 3]) {
            1 if yaml && self.random.percent(6) => self.random.pick(&["[x, 1]", "{k: v}", "true", "~"]).to_owned(),
            1 if yaml => self.random.pick(&ODD_INNER).to_owned(),
            2 => {
                let text = expression::embedded(self.random, place);
                self.language.text(self.random, &text)
            }
            3 => {
                let inner = self.random.pick(&INNER);
                self.language.text(self.random, &format!("--{inner}"))
            }
            _ => {
                let inner = self.random.pick(&INNER);
                self.language.text(self.random, inner)
            }
        }
    }

    /// `<<`, with one or more of the mappings that have an anchor.
    fn merge_key(&mut self) -> Option<(String, Node)> {
        let maps: Vec<String> =
            self.anchors.iter().filter(|(_, map)| *map).map(|(name, _)| format!("*{name}")).collect();
        if maps.is_empty() || !self.random.percent(30) {
            return None;
        }
        let one = Node::Scalar(self.random.one(&maps));
        let value =
            if self.random.percent(30) { Node::List(vec![Node::Scalar(self.random.one(&maps)), one]) } else { one };
        Some(("<<".into(), value))
    }

    fn alias(&mut self, kind: Kind) -> Option<Node> {
        let fitting: Vec<String> = self
            .anchors
            .iter()
            .filter(|(_, map)| *map == (kind == Kind::Hash))
            .map(|(name, _)| format!("*{name}"))
            .collect();
        (!fitting.is_empty() && self.random.percent(12)).then(|| Node::Scalar(self.random.one(&fitting)))
    }

    /// Sometimes an anchor before a collection, to be used further down.
    fn marked(&mut self, node: Node) -> Node {
        if self.language != Language::Yaml || !self.random.percent(5) || !self.anchored {
            return node;
        }
        let name = format!("a{}", self.anchors.len());
        self.anchors.push((name.clone(), matches!(node, Node::Map(_))));
        Node::Marked(format!("&{name}"), Box::new(node))
    }
}
