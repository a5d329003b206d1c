//! Each way in which a place takes part in a value, and each reason why a line has no effect, by itself.

use serde_json::Value as Json;

use crate::support::Sandbox;
use crate::support::terminal::{SITE, nodes_of};

/// Returns the report of a commit in the site: `before` are files to begin with, `after` what the commit makes of them.
fn compared(before: &str, after: &str) -> Json {
    filtered(before, after, "")
}

fn filtered(before: &str, after: &str, filter: &str) -> Json {
    committed(before, after).hierad(&format!("diff --full --format json {filter}")).json()
}

fn committed(before: &str, after: &str) -> Sandbox {
    let site = Sandbox::of(SITE);
    site.files(before);
    site.sh("git add --all && git commit --quiet --allow-empty --message before");
    site.files(after);
    site.commit("after");
    site
}

fn place(of: &Json) -> String {
    format!("{}:{}", of["path"].as_str().unwrap(), of["line"])
}

/// Returns the sources of a difference after the change, its origin first, each with the way in which it takes part.
fn sources(report: &Json, path: &str) -> Vec<String> {
    let leaf = leaf(report, path);
    let how = |of: &Json| of["how"].as_str().unwrap_or("value").to_owned();
    let origin = Some(&leaf["after"]["origin"]).filter(|origin| !origin.is_null());
    let others = leaf["sources"]["after"].as_array().into_iter().flatten();
    origin.into_iter().chain(others).map(|of| format!("{} {}", how(of), place(of))).collect()
}

fn leaf<'r>(report: &'r Json, path: &str) -> &'r Json {
    let leaves = report["changes"].as_array().unwrap().iter().flat_map(|change| change["leaves"].as_array().unwrap());
    leaves.into_iter().find(|leaf| leaf["path"] == path).unwrap_or_else(|| panic!("{path} in {report:#}"))
}

/// Returns the changed lines that cause a difference.
fn causes(report: &Json, path: &str) -> Vec<String> {
    let of = |at: &Json| {
        let lines = &report["lines"][usize::try_from(at.as_u64().unwrap()).unwrap()];
        format!("{} {}", lines["side"].as_str().unwrap(), place(lines))
    };
    leaf(report, path)["lines"].as_array().unwrap().iter().map(of).collect()
}

/// Returns the changed lines with their effects, and the numbers of those that belong to them.
fn effects(report: &Json) -> Vec<String> {
    let of = |lines: &Json| {
        let mut words = vec![lines["side"].as_str().unwrap().to_owned(), place(lines)];
        words.push(lines["reason"].as_str().or(lines["effect"].as_str()).unwrap().to_owned());
        words.extend(lines["by"].is_object().then(|| place(&lines["by"])));
        words.extend(lines["keys"].as_array().into_iter().flatten().map(|key| key.as_str().unwrap().to_owned()));
        if !lines["nodes"].is_null() {
            words.push(format!("on {}", nodes_of(report, &lines["nodes"]).join(",")));
        }
        if let Some(with) = lines["with"].as_array() {
            words.push(format!("with {}", with.iter().map(Json::to_string).collect::<Vec<_>>().join(",")));
        }
        words.join(" ")
    };
    report["lines"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn a_value_is_a_source() {
    let report = compared("", "-- data/roles/web.yaml\nport: 8080\n");
    assert_eq!(sources(&report, "port"), ["value data/roles/web.yaml:1"]);
    assert_eq!(causes(&report, "port"), ["before data/roles/web.yaml:1", "after data/roles/web.yaml:1"]);
}

#[test]
fn all_places_that_are_merged_are_sources() {
    let options = "-- data/common.yaml\nntp: [a, b]\nlookup_options:\n  ntp: {merge: unique}\n";
    let before = format!("{options}-- data/roles/web.yaml\nntp: [c, d]\n");
    let report = compared(&before, "-- data/roles/web.yaml\nntp: [d, c]\n");
    assert_eq!(
        sources(&report, "ntp"),
        ["merge data/roles/web.yaml:1", "merge data/common.yaml:1", "lookup_options data/common.yaml:3"]
    );
}

const USERS: &str = "-- data/common.yaml
users: [ann, bob]
lookup_options:
  users: {merge: {strategy: deep, knockout_prefix: '--'}}
";

#[test]
fn a_knock_out_is_a_source() {
    let report = compared(USERS, "-- data/roles/web.yaml\nport: 80\nusers: ['--bob']\n");
    let leaf = leaf(&report, "users[1]");
    assert_eq!((&leaf["kind"], &leaf["before"]["value"]), (&"removed".into(), &"bob".into()));
    assert_eq!(sources(&report, "users[1]"), ["lookup_options data/common.yaml:3", "knock_out data/roles/web.yaml:2"]);
    assert_eq!(causes(&report, "users[1]"), ["after data/roles/web.yaml:2"]);
}

#[test]
fn a_text_that_becomes_empty_is_knocked_out() {
    let report = compared(
        "-- data/common.yaml\nmail: {to: ann, from: bob}\nlookup_options:\n  mail: {merge: {strategy: deep, knockout_prefix: '--'}}\n",
        "-- data/roles/web.yaml\nport: 80\nmail: {to: '--ann'}\n",
    );
    let leaf = leaf(&report, "mail.to");
    assert_eq!((&leaf["before"]["value"], &leaf["after"]["value"]), (&"ann".into(), &"".into()));
    assert_eq!(sources(&report, "mail.to"), ["knock_out data/roles/web.yaml:2", "lookup_options data/common.yaml:3"]);
    assert_eq!(causes(&report, "mail.to"), ["after data/roles/web.yaml:2"]);
}

#[test]
fn the_prefix_alone_knocks_out_all_items() {
    let report = compared(USERS, "-- data/roles/web.yaml\nport: 80\nusers: ['--', eve, joe]\n");
    assert_eq!(sources(&report, "users[0]")[..2], ["value data/roles/web.yaml:2", "lookup_options data/common.yaml:3"]);
    // More are gone than have come.
    let report = compared(USERS, "-- data/roles/web.yaml\nport: 80\nusers: ['--', eve]\n");
    let gone = report["changes"][0]["leaves"].as_array().unwrap().iter().find(|leaf| leaf["kind"] == "removed");
    let gone = gone.unwrap_or_else(|| panic!("{report:#}"))["path"].as_str().unwrap();
    let expected = ["lookup_options data/common.yaml:3", "knock_out data/roles/web.yaml:2"];
    assert_eq!(sources(&report, gone), expected);
}

#[test]
fn no_key_of_a_hash_is_knocked_out() {
    let users = |names: &str| {
        format!(
            "-- data/common.yaml\nusers: {names}\nlookup_options:\n  users: {{merge: {{strategy: deep, knockout_prefix: '--'}}}}\n"
        )
    };
    // The first node is the one with the role of a database.
    let before = format!("{}-- data/roles/db.yaml\nport: 5432\nusers: {{'--bob': 1}}\n", users("{ann: 1, bob: 1}"));
    let report = compared(&before, &users("{ann: 1}"));
    assert_eq!(sources(&report, "users.bob"), ["lookup_options data/common.yaml:3"]);
    assert_eq!(causes(&report, "users.bob"), ["before data/common.yaml:1"]);
}

#[test]
fn the_target_of_an_alias_is_a_source() {
    let before = "-- data/common.yaml\nntp: [a, b]\nservers: \"%{alias('ntp')}\"\n";
    let report = compared(before, "-- data/common.yaml\nntp: [a, c]\nservers: \"%{alias('ntp')}\"\n");
    assert_eq!(sources(&report, "servers[1]"), ["alias data/common.yaml:2", "alias data/common.yaml:1"]);
    assert_eq!(causes(&report, "servers[1]"), ["before data/common.yaml:1", "after data/common.yaml:1"]);
}

#[test]
fn the_target_of_a_lookup_is_a_source() {
    let before = "-- data/common.yaml\nmotd: hello\ntext: \"%{lookup('motd')} you\"\n";
    let report = compared(before, "-- data/common.yaml\nmotd: bye\ntext: \"%{lookup('motd')} you\"\n");
    assert_eq!(sources(&report, "text"), ["lookup data/common.yaml:2", "lookup data/common.yaml:1"]);
    assert_eq!(causes(&report, "text"), ["before data/common.yaml:1", "after data/common.yaml:1"]);
}

#[test]
fn a_text_with_variables_says_so() {
    let report = compared("", "-- data/common.yaml\nmotd: \"hello %{role}\"\nntp: [a, b]\n");
    assert_eq!(sources(&report, "motd"), ["variable data/common.yaml:1"]);
}

#[test]
fn options_of_a_merge_are_a_source() {
    let before = "-- data/roles/web.yaml\nport: 80\nntp: [c]\n";
    let after = "-- data/common.yaml\nmotd: hello\nntp: [a, b]\nlookup_options:\n  ntp: {merge: unique}\n";
    let report = compared(before, after);
    assert_eq!(sources(&report, "ntp[1]"), ["value data/common.yaml:2", "lookup_options data/common.yaml:4"]);
    assert_eq!(causes(&report, "ntp[1]"), ["after data/common.yaml:3"]);
}

#[test]
fn options_of_a_conversion_are_a_source() {
    let after = "-- data/common.yaml\nmotd: hello\nntp: [a, b]\nlookup_options:\n  port: {convert_to: String}\n";
    let report = compared("", after);
    assert_eq!(sources(&report, "port"), ["value data/roles/db.yaml:1", "conversion data/common.yaml:4"]);
    assert_eq!(causes(&report, "port"), ["after data/common.yaml:3"]);
}

/// The site's `hiera.yaml`, with a level for each kind of system before the last one.
const WITH_OS: &str = "-- hiera.yaml
version: 5
hierarchy:
  - {name: Node, path: 'nodes/%{trusted.certname}.yaml'}
  - {name: Role, path: 'roles/%{role}.yaml'}
  - {name: OS, path: 'os/%{facts.os.family}.yaml'}
  - {name: Common, path: common.yaml}
";
const DEBIAN: &str = "-- data/os/Debian.yaml\nmotd: Debian\n";

#[test]
fn a_new_level_is_a_source() {
    let report = compared(DEBIAN, WITH_OS);
    assert_eq!(sources(&report, "motd"), ["value data/os/Debian.yaml:1", "hierarchy hiera.yaml:5"]);
    assert_eq!(causes(&report, "motd"), ["after hiera.yaml:5"]);
}

#[test]
fn of_levels_that_are_called_alike_the_one_that_reads_the_file_is_a_source() {
    let module = |name: &str, levels: &str| {
        format!(
            "-- modules/{name}/hiera.yaml\nversion: 5\nhierarchy:\n{levels}  - {{name: Common, path: common.yaml}}\n"
        )
    };
    let data = |name: &str| {
        format!(
            "-- modules/{name}/data/common.yaml\n{name}::a: 1\n-- modules/{name}/data/os/Debian.yaml\n{name}::a: 2\n"
        )
    };
    let os = "  - {name: OS, path: 'os/%{facts.os.family}.yaml'}\n";
    for (changed, other) in [("a", "b"), ("b", "a"), ("zz", "a")] {
        let before = [module(changed, ""), module(other, os), data(changed), data(other)].concat();
        let report = compared(&before, &module(changed, os));
        let path = format!("{changed}::a");
        let expected = [
            format!("value modules/{changed}/data/os/Debian.yaml:1"),
            format!("hierarchy modules/{changed}/hiera.yaml:3"),
        ];
        assert_eq!(sources(&report, &path), expected);
        assert_eq!(causes(&report, &path), [format!("after modules/{changed}/hiera.yaml:3")]);
        // One that moves away lets the level behind it count, which the environment's is called like, too.
        let report = compared(&[before, module(changed, os)].concat(), &module(changed, ""));
        let expected = [
            format!("value modules/{changed}/data/common.yaml:1"),
            format!("hierarchy modules/{changed}/hiera.yaml:3"),
        ];
        assert_eq!(sources(&report, &path), expected);
    }
}

#[test]
fn only_the_level_that_matters_is_a_cause() {
    let site = "  - {name: Site, path: 'sites/%{site}.yaml'}\n";
    let after = WITH_OS.replace("  - {name: Role", &format!("{site}  - {{name: Role"));
    let report = compared(DEBIAN, &after);
    assert_eq!(causes(&report, "motd"), ["after hiera.yaml:6"]);
    assert_eq!(effects(&report), ["after hiera.yaml:4 unused", "after hiera.yaml:6 changes motd on web01"]);
}

#[test]
fn of_a_level_that_moves_both_halves_are_causes() {
    let before = format!("{WITH_OS}{DEBIAN}-- data/nodes/web01.yaml\nmotd: node\n");
    let os = "  - {name: OS, path: 'os/%{facts.os.family}.yaml'}\n";
    let after = WITH_OS.replace(os, "").replace("  - {name: Node", &format!("{os}  - {{name: Node"));
    let report = compared(&before, &after);
    assert_eq!(causes(&report, "motd"), ["before hiera.yaml:5", "after hiera.yaml:3"]);
}

#[test]
fn without_levels_all_of_a_configuration_is_a_cause() {
    let before = "-- hiera.yaml\nversion: 5\ndefaults: {datadir: data, data_hash: yaml_data}\nhierarchy:\n  - {name: Common, path: common.yaml}\n\
                  -- other/common.yaml\nmotd: other\nntp: [a, b]\n";
    let after = "-- hiera.yaml\nversion: 5\ndefaults: {datadir: other, data_hash: yaml_data}\nhierarchy:\n  - {name: Common, path: common.yaml}\n";
    let report = compared(before, after);
    assert_eq!(causes(&report, "motd"), ["before hiera.yaml:2", "after hiera.yaml:2"]);
}

#[test]
fn a_level_and_its_new_file_are_causes_together() {
    let report = compared("", &format!("{WITH_OS}{DEBIAN}"));
    assert_eq!(causes(&report, "motd"), ["after data/os/Debian.yaml:1", "after hiera.yaml:5"]);
}

#[test]
fn either_of_two_causes_is_one() {
    let before = "-- data/common.yaml\nmotd: hello\ntext: [\"%{lookup('owner')}\"]\n";
    let report = compared(before, "-- data/nodes/web01.yaml\nowner: ann\ntext: [ann]\n");
    assert_eq!(causes(&report, "text[0]"), ["after data/nodes/web01.yaml:1", "after data/nodes/web01.yaml:2"]);
}

#[test]
fn what_makes_the_change_alone_is_a_cause() {
    let before = "-- data/common.yaml\nmotd: hello\ntext: [\"%{lookup('owner')}\"]\n";
    let role = "-- data/roles/web.yaml\nport: 80\ntext: [bob]\n";
    let report = compared(before, &format!("-- data/nodes/web01.yaml\nowner: ann\ntext: [ann]\n{role}"));
    assert_eq!(causes(&report, "text[0]"), ["after data/nodes/web01.yaml:1", "after data/nodes/web01.yaml:2"]);
}

#[test]
fn a_level_is_tried_without_what_is_new_in_its_files() {
    let before = "-- data/os/Debian.yaml\nother: 1\n";
    let debian = "-- data/os/Debian.yaml\nmotd: x\n-- data/nodes/web01.yaml\nmotd: x\n";
    let report = compared(before, &format!("{WITH_OS}{debian}"));
    assert_eq!(causes(&report, "motd"), ["after data/nodes/web01.yaml:1"]);
}

#[test]
fn comments_and_other_quotes_are_equal() {
    let report = compared("", "-- data/common.yaml\n# a comment\nmotd: 'hello'\nntp: [a, b]\n");
    assert_eq!(effects(&report), ["before data/common.yaml:1 equal with 1", "after data/common.yaml:1 equal with 0"]);
}

#[test]
fn lines_that_all_nodes_override_are_shadowed() {
    let nodes = "-- data/nodes/web01.yaml\nmotd: one\n-- data/nodes/db01.yaml\n# a node\nmotd: two\n";
    let report = compared(nodes, "-- data/common.yaml\nmotd: other\nntp: [a, b]\n");
    assert_eq!(
        effects(&report),
        [
            "before data/common.yaml:1 shadowed data/nodes/db01.yaml:2",
            "after data/common.yaml:1 shadowed data/nodes/db01.yaml:2"
        ]
    );
}

/// The greeting of all nodes is said once more for a role, where one node has its own.
fn repeated() -> Sandbox {
    let more = "-- profiles/web02.yaml\n{name: web02, variables: {role: web}}\n\
                -- profiles/web03.yaml\n{name: web03, variables: {role: web}}\n-- data/nodes/web01.yaml\nmotd: one\n";
    committed(more, "-- data/roles/web.yaml\nport: 80\nmotd: hello\n")
}

#[test]
fn reasons_are_told_with_their_nodes() {
    let site = repeated();
    let report = site.hierad("diff --full --format json").json();
    assert_eq!(effects(&report), ["after data/roles/web.yaml:2 same data/common.yaml:1"]);
    let reasons = serde_json::json!([
        {"reason": "same", "by": {"path": "data/common.yaml", "line": 1}, "count": 2},
        {"reason": "shadowed", "by": {"path": "data/nodes/web01.yaml", "line": 1}, "count": 1},
    ]);
    assert_eq!(report["lines"][0]["reasons"], reasons);
    let text = "the same value as data/common.yaml:1 on 2 nodes, shadowed by data/nodes/web01.yaml:1 on 1 node";
    assert!(site.hierad("diff --full").out.contains(text));
    let printed = site.hierad("diff").out;
    let wrapped =
        "\n  data/roles/web.yaml:2\n    no effect: the same value as data/common.yaml:1 on 2 nodes, shadowed by";
    assert!(printed.contains(wrapped) && printed.ends_with("on 1 node\n"), "{printed}");
    let comment = site.hierad("diff --format markdown").out;
    assert!(comment.contains(": the same value as `data/common.yaml:1` on 2 nodes, shadowed by "), "{comment}");
}

#[test]
fn collections_that_nodes_override_are_shadowed() {
    let nodes = "-- data/nodes/web01.yaml\nntp: [c]\n-- data/nodes/db01.yaml\nntp: [d]\n";
    let report = compared(nodes, "-- data/common.yaml\nmotd: hello\nntp: [a, x]\n");
    let by = ["before", "after"].map(|side| format!("{side} data/common.yaml:2 shadowed data/nodes/db01.yaml:1"));
    assert_eq!(effects(&report), by);
}

#[test]
fn lines_that_repeat_another_place_are_the_same() {
    let report = compared("", "-- data/roles/web.yaml\nport: 80\nmotd: hello\n");
    assert_eq!(effects(&report), ["after data/roles/web.yaml:2 same data/common.yaml:1"]);
}

#[test]
fn lines_of_a_key_that_moves_are_told_together() {
    let after = "-- data/common.yaml\nntp: [a, b]\n-- data/roles/web.yaml\nport: 80\nmotd: hello\n\
                 -- data/roles/db.yaml\nport: 5432\nmotd: hello\n";
    let report = compared("", after);
    assert_eq!(
        effects(&report),
        [
            "before data/common.yaml:1 moved data/roles/db.yaml:2",
            "after data/roles/db.yaml:2 moved data/common.yaml:1 with 0",
            "after data/roles/web.yaml:2 moved data/common.yaml:1 with 0",
        ]
    );
}

#[test]
fn a_line_that_takes_the_place_of_another_belongs_to_it() {
    let before = "-- data/nodes/web01.yaml\nvariant: light\n";
    let report = compared(
        before,
        "-- data/nodes/web01.yaml\nother: 1\n-- data/common.yaml\nmotd: hello\nntp: [a, b]\nvariant: light\n",
    );
    assert_eq!(
        effects(&report),
        [
            "after data/common.yaml:3 changes variant on db01 with 1",
            "before data/nodes/web01.yaml:1 moved data/common.yaml:3",
            "after data/nodes/web01.yaml:1 changes other on web01",
        ]
    );
}

#[test]
fn a_text_that_moves_into_a_lookup_belongs_to_it() {
    let before = "-- data/common.yaml\ntext: \"%{lookup('owner')}\"\n-- data/nodes/web01.yaml\ntext: ann\n";
    let report = compared(before, "-- data/nodes/web01.yaml\nowner: ann\n");
    assert_eq!(
        effects(&report),
        [
            "before data/nodes/web01.yaml:1 same data/common.yaml:1",
            "after data/nodes/web01.yaml:1 changes owner on web01 with 0"
        ]
    );
}

#[test]
fn knock_outs_of_nothing_are_merged_away() {
    let report = compared(USERS, "-- data/roles/web.yaml\nport: 80\nusers: ['--abe']\n");
    assert_eq!(effects(&report), ["after data/roles/web.yaml:2 merged_away"]);
}

#[test]
fn options_of_no_key_and_levels_of_no_file_are_unused() {
    let options = "-- data/common.yaml\nmotd: hello\nntp: [a, b]\nlookup_options:\n  nothing: {merge: unique}\n";
    let report = compared("", &format!("{options}{WITH_OS}"));
    assert_eq!(effects(&report), ["after data/common.yaml:3 unused", "after hiera.yaml:5 unused"]);
}

#[test]
fn levels_with_other_names_are_unused() {
    let hiera = |first: &str, second: &str| {
        format!(
            "-- hiera.yaml\nversion: 5\nhierarchy:\n  - {{name: {first}, path: \"roles/%{{role}}.yaml\"}}\n  \
             - {{name: {second}, path: common.yaml}}\n"
        )
    };
    let before = hiera("one", "two");
    for (first, second) in [("one", "other"), ("other", "two"), ("two", "one"), ("first", "second")] {
        let report = compared(&before, &hiera(first, second));
        let effects = effects(&report);
        assert!(!effects.is_empty() && effects.iter().all(|effect| effect.contains(" unused")), "{effects:?}");
    }
    // Where something changes, each of them may be a part of the cause.
    let report = compared(&before, &hiera("one", "other").replace("common.yaml", "none.yaml"));
    assert!(!effects(&report).iter().all(|effect| effect.contains(" unused")), "{report:#}");
}

#[test]
fn lines_of_other_nodes_are_unreached() {
    let report = compared("", "-- data/nodes/web99.yaml\nmotd: other\n");
    assert_eq!(effects(&report), ["after data/nodes/web99.yaml:1 unreached motd"]);
}

#[test]
fn lines_of_a_key_that_fails_are_unknown() {
    let before = "-- data/roles/web.yaml\nport: 80\nmotd: \"%{lookup('motd')}\"\n";
    let report =
        compared(before, "-- data/common.yaml\nmotd: other\nntp: [a, b]\n-- data/nodes/db01.yaml\nmotd: hello\n");
    assert!(effects(&report).contains(&"after data/common.yaml:1 unknown_value motd".to_owned()), "{report:#}");
}

#[test]
fn lines_whose_changes_a_filter_hides_are_unknown() {
    let report = filtered("", "-- data/common.yaml\nmotd: other\nntp: [a, c]\n", "--key ntp");
    assert_eq!(
        effects(&report),
        [
            "before data/common.yaml:1 hidden motd",
            "before data/common.yaml:2 changes ntp on db01,web01",
            "after data/common.yaml:1 hidden motd",
            "after data/common.yaml:2 changes ntp on db01,web01",
        ]
    );
}

#[test]
fn levels_that_may_hide_each_other_are_not_traced() {
    let family = DEBIAN.replace("os/Debian", "families/Debian");
    let before = format!("{WITH_OS}{DEBIAN}{family}");
    let after = WITH_OS.replace("{name: OS, path: 'os/", "{name: Family, path: 'families/");
    let report = compared(&before, &format!("{after}-- data/roles/web.yaml\nport: 81\n"));
    let told = effects(&report);
    assert_eq!(told[2..], ["before hiera.yaml:5 not_traced", "after hiera.yaml:5 not_traced"]);
    // Where nothing changes at all, they do nothing together.
    assert_eq!(effects(&compared(&before, &after)), ["before hiera.yaml:5 unused", "after hiera.yaml:5 unused"]);
}

#[test]
fn lines_below_another_key_now_are_changed() {
    let before = "-- data/common.yaml\nusers:\n  ann:\n    shell: sh\n";
    let report = compared(before, &before.replace("ann", "abe"));
    let ranges: Vec<(&Json, &Json)> =
        report["lines"].as_array().unwrap().iter().map(|lines| (&lines["line"], &lines["last"])).collect();
    assert_eq!(ranges, [(&2.into(), &3.into()), (&2.into(), &3.into())]);
}

const SHADOWED: &str = "-- data/common.yaml\nmotd: other\nntp: [a, c]\n";
const OF_ALL: &str = "-- data/nodes/web01.yaml\nmotd: one\n-- data/nodes/db01.yaml\n# a node\nmotd: two\n";

#[test]
fn comments_name_causing_and_idle_lines() {
    let site = committed(OF_ALL, SHADOWED);
    let comment = site.hierad("diff --format markdown --link-base https://example.com/blob/main/").out;
    let expected = [
        "` after · 1 file, 4 changed lines, 2 with an effect, 2 without effect\n",
        "[`data/common.yaml:2`](https://example.com/blob/main/data/common.yaml#L2) |\n",
        "\n**2 changed lines have no effect**\n\n\
         - `data/common.yaml:1` (removed): shadowed by `data/nodes/db01.yaml:2` and 1 more place\n\
         - [`data/common.yaml:1`](https://example.com/blob/main/data/common.yaml#L1): shadowed by \
         [`data/nodes/db01.yaml:2`](https://example.com/blob/main/data/nodes/db01.yaml#L2) and 1 more place\n",
    ];
    assert!(expected.iter().all(|text| comment.contains(text)), "{comment}");
    let told = "  data/common.yaml:1 (removed)  no effect: shadowed by data/nodes/db01.yaml:2 and 1 more place\n";
    assert!(site.hierad("diff").out.contains(told));
    // Without room for the list the number stays.
    let short = site.hierad("diff --format markdown --budget 1500").out;
    assert!(short.contains("2 without effect") && !short.contains("lines have no effect"), "{short}");
}

#[test]
fn pages_name_causing_and_idle_lines() {
    let site = committed(OF_ALL, SHADOWED);
    let page = site.hierad("diff --format html --link-base https://example.com/blob/main/").out;
    let link = |path: &str, line: u32| {
        let base = "https://example.com/blob/main";
        format!("<a href=\"{base}/{path}#L{line}\"><code>{path}:{line}</code></a>")
    };
    let (own, by) = (link("data/common.yaml", 1), link("data/nodes/db01.yaml", 2));
    let expected = [
        "<li>1 file, 4 changed lines, 2 with an effect, 2 without effect</li>".to_owned(),
        format!("<p class=\"by\">by {}</p>", link("data/common.yaml", 2)),
        "<h2>2 changed lines have no effect</h2>".to_owned(),
        format!("<li>{own}: <span class=\"quiet\">shadowed by </span>{by}"),
    ];
    assert!(expected.iter().all(|text| page.contains(text)), "{page}");
}

/// Keys of all nodes and a few of one role, all of which a commit changes.
fn many(value: usize) -> String {
    let keys = (0..600).map(|at| format!("k{at:03}: {}\n", at * value)).collect::<Vec<_>>().concat();
    format!(
        "-- data/common.yaml\nmotd: hello\nntp: [a, b]\n{keys}-- data/roles/web.yaml\nport: {value}\nzone: {value}\n"
    )
}

#[test]
fn each_group_of_many_changes_says_why() {
    let site = committed(&many(2), &many(3));
    let comment = site.hierad("diff --format markdown --budget 100000").out;
    // The first key is 0 on both sides.
    let expected = ["| `data/common.yaml:4-501` and more |\n", "| `data/roles/web.yaml:1-2` |\n"];
    assert!(expected.iter().all(|text| comment.contains(text)), "{comment:.4000}");
    let report = site.hierad("diff --full --format json").json();
    let changes = report["changes"].as_array().unwrap();
    let traced = |change: &&Json| change["lines"].is_array();
    assert_eq!((changes.len(), changes.iter().filter(traced).count()), (601, 500));
    assert_eq!(causes(&report, "zone"), ["before data/roles/web.yaml:2", "after data/roles/web.yaml:2"]);
}

#[test]
fn pages_begin_with_the_groups_and_fold_long_ones() {
    let site = committed(&many(2), &many(3));
    let page = site.hierad("diff --format html --link-base https://example.com/blob/main/").out;
    let expected = [
        "<li><a href=\"#group-1\">both nodes</a><span class=\"quiet\">: 599 keys</span></li>",
        "<a href=\"#group-2\">1 of 2 nodes: web01</a><span class=\"quiet\">: 2 keys</span>",
        "<section class=\"panel\" id=\"group-2\"",
        "<details class=\"rest\"><summary>579 more changes</summary>",
    ];
    assert!(expected.iter().all(|text| page.contains(text)), "{page:.5000}");
    // The place is told once, as a link.
    assert_eq!(page.matches("data/roles/web.yaml:2<").count(), 1, "{page:.5000}");
    let one = committed("", SHADOWED).hierad("diff --format html").out;
    assert!(!one.contains("href=\"#group-1\"") && !one.contains("<details class=\"rest\">"), "{one}");
}
