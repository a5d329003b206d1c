//! `{puppet: true}` in the settings: functions of the site's own that Puppet runs. A program stands in for Ruby and
//! shows what it is given; `tests/puppet/bridge.rb` has the real one.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::http::client::Daemon;
use crate::support::{Sandbox, git_in};

/// A site with a function in a module, and two nodes that differ in their role.
const SITE: &str = "
-- hiera.yaml
version: 5
hierarchy:
  - {name: Own, lookup_key: 'site::own', path: common}
  - {name: Common, path: plain.yaml}
-- data/common/motd
hello %{role}
-- data/plain.yaml
motd: plain
other: plain
-- modules/site/lib/puppet/functions/site/own.rb
# the code of the first commit
-- profiles/db01.yaml
name: db01
facts: {}
variables: {role: db}
-- profiles/web01.yaml
name: web01
facts: {}
variables: {role: web}
";

/// Gives what the files have for a key, and the first line of the code.
const RUBY: &str = r#"#!/bin/sh
field() { printf '%s' "$line" | grep -o "\"$1\":\[*\"[^\"]*\"" | head -n 1 | sed 's/.*:\[*"//; s/"$//'; }
while read -r line; do
    echo "$line" >> "$(dirname "$0")/asked"
    key=$(field key) path=$(field path) code=$(field modulepath)
    case $key in
        code) echo "{\"value\": \"$(head -n 1 "$code/site/lib/puppet/functions/site/own.rb")\"}" ;;
        fails) echo '{"failed": "the function fails"}' ;;
        raises) echo '{"failed": "undefined method", "file": "site/lib/puppet/functions/site/own.rb", "line": 7}' ;;
        raises_outside) echo '{"failed": "undefined method", "file": "/opt/x/lib/puppet/functions/site/own.rb", "line": 7}' ;;
        nil) case $line in
                 *'"interpolated":{"raw":"%{alias('*'"value":null}'*) echo '{"value": "was nil"}' ;;
                 *) echo '{"value": "%{alias('"'nothing'"')}", "interpolate": true}' ;;
             esac ;;
        error) case $line in
                 *'"interpolated":{"raw":"%{none}","failed":"Undefined variable'*) echo '{"value": "rescued"}' ;;
                 *) echo '{"value": "%{none}", "interpolate": true}' ;;
             esac ;;
        rich) echo '{"value": {"__hierad": "Hash", "pairs": [1, "one"]}, "rich": true}' ;;
        many) echo "{\"lookup\":{\"key\":\"k$(printf '%s' "$line" | grep -o '"is_hiera"' | wc -l)\",\"merge\":null,\"is_hiera\":false}}" ;;
        asks_*) case $line in
                    *'"found":'*) echo "{\"value\": $(printf '%s' "$line" | sed 's/.*"found":\(.*\)}\].*/\1/; s/}\],.*//')}" ;;
                    *'"failed":'*) echo "{\"failed\": $(printf '%s' "$line" | sed 's/.*"failed":\("[^"]*"\).*/\1/')}" ;;
                    *) IFS=_ read -r _ name merge by <<END
$key
END
                       test -n "$merge" && merge="\"$merge\""
                       echo "{\"lookup\":{\"key\":\"$name\",\"merge\":${merge:-null},\"is_hiera\":${by:-false}}}" ;;
                esac ;;
        slow) sleep 5 ;;
        dies) case $line in *'"node":"db'*) exit 1 ;; *) echo '{"value": "lives"}' ;; esac ;;
        *) if [ -f "$path/$key" ]; then
               echo "{\"value\": \"$(cat "$path/$key")\", \"interpolate\": true}"
           else
               echo '{"not_found": true}'
           fi ;;
    esac
done
"#;

fn settings(more: &str) -> String {
    format!("profiles: [../profiles]\nbackends:\n  site::own: {{puppet: true, ruby: $RUBY{more}}}\n")
}

/// A repository with these files, whose git directory has the settings.
fn site_with(files: &str, more: &str) -> Sandbox {
    let site = Sandbox::of(SITE);
    site.files(files);
    site.sh("git add --all; git commit --quiet --allow-empty -m second");
    trust(&site, &settings(more));
    site
}

fn trust(site: &Sandbox, settings: &str) {
    let ruby = site.beside("ruby");
    std::fs::write(&ruby, RUBY).unwrap();
    std::process::Command::new("chmod").arg("+x").arg(&ruby).status().unwrap();
    site.write(".git/hierad.yaml", settings.replace("$RUBY", ruby.to_str().unwrap()));
}

fn asked(site: &Sandbox) -> Vec<Json> {
    let lines = std::fs::read_to_string(site.beside("asked")).unwrap_or_default();
    let request = |line: &str| {
        let mut request: Json = serde_json::from_str(line).unwrap();
        let mut of = request["of"].take();
        of.as_object_mut().unwrap().append(request.as_object_mut().unwrap());
        of
    };
    lines.lines().map(request).collect()
}

fn lookup(site: &Sandbox, key: &str) -> String {
    let printed = site.hierad(&format!("lookup {key} --node web01 --render-as json"));
    if printed.status == 0 { printed.out.trim_end().to_owned() } else { printed.err }
}

#[test]
fn a_function_has_the_code_and_the_files_of_its_revision() {
    let site = site_with("", "");
    assert_eq!(lookup(&site, "motd"), "\"hello web\"");
    assert_eq!(lookup(&site, "code"), "\"# the code of the first commit\"");
    assert_eq!(lookup(&site, "other"), "\"plain\"");
    assert_eq!(lookup(&site, "rich"), "{\"1\":\"one\"}");
    let asked = asked(&site);
    let first = asked.iter().find(|request| request["key"] == "motd").unwrap();
    let expected = [("function", "site::own"), ("kind", "lookup_key"), ("key", "motd"), ("location", "data/common")];
    for (name, expected) in expected {
        assert_eq!(first[name], expected, "{first}");
    }
    assert!(first["path"].as_str().unwrap().ends_with("/data/common") && first["module_name"].is_null(), "{first}");
    assert_eq!((&first["options"], &first["scope"]), (&json!({}), &json!({})));
}

#[test]
fn files_that_only_a_function_may_read_are_not_said_to_be_read() {
    let site = site_with("-- data/common/extra.yaml\nmotd: extra\n", "");
    let page = Daemon::serve(site.root(), "");
    let body = page.get("/files").ok().to_owned();
    assert!(body.contains("Only functions may read 1 of them; known nodes read the others."), "{body}");
}

#[test]
fn files_with_keys_that_only_a_function_knows_are_not_seen() {
    let site = site_with("-- data/common/hidden\nb\n", "");
    assert_eq!(lookup(&site, "hidden"), "\"b\"");
    let report = |arguments: &str| -> Json { site.hierad(arguments).json() };
    let seen = report("diff HEAD~ HEAD --format json");
    assert_eq!(seen["verdict"], "no_change_seen", "{seen}");
    assert_eq!(seen["blind_spots"][0]["code"], "unlisted-keys", "{seen}");
    assert_eq!(seen["blind_spots"][0]["files"], json!(["data/common/hidden"]), "{seen}");
    let effects: Vec<&str> =
        seen["lines"].as_array().unwrap().iter().map(|line| line["reason"].as_str().unwrap()).collect();
    assert_eq!(effects, ["function"], "{seen}");
    // A file that a level reads itself tells of its keys.
    site.files("-- data/plain.yaml\nmotd: plain\nother: new\n");
    site.commit("other");
    assert_eq!(report("diff HEAD~ HEAD --format json")["blind_spots"], json!([]));
    // Who knows the function accepts its files.
    trust(&site, &(settings("") + "accept: {unlisted-keys: [data/common/*]}\n"));
    assert_eq!(report("diff HEAD~2 HEAD~ --format json")["verdict"], "no_change");
}

#[test]
fn nothing_is_left_behind() {
    let site = site_with("", "");
    lookup(&site, "motd");
    let stage = asked(&site)[0]["stage"].as_str().unwrap().to_owned();
    assert!(stage.contains("hierad_bridge_") && !std::path::Path::new(&stage).exists());
}

#[test]
fn what_a_function_has_interpolated_hierad_interpolates() {
    let site = site_with("-- data/plain.yaml\nmotd: plain\nnothing: ~\n", "");
    let rendered = site.hierad("render --format ndjson");
    let values: Vec<Json> = rendered.ok().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!([&values[0]["values"]["motd"], &values[1]["values"]["motd"]], ["hello db", "hello web"]);
    let motd = asked(&site).iter().filter(|request| request["key"] == "motd").count();
    assert_eq!(motd, 1, "nodes of which it is told the same share an answer");
    // It may go another way for what becomes nothing, or an error.
    assert_eq!(lookup(&site, "nil"), "\"was nil\"");
    assert_eq!(lookup(&site, "error"), "\"rescued\"");
}

/// A level beside the function's datadir, whose keys it looks up.
const LOOKED_UP: &str = "
-- hiera.yaml
version: 5
hierarchy:
  - {name: Own, lookup_key: 'site::own', path: common}
  - {name: Roles, datadir: roles, paths: ['%{role}.yaml', all.yaml]}
-- roles/web.yaml
list: [w, x]
text: web
-- roles/all.yaml
lookup_options: {set: {merge: unique}, hidden: {convert_to: Sensitive}, time: {convert_to: Timestamp}}
list: [a, x]
set: [a]
hash: {x: {y: 1.5}}
text: 'no role'
refers: \"is %{lookup('text')}\"
circle: \"%{lookup('asks_circle')}\"
broken: \"%{nope('x')}\"
hidden: s
time: '2026-01-01T00:00:00.000000000 UTC'
asks_text: '?'
asks_other: '?'
other: o
";

#[test]
fn a_function_looks_other_keys_up() {
    let site = site_with(LOOKED_UP, "");
    let found = [
        ("asks_text", "[\"web\"]"),
        ("asks_none", "[]"),
        ("asks_list", "[[\"w\",\"x\"]]"),
        ("asks_list_unique", "[[\"w\",\"x\",\"a\"]]"),
        ("asks_set", "[[\"a\"]]"),
        ("asks_list_unique_true", "[[\"w\",\"x\",\"a\"]]"),
        ("asks_hash", "[{\"x\":{\"y\":1.5}}]"),
        ("asks_refers", "[\"is web\"]"),
        ("asks_code", "[\"# the code of the first commit\"]"),
        ("asks_lookup", "[]"),
    ];
    for (key, value) in found {
        assert_eq!(lookup(&site, key), value, "{key}");
    }
    let failed = [
        ("asks_circle", "Recursive lookup detected in [asks_circle, circle]"),
        ("asks_broken", "Unknown interpolation method 'nope' (roles/all.yaml:"),
        ("asks_list_nonsense", "Unknown merge strategy: 'nonsense'"),
        (
            "asks_hidden",
            "unknown to hierad: what the function 'site::own' makes of its lookup of 'hidden', which is a secret",
        ),
        ("asks_time", "makes of its lookup of 'time', which is a value that JSON cannot hold"),
        ("many", "unknown to hierad: a function that looks up more than 64 other keys"),
    ];
    for (key, error) in failed {
        let told = lookup(&site, key);
        assert!(told.contains(error), "{key}: {told}");
    }
}

#[test]
fn the_lookups_of_a_function_count_for_a_diff() {
    let site = site_with(LOOKED_UP, "");
    let changed = |file: &str, edit: &str| {
        site.sh(&format!("sed -i '{edit}' {file}; git commit --quiet --all -m more"));
        let report = changes(&site, "HEAD~ HEAD").to_string();
        ["asks_text", "asks_other", "text", "other"].map(|key| report.contains(&format!("\"key\":\"{key}\"")))
    };
    assert_eq!(changed("roles/web.yaml", "s/text: web/text: www/"), [true, false, true, false]);
    assert_eq!(changed("roles/all.yaml", "s/no role/none/"), [true, false, true, false]);
    assert_eq!(changed("roles/all.yaml", "s/other: o/other: p/"), [false, true, false, true]);
    assert_eq!(changed("roles/web.yaml", "s/list:/more:/"), [false; 4]);
    assert_eq!(changed("hiera.yaml", "s/.%{role}.yaml., //"), [true, false, true, false]);
}

#[test]
fn the_errors_of_a_function_are_puppets() {
    let site = site_with("", ", timeout: 0.5");
    assert!(lookup(&site, "fails").contains("the function fails"));
    assert!(!lookup(&site, "fails").contains("unknown"));
}

#[test]
fn any_file_of_the_datadir_may_change_an_answer() {
    let site = site_with("-- data/common/other\nnew\n", "");
    let diff = site.hierad("diff HEAD~ HEAD --format json");
    let report: Json = serde_json::from_str(&diff.out).unwrap();
    assert_eq!(report["verdict"], "changes", "{}", diff.out);
    assert!(diff.out.contains("\"other\"") && diff.out.contains("\"new\""), "{}", diff.out);
    assert!(!diff.out.contains("unreached-file"), "{}", diff.out);
    site.write("data/common/other", "newer");
    let diff = site.hierad("diff HEAD . --format json");
    assert!(diff.out.contains("\"newer\""), "{}", diff.out);
    // A commit elsewhere asks for nothing again.
    site.sh("git add --all; git commit --quiet -m third; echo x > README; git add --all; git commit --quiet -m fourth");
    std::fs::remove_file(site.beside("asked")).unwrap();
    assert_eq!(site.hierad("diff HEAD~ HEAD").status, 0);
    let is_of_data = |request: &Json| ["motd", "other"].iter().any(|key| request["key"] == *key);
    assert!(!asked(&site).iter().any(is_of_data), "{:?}", asked(&site));
}

/// Levels with the name of the node in their options.
const BY_NODE: &str = "
-- hiera.yaml
version: 5
hierarchy:
  - {name: Own, lookup_key: 'site::own', path: common, options: {node: '%{trusted.certname}'}}
  - {name: Copy, lookup_key: 'site::own', path: common, datadir: copy}
-- data/plain.yaml
dies: 1
motd: 1
none: 1
-- copy/common/motd
hello %{role}
-- copy/plain.yaml
dies: 1
motd: 1
none: 1
-- profiles/db02.yaml
name: db02
facts: {}
variables: {role: db}
";

#[test]
fn nodes_with_the_same_answer_share_a_lookup() {
    let site = site_with(BY_NODE, "");
    let rendered = site.hierad("render --allow-blind --format ndjson");
    let nodes: Vec<Json> = rendered.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(nodes.len(), 3);
    for node in &nodes {
        let is_db = node["node"].as_str().unwrap().starts_with("db");
        assert_eq!(node["values"]["motd"], if is_db { "hello db" } else { "hello web" });
        // One that ends fails by itself; it is started again for the next one.
        if is_db {
            assert!(node["errors"]["dies"].to_string().contains("ended without an answer"), "{node}");
        } else {
            assert_eq!(node["values"]["dies"], "lives");
        }
    }
    let count = |key: &str| asked(&site).iter().filter(|request| request["key"] == key).count();
    assert_eq!([count("none"), count("motd")], [4, 3]);
}

/// Returns the keys that the function was asked for since the last time.
fn keys_asked(site: &Sandbox) -> BTreeSet<String> {
    let requests = asked(site);
    let keys = requests.iter().map(|request| request["key"].as_str().unwrap().to_owned());
    let keys = keys.filter(|key| !matches!(&**key, "lookup_options" | "hierad_probe")).collect();
    _ = std::fs::remove_file(site.beside("asked"));
    keys
}

fn changes(site: &Sandbox, revisions: &str) -> Json {
    let report: Json = site.hierad(&format!("diff {revisions} --format json")).json();
    keys_asked(site);
    report
}

#[test]
fn a_promise_of_the_files_that_are_read_spares_calls() {
    let site = site_with("-- data/common.yaml\nx: 1\n", ", reads: path");
    assert_eq!(lookup(&site, "motd"), "\"hello web\"");
    assert!(asked(&site)[0]["reads"] == "path", "{:?}", asked(&site));
    keys_asked(&site);
    // A file that is not promised concerns the keys in it alone.
    site.files("-- data/plain.yaml\nmotd: plain\nother: new\n-- data/else\nx\n");
    site.commit("other");
    let report: Json = site.hierad("diff HEAD~ HEAD --format json").json();
    assert_eq!(report["keys"]["changed"], 1, "{report}");
    assert_eq!(keys_asked(&site), BTreeSet::from(["other".to_owned()]));
    // It is not promised, so it is not a file of the function's.
    assert!(report["blind_spots"].as_array().unwrap().iter().all(|spot| spot["code"] != "unlisted-keys"), "{report}");
    // One that is promised concerns the keys for which the function answers otherwise.
    site.files("-- data/common/other\nnewer\n");
    site.commit("newer");
    let report = changes(&site, "HEAD~ HEAD");
    assert_eq!((&report["verdict"], &report["keys"]["changed"]), (&json!("changes"), &json!(1)), "{report}");
    assert!(report.to_string().contains("newer"), "{report}");
    site.files("-- data/common.json\n{}\n");
    site.commit("nothing");
    let report = changes(&site, "HEAD~ HEAD");
    assert_eq!(report["keys"]["changed"], 0, "{report}");
}

#[test]
fn references_of_a_function_are_those_that_its_files_show() {
    let site = site_with("-- data/common/motd\nsee %{lookup('other')}\n", ", reads: path");
    site.files("-- data/plain.yaml\nmotd: plain\nother: new\n");
    site.commit("other");
    let report = changes(&site, "HEAD~ HEAD");
    assert_eq!(report["keys"]["changed"], 2, "{report}");
    assert!(report.to_string().contains("see new"), "{report}");
    // What the stand-in makes up is in no file.
    assert!(lookup(&site, "nil").contains("makes up an interpolation that no file shows"), "{}", lookup(&site, "nil"));
}

#[test]
fn variables_in_the_files_of_a_function_are_read() {
    let files = "-- data/common/deep.yaml\nx: 1\ny: {'%{facts.nosuch}': ['%{role} %%{}{no_variable}']}\n-- data/else.yaml\nz: '%{facts.elsewhere}'\n";
    for (more, elsewhere) in [(", reads: path", false), ("", true)] {
        let site = site_with(files, more);
        let text = site.hierad("nodes check").is(2).out.clone();
        let words = "data/common/deep.yaml:2: warning: 'facts.nosuch' may be read by a function here, but not set on any of 2 nodes";
        assert!(text.contains(words) && !text.contains("'role'"), "{text}");
        assert!(!text.contains("no_variable"), "{text}");
        assert_eq!(text.contains("data/else.yaml:1: warning: 'facts.elsewhere'"), elsewhere, "{text}");
        let facts = site.hierad("nodes facts").out;
        assert!(facts.contains("data/common/deep.yaml:2"), "{facts}");
    }
}

#[test]
fn a_file_of_a_level_is_read_by_the_nodes_of_the_level() {
    let hiera = "-- hiera.yaml\nversion: 5\nhierarchy:\n  - {name: Own, lookup_key: 'site::own', path: common}\n  \
                 - {name: Node, path: 'nodes/%{trusted.certname}.yaml'}\n-- data/nodes/web01.yaml\nown: '%{facts.special}'\n";
    let site = site_with(hiera, "");
    site.write("profiles/web01.yaml", "name: web01\nfacts: {special: 1}\nvariables: {role: web}\n");
    // The function may read it for the other node, too, but nobody keeps data so.
    let checked = site.hierad("nodes check");
    assert!(!checked.is(0).out.contains("facts.special"), "{checked:#?}");
}

#[test]
fn datadirs_of_equal_content_are_told_apart() {
    let site = site_with(
        concat!(
            "-- hiera.yaml
version: 5
hierarchy:
  - {name: Own, lookup_key: 'site::own', path: one}
",
            "  - {name: Copy, lookup_key: 'site::own', path: two, datadir: copy}
",
            "-- copy/two/motd
from the copy
-- copy/one/x
1
-- data/two/motd
from the copy
-- data/one/x
1
",
            "-- data/plain.yaml
-- data/common/motd
",
        ),
        "",
    );
    assert_eq!(lookup(&site, "motd"), "\"from the copy\"");
}

#[test]
fn a_promise_does_not_count_where_links_lead_elsewhere() {
    let site = site_with("", ", reads: path");
    std::os::unix::fs::symlink("../plain.yaml", site.root().join("data/common/plain")).unwrap();
    site.commit("a link");
    site.files("-- data/plain.yaml\nmotd: plain\nother: new\n");
    site.commit("behind the link");
    keys_asked(&site);
    assert_eq!(site.hierad("diff HEAD~ HEAD --format json").status, 0);
    let asked = asked(&site);
    assert!(asked.iter().any(|request| request["key"] == "motd"), "{asked:?}");
    assert!(asked.iter().all(|request| request["reads"].is_null()), "{asked:?}");
}

#[test]
fn code_under_review_is_not_run() {
    let site = site_with("", "");
    site.git(["remote", "add", "origin", "."]);
    site.git(["update-ref", "refs/remotes/origin/main", "HEAD"]);
    site.git(["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
    site.files("-- modules/site/lib/puppet/functions/site/own.rb\n# evil\n");
    site.commit("a proposal");
    let error = lookup(&site, "motd");
    for text in ["is not run here", "modules/site/lib differs from that of origin/HEAD", "unknown to hierad"] {
        assert!(error.contains(text), "{error}");
    }
    assert_eq!(asked(&site).len(), 0);
    let diff = site.hierad("diff HEAD~ HEAD --format json --allow-blind");
    let report: Json = serde_json::from_str(&diff.out).unwrap();
    assert_ne!(report["verdict"], "no_change", "{}", diff.out);
    assert!(asked(&site).iter().all(|request| request["key"] != "code" || !request.to_string().contains("evil")));
    // The checked-out files are no more trusted, whatever HEAD is.
    site.git(["checkout", "--quiet", "origin/main"]);
    site.write("modules/site/lib/helper.rb", "# evil\n");
    assert!(site.hierad("lookup motd --node web01 --rev .").err.contains("differs from that of origin/HEAD"));
    // A name decides.
    site.git(["checkout", "--quiet", "--force", "main"]);
    trust(&site, &settings("").replace("puppet: true", "puppet: main"));
    assert_eq!(lookup(&site, "code"), "\"# evil\"");
}

#[test]
fn somebody_must_say_whose_code_is_trusted() {
    let site = site_with("", "");
    let clone = site.beside("clone");
    git_in(site.root(), ["clone", "--quiet", ".", clone.to_str().unwrap()]);
    let ask = || site.hierad(&format!("lookup motd --node web01 --repo {} --config .git/hierad.yaml", clone.display()));
    assert_eq!(ask().ok().trim_end(), "--- hello web");
    git_in(&clone, ["remote", "set-head", "origin", "--delete"]);
    assert!(ask().err.contains("does not know the default branch of its origin"), "{}", ask().err);
    site.git(["checkout", "--quiet", "--detach"]);
    assert!(lookup(&site, "motd").contains("HEAD is detached"), "{}", lookup(&site, "motd"));
    site.git(["checkout", "--quiet", "main"]);
    assert!(lookup(&site, "motd").contains("hello web"), "{}", lookup(&site, "motd"));
    // A proposal may be what is checked out wherever there is a remote.
    for name in ["upstream", "x/y", "Origin", "origin2", "gitlab"] {
        site.git(["remote", "add", name, "https://example.com/a.git"]);
        assert!(lookup(&site, "motd").contains("no remote is called 'origin'"), "{name}: {}", lookup(&site, "motd"));
        site.git(["remote", "remove", name]);
    }
    site.git(["remote", "add", "origin", "https://example.com/a.git"]);
    assert!(lookup(&site, "motd").contains("does not know the default branch"), "{}", lookup(&site, "motd"));
}

#[test]
fn a_branch_of_a_trusted_name_runs_nothing() {
    let site = site_with("", "");
    let server = site.beside("server.git");
    git_in(site.root(), ["clone", "--quiet", "--bare", ".", server.to_str().unwrap()]);
    site.files("-- modules/site/lib/puppet/functions/site/own.rb\n# evil\n");
    let evil = site.commit("a proposal");
    let places = [(&["HEAD"][..], "true"), (&["HEAD"], "origin/HEAD"), (&["x/HEAD"], "origin/x/HEAD")];
    let in_mirrors = [(&["origin/main"][..], "origin/main"), (&["heads/main"], "heads/main"), (&["@"], "'@'")];
    for (format, (pushed, named)) in ["files", "reftable"]
        .into_iter()
        .flat_map(|format| places.iter().chain(&in_mirrors).map(move |it| (format, it)))
    {
        let is_mirror = in_mirrors.iter().any(|(_, other)| other == named);
        for name in *pushed {
            git_in(site.root(), ["push", "--quiet", server.to_str().unwrap(), &format!("{evil}:refs/heads/{name}")]);
        }
        let job = site.beside(&format!("job-{format}-{}", named.replace(['/', '\''], "-")));
        git_in(site.root(), ["init", "--quiet", &format!("--ref-format={format}"), job.to_str().unwrap()]);
        git_in(&job, ["remote", "add", "origin", server.to_str().unwrap()]);
        let target = if is_mirror { "refs/heads" } else { "refs/remotes/origin" };
        git_in(&job, ["config", "remote.origin.fetch", &format!("+refs/heads/*:{target}/*")]);
        git_in(&job, ["fetch", "--quiet", "origin"]);
        git_in(&job, ["checkout", "--quiet", "--detach", &evil.to_string()]);
        let ask = |named: &str| {
            trust(&site, &settings("").replace("puppet: true", &format!("puppet: {named}")));
            let flags = format!("--repo {} --config .git/hierad.yaml", job.display());
            site.hierad(&format!("lookup code --node web01 {flags}"))
        };
        let refused = ask(named);
        assert!(refused.err.contains("is not run"), "{format} {named}: {refused:?}");
        let honest = if is_mirror { "refs/heads/main" } else { "origin/main" };
        assert!(ask(honest).err.contains("differs from that of"), "{format} {honest}");
    }
    assert_eq!(asked(&site).len(), 0);
}

#[test]
fn settings_of_the_tree_run_nothing() {
    let site = site_with("", "");
    std::fs::remove_file(site.root().join(".git/hierad.yaml")).unwrap();
    site.write("hierad.yaml", "profiles: [profiles]\nbackends: {'site::own': {puppet: true}}\n");
    let printed = site.hierad("lookup motd --node web01 --rev .");
    assert!(printed.err.contains("'backends' of the tree does not count for commands (site::own)"), "{}", printed.err);
    assert!(printed.err.contains("Unable to find"), "{}", printed.err);
}

#[test]
fn links_lead_nowhere_else() {
    for target in ["/etc", "../modules", "../../outside", "nothing"] {
        let site = Sandbox::of(SITE);
        std::os::unix::fs::symlink(target, site.root().join("data/link")).unwrap();
        site.commit("a link");
        trust(&site, &settings(""));
        let error = lookup(&site, "motd");
        assert!(error.contains("data/link is a symbolic link to nothing in data"), "{target}: {error}");
    }
    let site = Sandbox::of(SITE);
    std::os::unix::fs::symlink("motd", site.root().join("data/common/link")).unwrap();
    site.commit("a link");
    trust(&site, &settings(""));
    assert_eq!(lookup(&site, "link"), "\"hello web\"");
}

#[test]
fn late_answers_are_unknown() {
    let site = site_with("-- data/plain.yaml\nmotd: plain\nslow: plain\n", ", timeout: 0.2");
    // The first answer has the time that Puppet takes to start.
    let rendered = site.hierad("render --node web01 --allow-blind --format ndjson");
    let node: Json = serde_json::from_str(&rendered.out).unwrap();
    assert_eq!(node["values"]["motd"], "hello web");
    assert!(node["errors"]["slow"].to_string().contains("gave no answer within 0.2 s"), "{rendered:?}");
}

#[test]
fn the_line_that_raises_is_named() {
    let site = site_with("", "");
    let raised = "undefined method (raised by the function 'site::own')";
    for (key, place) in [
        ("raises", "modules/site/lib/puppet/functions/site/own.rb:7"),
        ("raises_outside", "/opt/x/lib/puppet/functions/site/own.rb:7"),
    ] {
        let told = lookup(&site, key);
        assert!(told.contains(raised) && told.contains(place), "{key}: {told}");
    }
    assert!(!lookup(&site, "fails").contains("raised by"));
}

/// A function that raises in each of the usual ways, and one that rescues what it looks up.
const RAISING: &str = "-- modules/site/lib/puppet/functions/site/own.rb
Puppet::Functions.create_function(:'site::own') do
  dispatch :own do
    param 'String[1]', :key
    param 'Hash', :options
    param 'Puppet::LookupContext', :context
  end
  def helper
    nil.fetch('x')
  end
  def own(key, _options, context)
    case key
    when 'plain' then raise 'boom'
    when 'argument' then raise ArgumentError, 'not this'
    when 'puppet' then raise Puppet::DataBinding::LookupError, 'no data'
    when 'deep' then helper
    when 'zero' then 1 / 0
    when 'rescues'
      begin
        call_function('lookup', 'plain')
      rescue StandardError => e
        e.message
      end
    else context.not_found
    end
  end
end
";

#[test]
#[ignore = "needs Puppet"]
fn puppet_tells_the_line_that_raises() {
    let site = site_with(RAISING, "");
    site.write(".git/hierad.yaml", "profiles: [../profiles]\nbackends:\n  site::own: {puppet: true}\n");
    let own = "modules/site/lib/puppet/functions/site/own.rb";
    for (key, text, line) in [
        ("plain", "boom", 12),
        ("argument", "not this", 13),
        ("puppet", "no data", 14),
        ("deep", "undefined method", 8),
        ("zero", "divided by 0", 16),
    ] {
        let told = lookup(&site, key);
        let named = told.contains(text) && told.contains("(raised by the function 'site::own')");
        assert!(named && told.contains(&format!("{own}:{line}")), "{key}: {told}");
    }
    // What the code sees is what Puppet would show it.
    assert!(!lookup(&site, "rescues").contains("raised by"));
    assert_eq!(lookup(&site, "other"), "\"plain\"");
}
