//! The cases of `tests/vectors/lookup` and `hiera3`, in which each file, list of nodes and answer stands once.

use std::fs;
use std::path::{Path, PathBuf};

use hierad::puppet::json;
use hierad::value::{Hash, Value};

/// The topics' files.
pub(crate) fn topics() -> impl Iterator<Item = PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/lookup");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"))
}

/// Returns the cases of a topic by itself: each with its `fixture`, its `profiles`, and the answers `puppet8`.
pub(crate) fn cases(path: &Path) -> Vec<Value> {
    let parsed = json::parse(&fs::read(path).unwrap());
    assert_eq!(parsed.fault, None, "{}", path.display());
    let list = |field| parsed.value.get(field).and_then(Value::as_array).unwrap();
    list("cases").iter().map(|case| whole(case, list("files"), list("profiles"))).collect()
}

fn whole(case: &Value, files: &[Value], profiles: &[Value]) -> Value {
    let number = |number: &Value| match number {
        Value::Integer(number) => usize::try_from(*number).unwrap(),
        other => panic!("no number: {other:?}"),
    };
    let numbers = case.get("fixture").and_then(Value::as_array).unwrap();
    let fixture: String = numbers.iter().map(|one| files[number(one)].as_str().unwrap()).collect();
    let mut whole: Hash = case.as_hash().unwrap().clone();
    whole.insert("fixture", Value::from(fixture));
    whole.insert("profiles", profiles[number(case.get("nodes").unwrap())].clone());
    if let (None, Some(answers)) = (case.get("puppet8"), case.get("puppet7")) {
        whole.insert("puppet8", answers.clone());
    }
    Value::hash(whole)
}
