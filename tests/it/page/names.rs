//! Names that do not exist, are misspelled, or do nothing.

use super::html::all;
use crate::http::client::Daemon;
use crate::support::Sandbox;
use crate::support::terminal::SITE;

/// A site whose key `gone` is gone, and whose key `new` is there only after the first commit.
fn site() -> Sandbox {
    let site = Sandbox::of(SITE);
    site.write("data/common.yaml", "motd: hello\nntp: [a, b]\ngone::port: 1\n");
    site.commit("a key");
    site.write("data/common.yaml", "motd: hello\nntp: [a, b]\nnew: 1\n");
    site.commit("another key");
    site
}

#[test]
fn unknown_keys_are_not_found_and_those_of_other_revisions_are_told() {
    let site = site();
    site.hierad("log --oneline").ok();
    let page = Daemon::serve(site.root(), "");
    let history = "which commits changed it?";
    for (path, words) in [
        ("/keys/prot", "did you mean port?"),
        ("/nodes/web01?key=prot", "did you mean port?"),
        ("/keys/gone::port?value=1", "Earlier commits had it: <a href=\"/changes?key=gone::port\">"),
        ("/nodes/web01?key=gone::port", "Earlier commits had it: <a href=\"/changes?key=gone::port\">"),
        ("/nodes/web01?key=new&rev=HEAD~2", "Other revisions have it: <a href=\"/changes?key=new\">"),
    ] {
        let answer = page.get(path);
        assert_eq!((answer.status, answer.body.contains(words)), (404, true), "{path}: {}", answer.body);
        assert!(answer.body.contains("has the key '"), "{path}: {}", answer.body);
        // No link leads nowhere.
        for link in all(&answer.body, "<p>[^<]*<a href=\"([^\"]*)\">which commits") {
            assert_eq!(page.get(&link).status, 200, "{path}: {link}");
        }
    }
    for path in ["/keys/prot", "/keys/port?rev=none", "/nodes/none?key=port", "/nodes/web01?key=prot"] {
        let answer = page.get(path);
        assert_eq!((answer.status, answer.body.contains(history)), (404, false), "{path}: {}", answer.body);
    }
    // Keys without a value on this node, and parts that are not there.
    site.write("data/roles/web.yaml", "port: 80\nonly::web: {a: 1}\n");
    site.write("data/roles/db.yaml", "port: '%{nope(1)}'\n");
    site.commit("a key of web servers, and one that fails");
    for (path, words) in [
        ("/nodes/db01?key=only::web", "No level has a value."),
        ("/nodes/web01?key=only::web.b", "No level has a value."),
        ("/nodes/web01?key=only::web.a", "<a href=\"/keys/only::web\">This key on all nodes</a>"),
        ("/nodes/db01?key=port", "has the key, whose lookup fails"),
    ] {
        assert!(page.get(path).ok().contains(words), "{path}");
    }
    assert!(page.get("/changes?key=prot").body.contains("has a key 'prot'; did you mean port?"));
}

#[test]
fn a_search_suggests_similar_names_and_keys_that_are_gone() {
    let site = site();
    let page = Daemon::serve(site.root(), "");
    for (path, words) in [
        ("/search?search=wbe01", "Did you mean <a href=\"/nodes/web01\">web01</a>"),
        ("/search?search=prot", "Did you mean <a href=\"/keys/port\">port</a>"),
        ("/keys?search=prot", "Did you mean <a href=\"/keys/port\">port</a>"),
        ("/files?search=data/comon.yaml", "Did you mean <a href=\"/files/data/common.yaml\">data/common.yaml</a>"),
    ] {
        let body = page.get(path).ok().to_owned();
        assert!(body.contains(words), "{path}: {body}");
    }
    assert!(!page.get("/search?search=web").ok().contains("Did you mean"));
    site.hierad("log --oneline").ok();
    let gone = "Earlier commits had:</p><ul class=\"names\"><li><a href=\"/changes?key=gone::port\">gone::port</a>";
    assert!(page.get("/search?search=GONE").ok().contains(gone));
    // Commits before the key do not know it.
    assert!(!page.get("/search?search=GONE&rev=HEAD~2").ok().contains("Earlier commits"));
}

#[test]
fn files_that_do_nothing_are_marked() {
    let site = Sandbox::of(SITE);
    site.files("-- data/roles/cache.yaml\nport: 11211\n-- data/roles/web.yaml\nport: [\n");
    site.commit("a file that no node reads, and a broken one");
    let page = Daemon::serve(site.root(), "");
    let items = all(page.get("/files").ok(), "<li>(.*?)</li>");
    let expected = [
        "data/common.yaml",
        "data/roles/cache.yaml no known node reads it",
        "data/roles/db.yaml",
        "data/roles/web.yaml cannot be read",
    ];
    assert_eq!(items[items.len() - 4..], expected);
    let note = |path: &str| all(page.get(path).ok(), "<p(?: class=\"quiet\")?>((?:No known|Known) nodes?.*?)</p>");
    assert_eq!(note("/files?search=common"), ["No known node reads 1 of all 4 files."]);
    assert_eq!(note("/files?rev=HEAD~1"), ["Known nodes read all of them."]);
    assert!(page.get("/files/data/roles/cache.yaml").ok().contains("No known node reads this file"));
}

#[test]
fn two_revisions_are_compared_from_where_a_reader_looks() {
    let site = site();
    site.git(["branch", "topic", "HEAD~1"]);
    let main = site.git(["branch", "--show-current"]);
    let page = Daemon::serve(site.root(), "");
    let commit = site.git(["rev-parse", "HEAD~1"]);
    for (path, link) in [
        ("/".to_owned(), format!("/diff?from={main}&amp;to=topic")),
        (format!("/commits/{commit}"), format!("/diff?from={commit}&amp;to=HEAD")),
        ("/diff?from=HEAD~1&to=topic".to_owned(), "/diff?from=topic&amp;to=HEAD~1".to_owned()),
    ] {
        let body = page.get(&path).ok().to_owned();
        assert!(body.contains(&format!("<a href=\"{link}\">")), "{path}: {body}");
        page.get(&link.replace("&amp;", "&")).ok();
    }
    let commits = page.get("/commits").ok().to_owned();
    let fields = all(&commits, "name=\"(?:from|to)\" value=\"([^\"]*)\"");
    assert_eq!(fields, [site.git(["rev-parse", "HEAD~2"]), site.git(["rev-parse", "HEAD"])]);
}
