//! Every value on a page is the one of the commands.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::html::{all, rows, text, value};
use crate::history::site::Site;
use crate::http::client::Daemon;
use crate::support::Sandbox;
use crate::support::extent::{full_or, pause};
use crate::support::report::read;
use crate::support::terminal::SITE;

/// The values of nodes by node and key, and their errors.
type Values = BTreeMap<String, BTreeMap<String, Result<Json, String>>>;

const NODES: &str = "{\"name\": \"n1\", \"variables\": {\"role\": \"web\", \"site\": \"x\"}}\n\
                     {\"name\": \"n2\", \"variables\": {\"role\": \"web\"}}\n\
                     {\"name\": \"n3\", \"variables\": {\"role\": \"db\", \"site\": \"y\"}}\n\
                     {\"name\": \"n4\"}\n";

fn rendered(site: &Sandbox, revision: &str) -> Values {
    let printed = site.hierad(&format!("render {revision} --allow-blind --format ndjson"));
    let mut all = Values::new();
    for node in printed.ok().lines().map(|line| serde_json::from_str::<Json>(line).unwrap()) {
        let of = all.entry(node["node"].as_str().unwrap().to_owned()).or_default();
        for (key, value) in node["values"].as_object().unwrap() {
            of.insert(key.clone(), Ok(value.clone()));
        }
        for (key, error) in node["errors"].as_object().unwrap() {
            of.insert(key.clone(), Err(error.as_str().unwrap().to_owned()));
        }
    }
    all
}

/// A name in an address.
fn encoded(name: &str) -> String {
    name.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn check_node(page: &Daemon, (node, values): (&str, &BTreeMap<String, Result<Json, String>>), rev: &str) {
    let document = page.get(&format!("/nodes/{node}?rev={rev}")).ok().to_owned();
    let shown: BTreeMap<String, _> =
        rows(&document, "values").iter().map(|cells| (text(&cells[0]), value(&cells[1]))).collect();
    // The words of an error may name a place before them.
    assert_eq!(shown.keys().collect::<Vec<_>>(), values.keys().collect::<Vec<_>>(), "{node} at {rev}");
    for (key, value) in values {
        match (value, &shown[key]) {
            (Ok(value), shown) => assert_eq!(shown.as_ref(), Ok(value), "{key} on {node} at {rev}"),
            (Err(error), shown) => assert_eq!(shown.as_ref(), Err(error), "{key} on {node} at {rev}"),
        }
    }
}

fn check_ladder(site: &Sandbox, page: &Daemon, (node, key): (&str, &str), rev: &str) {
    let document = page.get(&format!("/nodes/{node}?rev={rev}&key={}", encoded(key))).ok().to_owned();
    let mut command = crate::support::terminal::hierad(site.root());
    command.args(["lookup", key, "--node", node, "--rev", rev, "--explain"]);
    let explained = crate::support::terminal::run(&mut command).out;
    let words = all(&document, "How Puppet explains it</summary><pre><code>(.*?)</code>");
    match words.first() {
        Some(words) => assert!(explained.contains(words.trim()), "{key} on {node} at {rev}:\n{words}\n{explained}"),
        // Where there is no value, it cannot be known to be open.
        None => assert!(!explained.contains("How it was found"), "{key} on {node} at {rev}: {explained}"),
    }
    // The levels that are said to have the value are those that it comes from.
    let found: Vec<_> = rows(&document, "ladder")
        .into_iter()
        .filter(|cells| cells[2].contains("of the value") || cells[2].contains("is the value"))
        .collect();
    for cells in &found {
        assert!(explained.contains(&text(&cells[1])), "{key} on {node} at {rev}: {cells:?}\n{explained}");
    }
}

/// The verdict of a view that compares.
fn verdict(document: &str) -> String {
    all(document, "<p class=\"verdict\">(.*?)</p>").pop().unwrap()
}

/// Follows the links of a report, and returns their number.
fn check_links(page: &Daemon, document: &str) -> usize {
    let (_, main) = document.split_once("<main").unwrap();
    let links: BTreeSet<String> = all(main, " href=\"(/[^\"]*)\"").into_iter().collect();
    for link in &links {
        let answer = page.get(link);
        assert_eq!(answer.status, 200, "{link} of {document}");
        let line = all(link, "[?&]line=([0-9]+)").pop().map(|line| line.parse::<usize>().unwrap());
        let first = rows(&answer.body, "values").first().map(|cells| text(&cells[0]));
        if let (Some(line), Some(first)) = (line, first) {
            let first: usize = first.trim_start_matches("line ").parse().unwrap();
            assert!(first <= line || line == 1, "{link} begins at {first}");
        }
    }
    links.len()
}

/// Compares the report on some keys and nodes of a commit.
fn check_part(site: &Sandbox, page: &Daemon, commit: &str) {
    for (asked, flags) in [("key=a", "--key a"), ("node=n2", "--node n2"), ("key=*d*&node=n[1", "--key *d* --node n[1")]
    {
        let printed = site.hierad(&format!("diff {commit}~ {commit} --allow-blind --format json {flags}"));
        let path = format!("/commits/{commit}?{asked}");
        if printed.status == 0 {
            assert_eq!(verdict(page.get(&path).ok()), read(printed.out)["headline"], "{flags}");
        } else {
            assert!(printed.err.contains("matches --"), "{flags}: {}", printed.err);
            let refused = page.get(&path);
            assert_eq!((refused.status, refused.body.contains(" matches ")), (404, true), "{refused:?}");
        }
    }
}

fn check_key(page: &Daemon, key: &str, values: &Values, rev: &str) {
    let document = page.get(&format!("/keys/{}?rev={rev}", encoded(key))).ok().to_owned();
    let mut shown = BTreeMap::new();
    for (position, cells) in (1..).zip(rows(&document, "values")) {
        let number: usize = all(&cells[0], "<b>(.*?)</b>")[0].parse().unwrap();
        let value = value(&cells[1]);
        let holders = page.get(&format!("/keys/{}?value={position}&rev={rev}", encoded(key))).ok().to_owned();
        let names: BTreeSet<String> = all(&holders, "<li><a href=\"/nodes/[^\"]*\">(.*?)</a>").into_iter().collect();
        let with = values.iter().filter(|(_, of)| of.get(key) == Some(&value)).map(|(node, _)| node.clone());
        assert_eq!(names, with.collect(), "{key} at {rev}");
        assert_eq!(shown.insert(format!("{value:?}"), number), None, "{key} at {rev}");
    }
    let mut expected = BTreeMap::new();
    for value in values.values().filter_map(|of| of.get(key)) {
        *expected.entry(format!("{value:?}")).or_insert(0) += 1;
    }
    assert_eq!(shown, expected, "{key} at {rev}");
}

/// Compares the views that are reports, and those of the commits that changed a key; returns the number of commits.
fn check_reports(site: &Sandbox, page: &Daemon, values: &Values) -> usize {
    let mut commits = 0;
    let verdict_at = |path: &str| verdict(page.get(path).ok());
    let report = |arguments: &str| read(site.hierad(&format!("{arguments} --format json")).out);
    assert_eq!(verdict_at("/diff?from=HEAD~2&to=HEAD"), report("diff HEAD~2 HEAD --allow-blind")["headline"]);
    assert!(page.get("/diff?from=HEAD~2&to=HEAD").body.contains("<title>HEAD~2 -&gt; HEAD - hierad</title>"));
    // The headline of two nodes begins with their names, which are the heading here.
    let named = |document: &str| format!("{}: {}", all(document, "<h1>(.*?)</h1>")[0], verdict(document));
    let compared = report("compare --node n1 --node n3");
    assert_eq!(named(page.get("/compare?node=n1&node=n3").ok()), compared["headline"]);
    let environments = page.get("/compare?node=n1&environment=x&environment=y");
    let printed = site.hierad("compare --node n1 --environment x --environment y --format json");
    match environments.status {
        200 => assert_eq!(named(&environments.body), read(printed.out)["headline"]),
        _ => assert!(printed.err.contains("environment=y: no data and no hierarchy reads"), "{}", printed.err),
    }
    let printed = site.hierad("render --allow-blind --node n1 --set role=db --set site=y --format ndjson");
    let with: Json = serde_json::from_str(printed.ok()).unwrap();
    let same = |(key, value): (&String, &Result<Json, String>)| match value {
        Ok(value) => with["values"].get(key) == Some(value),
        Err(error) => with["errors"].get(key).and_then(Json::as_str) == Some(error),
    };
    let without = &values["n1"];
    let added = with["values"].as_object().unwrap().keys().filter(|key| !without.contains_key(*key)).count();
    let changed = without.iter().filter(|one| !same(*one)).count() + added;
    let said = verdict_at("/what-if?node=n1&set=role%3Ddb&set=site%3Dy");
    assert_eq!(said.contains("no effective change") || said.contains("no change seen"), changed == 0, "{said}");
    assert!(changed == 0 || said.contains(&format!("{changed} key")), "{changed}: {said}");
    let unread = page.get("/what-if?node=n1&set=facts.rol%3Ddb&set=role%3Ddb").ok().to_owned();
    assert_eq!(all(&unread, "<div class=\"body\">(facts[^:]*): no data and no hierarchy reads"), ["facts.rol=db"]);
    // The fields of the form have the node's own values, and say the same as variables that are set.
    let form = page.get("/what-if?node=n1").ok().to_owned();
    let fields = all(&form, "name=\"variable\" value=\"([^\"]*)\"");
    let own = all(&form, "name=\"value\" value=\"([^\"]*)\"");
    assert!(fields.contains(&"role".to_owned()) && fields.len() == own.len(), "{form}");
    let sent = |role: &str, of_site: &str| {
        let text = |(name, own): (&String, &String)| match name.as_str() {
            "role" => role.to_owned(),
            "site" => of_site.to_owned(),
            _ => own.clone(),
        };
        let field = |one: (&String, &String)| format!("&variable={}&value={}", encoded(one.0), encoded(&text(one)));
        format!("/what-if?node=n1{}", fields.iter().zip(&own).map(field).collect::<String>())
    };
    assert_eq!(verdict_at(&sent("db", "y")), said);
    assert!(!page.get(&sent("web", "x")).ok().contains("class=\"verdict\""));
    for key in ["a", "d"] {
        let document = page.get(&format!("/changes?key={key}")).ok().to_owned();
        let shown = all(&document, "</time> <a[^>]*>(.*?)</a>");
        let printed = site.hierad(&format!("log {key} -n 20 --format ndjson"));
        let subjects = printed.out.lines().map(|line| read(line)["after"]["summary"].as_str().unwrap().to_owned());
        assert_eq!(shown, subjects.collect::<Vec<_>>(), "{key}");
        commits += check_timeline(site, &document, key);
    }
    commits
}

/// Compares the nodes that entries of a file decide a key on with those whose value is another without the entry, and
/// returns the number of entries.
fn check_file(site: &Sandbox, page: &Daemon, path: &str, values: &Values) -> usize {
    let document = page.get(&format!("/files/{path}")).ok().to_owned();
    let content = std::fs::read_to_string(site.root().join(path)).unwrap();
    let lines: Vec<&str> = content.lines().collect();
    let mut compared = 0;
    for cells in rows(&document, "values") {
        let (place, key) = (text(&cells[0]), text(&cells[1]));
        if cells[4].contains("unknown") {
            continue;
        }
        let from = place.strip_prefix("line ").unwrap().parse::<usize>().unwrap() - 1;
        let is_inside = |line: &&&str| line.starts_with([' ', '-']);
        let rest = &lines[from + 1..];
        let without = [&lines[..from], &rest[rest.iter().take_while(is_inside).count()..]].concat().join("\n") + "\n";
        site.write(path, without);
        site.git(["commit", "--quiet", "--all", "--message", "without an entry"]);
        let other = rendered(site, "HEAD");
        site.git(["reset", "--quiet", "--hard", "HEAD~"]);
        let differing = values.iter().filter(|(node, of)| of.get(&key) != other[*node].get(&key)).count();
        let shown = all(&cells[3], "<b>(.*?)</b>").pop().map_or(0, |number| number.parse().unwrap());
        assert_eq!(shown, differing, "{key} of {path}: {cells:?}\n{content}");
        compared += 1;
    }
    compared
}

/// Compares the keys and the numbers of nodes whose values have a text.
fn check_search(page: &Daemon, values: &Values) {
    let words = values.values().flat_map(BTreeMap::values).filter_map(|value| Some(value.as_ref().ok()?.to_string()));
    let words: Vec<String> = words.flat_map(|text| all(&text, "([a-z0-9]{3,})")).collect();
    for word in words.iter().step_by(words.len() / 5 + 1) {
        let shown: BTreeMap<(String, String), usize> = rows(page.get(&format!("/search?search={word}")).ok(), "values")
            .iter()
            .map(|cells| ((text(&cells[0]), value(&cells[2]).unwrap().to_string()), cells[1].parse().unwrap()))
            .collect();
        let mut expected = BTreeMap::new();
        let all = values.values().flatten().filter_map(|(key, value)| Some((key, value.as_ref().ok()?.to_string())));
        for (key, value) in all.filter(|(_, value)| value.to_lowercase().contains(word)) {
            *expected.entry((key.clone(), value)).or_insert(0) += 1;
        }
        assert_eq!(shown, expected, "{word}");
    }
}

/// Compares what is wrong.
fn check_faults(site: &Sandbox, page: &Daemon, rev: &str) {
    let printed = read(site.hierad(&format!("check {rev} --full --format json")).out);
    let faults = printed["findings"].as_array().unwrap();
    let document = page.get(&format!("/check?rev={rev}")).ok().to_owned();
    let shown = all(&document, "<div class=\"panel (?:alarm|doubt|note)\">(.*?)</div></div>");
    assert_eq!(shown.len(), faults.len(), "{rev}: {document}");
    for (shown, fault) in shown.iter().zip(faults) {
        for part in ["severity", "code", "text", "fix"] {
            assert!(shown.contains(fault[part].as_str().unwrap()), "{rev}: {fault} is shown as {shown}");
        }
    }
}

/// Compares the numbers of nodes with each value after each commit, and returns the number of commits.
fn check_timeline(site: &Sandbox, document: &str, key: &str) -> usize {
    let mut compared = 0;
    let is_whole = !document.contains("other values, each on few nodes");
    let rows = rows(document, "moments");
    let before = rows.last().map(|cells| text(&cells[0]));
    assert_eq!(before.as_deref(), Some("before these commits"), "{key}");
    for cells in &rows[..rows.len() - 1] {
        let numbers: Vec<usize> = cells[1..].iter().map(|cell| cell.parse().unwrap()).collect();
        let id = all(&cells[0], "/commits/([0-9a-f]{40})").pop().unwrap();
        let mut expected: BTreeMap<String, usize> = BTreeMap::new();
        let values = rendered(site, &id);
        for value in values.values().filter_map(|of| of.get(key)) {
            *expected.entry(format!("{value:?}")).or_default() += 1;
        }
        // Where a file is broken, names without data fail, too; they are not rendered.
        if expected.is_empty() && values.values().flat_map(BTreeMap::values).any(Result::is_err) {
            continue;
        }
        let (without, with) = numbers.split_last().unwrap();
        assert_eq!(4 - expected.values().sum::<usize>(), *without, "{key} at {id}");
        let sorted = |mut numbers: Vec<usize>| {
            numbers.retain(|number| *number > 0);
            numbers.sort_unstable();
            numbers
        };
        let (shown, expected) = (sorted(with.to_vec()), sorted(expected.into_values().collect()));
        assert!(!is_whole || shown == expected, "{key} at {id}: {shown:?}, {expected:?}");
        compared += usize::from(is_whole);
    }
    compared
}

#[test]
fn views_say_what_commands_say() {
    let (mut pages, mut commits, mut entries, mut links) = (0, 0, 0, 0);
    for seed in 1..=full_or(40, 4) {
        let Site { sandbox, .. } = Site::new(seed, 5);
        std::fs::write(sandbox.beside("nodes.ndjson"), NODES).unwrap();
        sandbox.settings("profiles: [../nodes.ndjson]\n");
        let page = Daemon::serve(sandbox.root(), "");
        for rev in ["HEAD", "HEAD~2"] {
            let values = rendered(&sandbox, rev);
            let commit = sandbox.git(["rev-parse", rev]);
            let report = read(sandbox.hierad(&format!("diff {commit}~ {commit} --allow-blind --format json")).ok());
            let document = page.get(&format!("/commits/{commit}")).ok().to_owned();
            assert_eq!(verdict(&document), report["headline"]);
            assert_eq!(all(&document, "<h1>(.*?)</h1>"), [report["after"]["summary"].as_str().unwrap()]);
            links += check_links(&page, &document);
            check_part(&sandbox, &page, &commit);
            pages += 2;
            for (node, of) in &values {
                check_node(&page, (node, of), rev);
                for key in of.keys() {
                    check_ladder(&sandbox, &page, (node, key), rev);
                }
                pages += 1 + of.len();
            }
            check_faults(&sandbox, &page, rev);
            pages += 1;
            let keys: std::collections::BTreeSet<&String> = values.values().flat_map(BTreeMap::keys).collect();
            pages += keys.len();
            for key in keys {
                check_key(&page, key, &values, rev);
            }
        }
        let values = rendered(&sandbox, "HEAD");
        for path in all(page.get("/files").ok(), "<li><a[^>]*>(.*?)</a>").into_iter().take(4) {
            entries += check_file(&sandbox, &page, &path, &values);
        }
        commits += check_reports(&sandbox, &page, &values);
        check_search(&page, &values);
        let nodes = all(page.get("/nodes").ok(), "<li><a[^>]*>(.*?)</a>");
        assert_eq!(nodes, ["n1", "n2", "n3", "n4"]);
        let subjects =
            rows(page.get("/commits").ok(), "commits-list").iter().map(|cells| text(&cells[3])).collect::<Vec<_>>();
        let expected = sandbox.git(["log", "--first-parent", "--format=%s"]);
        assert_eq!(subjects, expected.lines().collect::<Vec<_>>());
    }
    assert!(pages > 200 && commits > 10 && entries > 20 && links > 20, "{pages}, {commits}, {entries}, {links}");
}

#[test]
fn a_file_is_not_called_sound_where_that_is_unknown() {
    let site = Sandbox::of(crate::support::terminal::SITE);
    let fails = "motd: '%{nope(1)}'\n";
    site.files(&format!("-- data/common.yaml\n{fails}-- data/roles/web.yaml\n{fails}"));
    site.commit("a key that fails without the entry, too");
    let page = Daemon::serve(site.root(), "");
    let failing = page.get("/files/data/roles/web.yaml").ok().to_owned();
    assert!(failing.contains("the effect of 1 is unknown"), "{failing}");
    site.files("-- data/common.yaml\nmotd: [\n");
    site.commit("broken");
    let broken = page.get("/files/data/common.yaml").ok().to_owned();
    assert!(broken.contains("It cannot be read, so lookups that read it fail"), "{broken}");
    for document in [failing, broken] {
        assert!(!document.contains("decides something") && !document.contains("has no keys"), "{document}");
    }
}

#[test]
fn the_index_of_the_history_is_made_while_the_page_is_shown() {
    let site = Sandbox::of(crate::support::terminal::SITE);
    let page = Daemon::serve(site.root(), "");
    let (folder, start) = (site.root().join(".git/hierad/history"), Instant::now());
    while !folder.is_dir() {
        // The process has low priority, and other tests may hold it up.
        assert!(start.elapsed() < Duration::from_mins(10), "there is no index");
        pause(start);
    }
    assert!(page.get("/changes").ok().contains("<h1>Changes</h1>"));
}

#[test]
fn levels_that_cannot_be_read_or_seen_are_told() {
    let site = Sandbox::of(crate::support::terminal::SITE);
    site.files("-- data/roles/web.yaml\nmotd: [\n-- data/common.yaml\nmotd: common\n");
    std::fs::create_dir_all(site.root().join("data/nodes")).unwrap();
    _ = std::fs::remove_file(site.root().join("data/nodes/web01.yaml"));
    std::os::unix::fs::symlink("/etc/hierad-nothing.yaml", site.root().join("data/nodes/web01.yaml")).unwrap();
    site.commit("a broken file, and a link out");
    let page = Daemon::serve(site.root(), "");
    let document = page.get("/nodes/web01?key=motd").ok().to_owned();
    let word = |path: &str| {
        let of_path = |cells: &Vec<String>| cells[1].contains(path);
        text(&rows(&document, "ladder").into_iter().find(of_path).unwrap()[2])
    };
    assert!(word("data/roles/web.yaml").starts_with("cannot be read, so the lookup fails: "), "{document}");
    assert!(word("data/nodes/web01.yaml").starts_with("blind spot, on the server it may"), "{document}");
    assert_eq!(word("data/common.yaml"), "has the key, whose lookup fails");
}

#[test]
fn variables_are_those_that_the_revision_reads() {
    let site = Sandbox::of(SITE);
    site.write("data/common.yaml", "motd: '%{facts.owner}'\nlookup_options: {motd: {merge: first}}\n");
    site.commit("reads the owner");
    site.write("data/common.yaml", "motd: '%{facts.site}'\n");
    site.commit("reads the site");
    let page = Daemon::serve(site.root(), "");
    // Other revisions leave no trace.
    for path in ["/nodes/web01?rev=HEAD~1", "/commits/HEAD~1"] {
        assert!(page.get(path).body.contains("owner"));
    }
    for path in ["/nodes/web01", "/what-if?node=web01&set=facts.site%3Dx"] {
        let body = page.get(path).body;
        assert!(body.contains("facts.site") && !body.contains("owner"), "{path}: {body}");
    }
    let file = page.get("/files/data/common.yaml?rev=HEAD~1").body;
    assert!(file.contains("What the <code>lookup_options</code> on line 2 do is not in these numbers."), "{file}");
    let told = page.get("/what-if?node=web01&set=facts.owner%3Dx").body;
    assert!(told.contains("no data and no hierarchy reads this variable"), "{told}");
    assert!(page.get("/what-if?node=web01&set=facts.owner%3Dx&rev=HEAD~1").body.contains("1 key changes"));
}

#[test]
fn levels_above_that_cannot_be_seen_are_told() {
    let site = Sandbox::of(SITE);
    std::fs::create_dir_all(site.root().join("data/nodes")).unwrap();
    std::os::unix::fs::symlink("/etc/hierad-nothing.yaml", site.root().join("data/nodes/web01.yaml")).unwrap();
    site.commit("a link out");
    let page = Daemon::serve(site.root(), "");
    assert!(page.get("/").ok().contains("<a href=\"#blind-spots\"><b>1 blind spot</b></a>"));
    for (path, words) in [
        ("/keys/port", "these values, and may have the key"),
        ("/files/data/common.yaml", "this file, and may have its keys"),
    ] {
        let document = page.get(path).ok().to_owned();
        let told = format!("1 blind spot: 'Node' counts before {words} on the server");
        assert!(document.contains(&told), "{document}");
        assert!(document.contains("outside-repository: ["), "{document}");
    }
    assert!(page.get("/nodes/web01?key=port").ok().contains("outside-repository: ["));
    for path in ["/nodes/db01?key=port", "/files/data/roles/db.yaml"] {
        assert!(!page.get(path).ok().contains("blind spot"), "{path}");
    }
}

#[test]
fn changes_of_lists_and_hashes_show_both_sides() {
    let site = Sandbox::of(SITE);
    let long: Vec<String> = (0..40).map(|number| format!("server{number:02}")).collect();
    site.write("data/common.yaml", format!("motd: hello\nntp: [x, y, z]\nlong: [{}]\n", long.join(", ")));
    site.commit("other servers");
    site.write("data/common.yaml", format!("motd: hello\nlong: [{}, other]\n", long[..39].join(", ")));
    site.write("data/roles/web.yaml", "port: 81\n");
    site.write("data/roles/db.yaml", "port: 82\n");
    site.commit("no servers");
    let page = Daemon::serve(site.root(), "");
    for (key, lines) in [
        (
            "ntp",
            &[
                "ntp: - [\"x\", \"y\", \"z\"] on both nodes",
                "ntp: [\"a\", \"b\"] -> [\"x\", \"y\", \"z\"] on both nodes",
            ][..],
        ),
        ("port", &["port: 5432 -> 82 on 1 of 2 nodes", "port: 80 -> 81 on 1 of 2 nodes"]),
    ] {
        let shown = all(page.get(&format!("/changes?key={key}")).ok(), "<br><code>(.*?)</code>");
        assert_eq!(shown[..lines.len()], *lines, "{key}");
    }
    let shown = all(page.get("/changes?key=long").ok(), "<br><code>(.*?)</code>");
    assert!(shown[0].contains("long[39]: \"server39\" -> \"other\" on both nodes"), "{shown:?}");
    assert!(shown[1].starts_with("long: + [\"server00\", ") && shown[1].contains("… on both nodes"), "{shown:?}");
}
