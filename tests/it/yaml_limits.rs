//! Limits on YAML: nesting and size that in Ruby only the stack and the memory end.

use std::fmt::Write;

use hierad::puppet::document::{FaultKind, MAX_DEPTH, Parsed};
use hierad::puppet::json;
use hierad::puppet::yaml;
use hierad::value::Value;

use crate::support::work;

/// Reads on a thread with the stack that threads usually have, and drops the value there.
fn parse(text: String) -> (Option<FaultKind>, Value) {
    let work = move || {
        let Parsed { value, marks, fault, .. } = yaml::parse(text.as_bytes());
        let (value, _) = yaml::symkeys_to_string(value, marks);
        let mut out = String::new();
        json::write(&value, &mut out);
        assert_eq!(value, value.clone());
        (fault.map(|f| f.kind), if out.len() < 10_000 { value } else { Value::Undef })
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).expect("a thread").join().expect("no panic")
}

#[test]
fn nesting_is_limited() {
    let flow = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let block = |depth: usize| (0..depth).map(|i| " ".repeat(i) + "a:\n").collect::<String>();
    let maps = |depth: usize| "{a: ".repeat(depth) + &"}".repeat(depth);
    for make in [&flow as &dyn Fn(usize) -> String, &block, &maps] {
        assert_eq!(parse(make(MAX_DEPTH)).0, None);
        assert_eq!(parse(make(MAX_DEPTH + 1)).0, Some(FaultKind::Limit));
        assert_eq!(parse(make(20_000)).0, Some(FaultKind::Limit));
    }
    assert_eq!(parse("[".repeat(1_000_000)).0, Some(FaultKind::Limit));
    assert_eq!(parse("- ".repeat(1_000_000)).0, Some(FaultKind::Limit));
}

#[test]
fn aliases_are_limited_in_depth() {
    let mut text = String::from("a0: &a0 x\n");
    for i in 1..=2 * MAX_DEPTH {
        _ = writeln!(text, "a{i}: &a{i} [*a{}]", i - 1);
    }
    assert_eq!(parse(text).0, Some(FaultKind::Limit));
}

#[test]
fn aliases_are_limited_in_size() {
    work::here(sizes_of_aliases);
}

fn sizes_of_aliases() {
    let mut bomb = String::from("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for i in 1..30 {
        _ = writeln!(bomb, "a{i}: &a{i} [{}]", vec![format!("*a{}", i - 1); 9].join(", "));
    }
    assert_eq!(parse(bomb).0, Some(FaultKind::Limit));
    let mut merges = String::from("a: &a\n");
    (0..10_000).for_each(|i| _ = writeln!(merges, "  k{i}: 1"));
    merges.push_str(&"b:\n  <<: *a\n".repeat(10_000));
    assert_eq!(parse(merges).0, Some(FaultKind::Limit));
    let mut keys = String::from("&a [x, y, z]: 1\n");
    (0..100_000).for_each(|i| _ = writeln!(keys, "? [{i}, *a]\n: 1"));
    assert_eq!(parse(keys).0, None);
    let omaps = "!!omap [[".repeat(100) + "x" + &"]]".repeat(100);
    assert_eq!(parse(omaps).0, Some(FaultKind::Limit));
}

#[test]
fn a_recursive_alias_is_a_fault() {
    for text in
        ["&a [*a]", "&a {b: *a}", "&a {b: [{c: *a}]}", "&a\n- *a", "x: &a {y: 1, <<: [*a]}", "&a !!omap [b: *a]"]
    {
        let parsed = yaml::parse(text.as_bytes());
        assert_eq!(parsed.fault.map(|f| f.text), Some("recursive alias: a".to_owned()), "{text}");
    }
    assert_eq!(yaml::parse(b"&a {b: 1, c: {<<: *a}}").fault, None);
}

#[test]
fn faulty_files_show_their_keys() {
    let parsed = yaml::parse(b"a: 1\nb: 2001-01-01\nc: *x\nd: !ruby/object:Foo {e: 1}\n");
    assert_eq!(parsed.fault.map(|f| (f.line, f.text)), Some((2, "Tried to load unspecified class: Date".to_owned())));
    let mut out = String::new();
    json::write(&parsed.value, &mut out);
    assert_eq!(out, r#"{"a":1,"b":"2001-01-01","c":null,"d":{"e":1}}"#);
    let broken = yaml::parse(b"a: 1\nb: 2001-01-01\nc: [\n");
    assert_eq!((broken.value, broken.fault.map(|f| f.kind)), (Value::Undef, Some(FaultKind::Syntax)));
}

#[test]
fn marks_follow_merges_aliases_and_duplicates() {
    let text = "base: &base\n  x: 1\n  y:\n  - p\n  - q\nuse:\n  y: 0\n  <<: *base\nbase:\n  z: 1\nother: *base\n";
    let marks = yaml::parse(text.as_bytes()).marks;
    let lines = |at: usize| marks.children[at].children.iter().map(|m| m.line).collect::<Vec<_>>();
    assert_eq!(marks.children.iter().map(|m| m.line).collect::<Vec<_>>(), [9, 6, 11]);
    assert_eq!((lines(0), lines(1), lines(2)), (vec![10], vec![3, 2], vec![2, 3]));
    assert_eq!(marks.children[1].children[0].children.iter().map(|m| m.line).collect::<Vec<_>>(), [4, 5]);
}

#[test]
fn symbol_and_string_keys_fall_together() {
    let parsed = yaml::parse(b":a: 1\nb:\n  :c:\n  - :d: 1\na: 2\n");
    let (value, marks) = yaml::symkeys_to_string(parsed.value, parsed.marks);
    let mut out = String::new();
    json::write(&value, &mut out);
    assert_eq!(out, r#"{"a":2,"b":{"c":[{"d":1}]}}"#);
    assert_eq!(marks.children.iter().map(|m| m.line).collect::<Vec<_>>(), [5, 2]);
}
