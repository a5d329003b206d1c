//! Encrypted blocks, and levels with keys for them. The blocks are recorded, since a seed must always give the same.

use super::emit::Node;
use super::random::Random;

const KEYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/eyaml/keys");

/// Blocks made by `tests/puppet/eyaml.rb`, some of them damaged, one a line.
const BLOCKS: &str = include_str!("../vectors/eyaml/blocks.txt");

/// The options of a level of encrypted data: mostly those with the key that most blocks are made for.
pub(crate) fn options(random: &mut Random) -> Node {
    let (private, public) = match random.weighted(&[88, 3, 3, 2, 2, 2]) {
        0 => (Some("default.key.pem"), Some("default.pub.pem")),
        1 => (Some("openssl.key.pem"), Some("openssl.pub.pem")),
        2 => (Some("other.key.pem"), Some("default.pub.pem")),
        3 => (None, Some("default.pub.pem")),
        4 => (Some("default.key.pem"), None),
        _ => (Some("junk.pem"), Some("default.pub.pem")),
    };
    let entry = |kind: &str, name: Option<&str>| {
        name.map(|name| (format!("pkcs7_{kind}_key"), Node::Scalar(format!("{KEYS}/{name}"))))
    };
    let entries: Vec<_> = entry("private", private).into_iter().chain(entry("public", public)).collect();
    Node::Map(random.shuffled(&entries))
}

/// The same as entries of a section of Hiera 3, whose keys mostly are symbols.
pub(crate) fn options_of_hiera3(random: &mut Random) -> Vec<(String, Node)> {
    let Node::Map(mut entries) = options(random) else { return Vec::new() };
    for (name, value) in &mut entries {
        if random.percent(96) {
            name.insert(0, ':');
        }
        if random.percent(3) {
            *value =
                Node::Scalar(random.pick(&["~", "5", "[x]", "\"%{nope}\"", "\"%{hiera('color')}\"", ":sym"]).into());
        }
    }
    entries
}

/// A text with blocks.
pub(crate) fn text(random: &mut Random) -> String {
    match random.weighted(&[70, 10, 8, 4, 4, 4]) {
        0 => block(random).to_owned(),
        1 => format!("{} and %{{role}}", block(random)),
        2 => format!("{}{}", block(random), block(random)),
        3 => format!("ü {}\n", block(random)),
        4 => block(random).replace("MII", "M\nII"),
        _ => format!("{} {}", block(random), block(random).replace("MII", "M \nII")),
    }
}

fn block(random: &mut Random) -> &'static str {
    let blocks: Vec<&'static str> = BLOCKS.lines().collect();
    blocks[random.index(blocks.len())]
}
