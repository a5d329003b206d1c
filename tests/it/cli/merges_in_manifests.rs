//! Commits that change what manifests find by a merge strategy of their own, and nothing of what the data alone give.

use serde_json::Value as Json;

use crate::support::Sandbox;
use crate::support::terminal::SITE;

/// A value that is hidden by that of the node, unless both are merged.
const BEFORE: &str = "-- data/nodes/web01.yaml
list: [own]
users: {ada: 1}
-- data/common.yaml
motd: hello
ntp: [a, b]
list: [one]
users: {bob: 1}
";

/// Commits a change of the values that are hidden, in a site with a manifest, and returns the report.
fn report(manifest: &str, more: &str) -> Json {
    let site = Sandbox::of(&format!("{SITE}{BEFORE}-- manifests/site.pp\n{manifest}\n{more}"));
    let hidden = std::fs::read_to_string(site.root().join("data/common.yaml")).unwrap();
    let hidden = hidden.replace("[one]", "[two]").replace("{bob: 1}", "{bob: 2}");
    site.write("data/common.yaml", hidden);
    site.commit("second");
    // The other node has no values of its own: both are seen to change there.
    site.hierad("diff --format json").json()
}

fn spot(report: &Json) -> Option<&Json> {
    report["blind_spots"].as_array().unwrap().iter().find(|spot| spot["code"] == "merge-in-manifest")
}

#[test]
fn what_manifests_merge_is_no_calm() {
    for (manifest, key) in [
        ("$l = lookup('list', Array, 'unique')", "list"),
        ("$l = lookup({'name' => 'list', 'merge' => 'unique'})", "list"),
        ("$l = hiera_array('list')", "list"),
        ("hiera_include('list')", "list"),
        ("lookup('list', {merge => unique}).include", "list"),
        ("$u = hiera_hash('users', {})", "users"),
        ("$u = lookup('users', Hash, {'strategy' => 'deep', 'knockout_prefix' => '--'}, {})", "users"),
        ("$u = lookup('users', Hash, 'first')\n$v = lookup('users', Hash, 'hash')", "users"),
    ] {
        let report = report(manifest, "");
        let spot = spot(&report).unwrap_or_else(|| panic!("{manifest}: {report}"));
        let keys: Vec<&Json> = spot["keys"].as_array().unwrap().iter().collect();
        assert_eq!(keys, [key], "{manifest}");
        assert!(spot["message"].as_str().unwrap().contains("manifests/site.pp:"), "{spot}");
    }
}

#[test]
fn what_manifests_find_as_it_is_shown_is_not_told() {
    let options =
        "-- data/common.yaml\nmotd: hello\nntp: [a, b]\nlist: [one]\nlookup_options: {list: {merge: unique}}\n";
    for (manifest, more) in [
        ("$l = lookup('list')\n$u = hiera('users')", ""),
        ("$u = lookup('users', Hash, 'first')", ""),
        ("$l = lookup('list', Array, 'unique')", options),
        ("$m = lookup('motd', String, 'unique')", ""),
        ("# lookup('list', Array, 'unique')", ""),
        ("$l = lookup('other', Array, 'unique')", ""),
        // The node that has a value of its own knocks the other out.
        ("$u = lookup('users', Hash, 'deep')", "-- data/nodes/web01.yaml\nusers: {ada: 1, bob: 3}\n"),
    ] {
        let report = report(manifest, more);
        assert_eq!(spot(&report), None, "{manifest}");
    }
}

#[test]
fn settings_that_merge_as_manifests_do_show_it() {
    let manifest = "$l = lookup('list', Array, 'unique')";
    let settings = |text: &str| report(manifest, &format!("-- hierad.yaml\nprofiles: [profiles]\n{text}\n"));
    let merged = settings("lookup_options: {\"list\":{\"merge\":\"unique\"}}");
    assert_eq!((spot(&merged), &merged["nodes"]["changed"]), (None, &Json::from(2)), "{merged}");
    assert_eq!(spot(&settings("accept: {merge-in-manifest: [list]}")), None);
    assert!(spot(&settings("")).is_some());
}
