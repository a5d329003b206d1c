//! Globs find what Ruby's `Dir.glob` found, in its order, when `tests/puppet/record_glob.rb` ran.

use hierad::puppet::glob::glob;
use hierad::puppet::json;
use hierad::tree::MemoryTree;
use hierad::value::Value;

#[test]
fn globs_find_rubys_files() {
    let recorded = match std::env::var_os("HIERAD_VECTORS") {
        Some(more) => std::fs::read(more).unwrap(),
        None => include_bytes!("../vectors/glob.json").to_vec(),
    };
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let mut count = 0;
    for recorded in json::parse(&recorded).value.as_array().expect("trees") {
        let tree = MemoryTree::from_fixture(&text(recorded.get("fixture").expect("a tree")));
        for recorded in recorded.get("patterns").and_then(Value::as_array).expect("patterns") {
            let Some([pattern, expected]) = recorded.as_array() else { panic!("a pattern and what it finds") };
            let pattern = text(pattern);
            let found = glob(&tree, &pattern).map_err(|error| error.to_string());
            // Ruby writes all slashes of the pattern.
            let text = |value: &Value| text(value).replace("//", "/");
            let expected = match expected.as_array() {
                Some(paths) => Ok(paths.iter().map(text).collect()),
                None => Err(text(expected).trim_end_matches('/').to_owned()),
            };
            assert_eq!(found, expected, "{pattern}");
            count += 1;
        }
    }
    assert!(count > 1400, "{count}");
}
