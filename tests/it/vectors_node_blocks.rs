//! Node blocks are found, and set variables, as Puppet did when `tests/puppet/record_node_blocks.rb` ran.

use hierad::puppet::json;
use hierad::puppet::manifest::NodeBlocks;
use hierad::value::Value;

#[test]
fn node_blocks_are_puppets() {
    let recorded = json::parse(include_bytes!("../vectors/node_blocks.json")).value;
    let (mut answers, mut values) = (0, 0);
    for one in recorded.as_array().expect("manifests") {
        let manifest = one.get("manifest").and_then(Value::as_str).expect("a manifest");
        let blocks = NodeBlocks::parse(manifest, None);
        for (node, expected) in one.get("nodes").and_then(Value::as_hash).expect("nodes").iter() {
            answers += 1;
            values += compare(&blocks, &node.to_s(), expected).unwrap_or_else(|text| panic!("{text} in\n{manifest}"));
        }
    }
    // That many are known, and the others honestly unknown.
    assert!(answers > 900 && values > 200, "{answers} {values}");
}

/// Compares the block of a node with what Puppet found. Returns how many values are known.
fn compare(blocks: &NodeBlocks, node: &str, expected: &Value) -> Result<usize, String> {
    let block = blocks.block_for(node).map_err(|line| format!("{node}: line {line} cannot be tried"))?;
    let (block, expected) = match (block, expected.as_hash()) {
        (Some(block), Some(expected)) => (block, expected),
        (None, None) => return Ok(0),
        (block, _) => return Err(format!("{node}: {block:?}, not {}", expected.inspect())),
    };
    let line = expected.get("line").map(Value::inspect);
    if line != Some(block.line.to_string()) {
        return Err(format!("{node}: line {}, not {line:?}", block.line));
    }
    let set = expected.get("set").and_then(Value::as_hash).expect("variables");
    for name in set.keys() {
        if !block.assignments.iter().any(|assignment| name.as_str() == Some(&assignment.name)) {
            return Err(format!("{node}: {} is not seen", name.inspect()));
        }
    }
    let known = block.assignments.iter().filter_map(|set| Some((&set.name, set.value.as_ref()?)));
    let mut count = 0;
    for (name, value) in known {
        if set.get(name) != Some(value) {
            let expected = set.get(name).map(Value::inspect);
            return Err(format!("{node}: {name} is {}, not {expected:?}", value.inspect()));
        }
        count += 1;
    }
    Ok(count)
}
