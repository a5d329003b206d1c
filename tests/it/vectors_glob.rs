//! Globs find what Ruby's `Dir.glob` found, in its order, when `tests/puppet/record_glob.rb` ran.

use hierad::puppet::glob::glob;
use hierad::puppet::json;
use hierad::tree::MemoryTree;
use hierad::value::Value;

#[test]
fn globs_find_rubys_files() {
    let recorded = json::parse(include_bytes!("../vectors/glob.json")).value;
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let tree = MemoryTree::from_fixture(&text(recorded.get("fixture").expect("a tree")));
    let patterns = recorded.get("patterns").and_then(Value::as_array).expect("patterns");
    for recorded in patterns {
        let Some([pattern, paths]) = recorded.as_array() else { panic!("a pattern and its paths") };
        let paths: Vec<String> = paths.as_array().expect("paths").iter().map(text).collect();
        let pattern = text(pattern);
        assert_eq!(glob(&tree, &pattern).expect("few files"), paths, "{pattern}");
    }
    assert!(patterns.len() > 500);
}
