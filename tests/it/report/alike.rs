//! Changes that are alike, joined into one group: the order of hashes and positions in lists do not keep them apart.

use std::fmt::Write;

use hierad::report::{Report, Similarity};

fn report(yaml: &str) -> Report {
    super::report(&serde_yaml::from_str(yaml).unwrap())
}

#[test]
fn differences_in_another_order_are_one_group() {
    let report = report(
        "nodes: [one.x, two.x]
before: {one.x: {h: {a: 1, b: 2, c: 3}}, two.x: {h: {c: 3, b: 2, a: 1}}}
after: {one.x: {h: {a: 5, b: 6, c: 3}}, two.x: {h: {c: 3, b: 6, a: 5}}}
",
    );
    assert_eq!((report.changes.len(), report.groups.len()), (2, 1));
    let items = &report.groups[0].items;
    assert_eq!((items.len(), items[0].similarity), (1, Similarity::Equal));
    assert!(super::text(&report, super::text::Options::default()).contains("both nodes\n"));
}

/// Nodes whose lists have one item more each, and at their end the items `added` afterwards.
fn lists(added: impl Fn(usize) -> String) -> Report {
    let (mut before, mut after) = (String::new(), String::new());
    for node in 1..=9 {
        let own = (0..node).fold(String::new(), |own, item| own + &format!("p{node}-{item}, "));
        _ = writeln!(before, "  n{node}: {{list: [{own}], other: {node}}}");
        _ = writeln!(after, "  n{node}: {{list: [{own}{}], other: {node}}}", added(node));
    }
    report(&format!("nodes: ['n[1-9]']\nbefore:\n{before}after:\n{after}"))
}

#[test]
fn positions_in_lists_make_no_groups() {
    let report = lists(|_| "new".to_owned());
    assert_eq!((report.changes.len(), report.groups.len()), (9, 1));
    assert_eq!(report.groups[0].items[0].similarity, Similarity::ExceptPosition);
    let text = super::text(&report, super::text::Options::default());
    assert!(text.contains("all 9 nodes\n") && text.contains("(at other positions on other nodes)"), "{text}");
    let comment = super::markdown(&report, 60_000);
    assert!(comment.contains("</code> (positions differ) |"), "{comment}");
    let full = super::text(&report, super::text::Options { full: true, ..Default::default() });
    assert!((1..=9).all(|at| full.contains(&format!("list[{at}]: \"new\""))), "{full}");
    // Other items are another change.
    let apart = lists(|node| if node % 2 == 0 { "even".to_owned() } else { "odd".to_owned() });
    assert_eq!(apart.groups.iter().map(|group| group.nodes.len()).collect::<Vec<_>>(), [5, 4]);
}
