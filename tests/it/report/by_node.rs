//! Values that differ from node to node: each can be found in every form.

use std::fmt::Write as _;

use crate::support::Sandbox;
use crate::support::terminal::SITE;

/// The nodes, whose facts tell them apart, each with a file of its own.
const NODES: usize = 11;

/// Writes the nodes, and for each the data of its own file.
fn write(site: &Sandbox, common: &str, own: impl Fn(usize) -> String) {
    let profile = |node| format!("{{\"name\": \"n{node:02}\", \"facts\": {{\"user\": \"fact-{node:02}\"}}}}\n");
    site.write("profiles/all.ndjson", (1..=NODES).map(profile).collect::<String>());
    site.write("data/common.yaml", common);
    for node in 1..=NODES {
        site.write(&format!("data/nodes/n{node:02}.yaml"), own(node));
    }
}

/// A repository with two commits, which both sides of each node's data make.
fn site(common: [&str; 2], own: impl Fn(usize) -> [String; 2]) -> Sandbox {
    let site = Sandbox::of(SITE);
    std::fs::remove_file(site.root().join("profiles/web01.yaml")).unwrap();
    std::fs::remove_file(site.root().join("profiles/db01.yaml")).unwrap();
    for side in [0, 1] {
        write(&site, common[side], |node| own(node)[side].clone());
        site.commit("side");
    }
    site
}

/// Fails unless the forms have the word of each node, and the short text the number of those that it leaves out.
#[track_caller]
fn check(site: &Sandbox, word: &str) {
    let missing = |form: &str| {
        let printed = site.hierad(&format!("diff HEAD~1 HEAD {form}"));
        let text = printed.ok().replace("&#45;", "-");
        let missing: Vec<usize> = (1..=NODES).filter(|node| !text.contains(&format!("{word}-{node:02}"))).collect();
        assert!(missing.is_empty(), "{form}: {word} of {missing:?} in {text}");
    };
    for form in ["--full", "--format html", "--format markdown", "--format junit"] {
        missing(form);
    }
    let text = site.hierad("diff HEAD~1 HEAD");
    let left: &str = &text.ok().lines().filter(|line| line.contains(" more: `hierad diff --full ")).collect::<String>();
    assert!(left.contains("and 7 more: ") || left.contains("and 8 more: "), "{text:#?}");
    assert!(text.out.contains(&format!("{word}-03")), "{text:#?}");
}

#[test]
fn values_of_each_node_are_in_every_form() {
    let plain = |node: usize| [format!("root: old-{node:02}\n"), format!("root: new-{node:02}\n")];
    let changed = site(["a: 1\n"; 2], plain);
    check(&changed, "old");
    check(&changed, "new");
    let removed = site(["a: 1\n"; 2], |node| [plain(node)[0].clone(), "b: 1\n".to_owned()]);
    check(&removed, "old");
    let added = site(["a: 1\n"; 2], |node| ["b: 1\n".to_owned(), plain(node)[1].clone()]);
    check(&added, "new");
    let by_fact = site(["root: same\n", "root: 'x-%{facts.user}'\n"], |_| ["b: 1\n".to_owned(), "b: 1\n".to_owned()]);
    check(&by_fact, "fact");
}

#[test]
fn values_of_other_shapes_are_in_every_form() {
    let entry = |node| ["old", "new"].map(|word| format!("h: {{u: {word}-{node:02}, p: {word}{node}, same: 1}}\n"));
    check(&site(["a: 1\n"; 2], entry), "new");
    let lines = |node| ["old", "new"].map(|word| format!("root: |\n  a\n  {word}-{node:02}\n  b\n"));
    check(&site(["a: 1\n"; 2], lines), "new");
    let typed = |node| [format!("root: {node}\n"), format!("root: new-{node:02}\n")];
    check(&site(["a: 1\n"; 2], typed), "new");
    // The value before an error differs from node to node.
    let failing = |node| [format!("root: old-{node:02}\n"), "root: \"%{lookup('root')}\"\n".to_owned()];
    check(&site(["a: 1\n"; 2], failing), "old");
}

#[test]
fn nodes_with_one_value_are_named_together() {
    let shared = |node: usize| ["old", "new"].map(|word| format!("root: {word}-{:02}\n", node.div_ceil(2)));
    let text = site(["a: 1\n"; 2], shared).hierad("diff HEAD~1 HEAD").ok().to_owned();
    assert!(text.contains("n[03-04]: \"old-02\" -> \"new-02\""), "{text}");
    assert!(text.contains("and 2 more: `hierad diff --full "), "{text}");
}

#[test]
fn equal_values_need_no_list() {
    let mut seen = String::new();
    for own in [["root: a\n", "root: b\n"], ["l: [a]\n", "l: [a, b]\n"]] {
        let site = site(["a: 1\n"; 2], |_| own.map(str::to_owned));
        for form in ["", "--full", "--format html", "--format markdown", "--format junit"] {
            _ = write!(seen, "{}", site.hierad(&format!("diff HEAD~1 HEAD {form}")).ok());
        }
    }
    for word in ["other value", "an example", "more: `hierad"] {
        assert!(!seen.contains(word), "{word} in {seen}");
    }
}

#[test]
fn pages_keep_to_their_budget() {
    let long = "x".repeat(2000);
    let own = |node: usize| ["old", "new"].map(|word| format!("root: {word}-{node:02}-{long}\nk: {word}-{node:02}\n"));
    let site = site(["a: 1\n"; 2], own);
    let page = site.hierad("diff HEAD~1 HEAD --format markdown --budget 9000").ok().to_owned();
    assert!(page.chars().count() <= 9000 && page.contains("more"), "{page}");
}
