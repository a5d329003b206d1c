//! Every view in a real browser: light, dark, with forced colours, narrow, by keyboard, without scripts.

use std::path::Path;
use std::process::Command;

use regex::Regex;

use crate::http::client::Daemon;
use crate::support::terminal::SITE;
use crate::support::{Sandbox, git_command};

/// Looks at views of a page as `tests/browser/check.js` does.
fn check(page: &Daemon, views: &[&str]) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser");
    let install = Command::new(format!("{folder}/install")).output().unwrap();
    assert!(install.status.success(), "{}", String::from_utf8_lossy(&install.stderr));
    let checked = Command::new("node")
        .env("NODE_PATH", String::from_utf8(install.stdout).unwrap().trim())
        .arg(format!("{folder}/check.js"))
        .arg(format!("http://{}", page.address))
        .args(views)
        .output()
        .unwrap();
    assert!(checked.status.success(), "{checked:?}");
}

#[test]
#[ignore = "needs Chromium"]
fn views_are_sound_in_a_browser() {
    let site = Sandbox::of(SITE);
    site.files(
        "-- data/common.yaml\nmotd: a word\nntp: [a, c]\nusers: {ada: {uid: 1, shell: /bin/sh}}\nbad: '%{nope(1)}'\n\
         long::enough::to::be::wider::than::a::small::window::of::a::phone: \"0123456789 0123456789 0123456789 \
         0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789\"\n\
         -- data/roles/web.yaml\nport: 8080\nntp: [d]\n-- data/nodes/web01.yaml\nport: 81\n-- data/nodes/none.yaml\nport: 1\n",
    );
    std::os::unix::fs::symlink("/etc/hierad-nothing.yaml", site.root().join("data/nodes/db01.yaml")).unwrap();
    let commit = site.commit("several things at once, in a subject that is long enough to need more than one line");
    let views = [
        "/",
        "/nodes",
        "/keys?search=n",
        "/nodes/web01",
        "/nodes/web01?key=port",
        "/nodes/web01?key=bad",
        "/keys/ntp",
        "/keys/users",
        "/commits",
        &format!("/commits/{commit}"),
        "/compare?node=web01&node=db01",
        "/what-if?node=web01&set=role%3Ddb",
        "/changes?key=port",
        "/check",
        "/files",
        "/files/data/common.yaml",
        "/search?search=w",
        "/nodes/none",
        "/keys/none",
        "/nodes/web01?key=none",
        "/search?search=prot",
        &format!("/diff?from={commit}~&to={commit}"),
    ];
    check(&Daemon::serve(site.root(), ""), &views);
}

#[test]
#[ignore = "needs Chromium and a corpus, in the folder HIERAD_SHARED"]
fn views_of_a_real_repository_are_sound_in_a_browser() {
    let shared = std::env::var("HIERAD_SHARED").unwrap_or_else(|_| "../shared".to_owned());
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join(shared).join("corpus");
    let folder = tempfile::tempdir().unwrap();
    let clone = git_command(folder.path()).arg("clone").arg(corpus.join("ocf.bundle")).arg("clone").output().unwrap();
    assert!(clone.status.success(), "{clone:?}");
    let profiles = corpus.join("ocf-profiles");
    let page = Daemon::serve(&folder.path().join("clone"), &format!("--profiles {}", profiles.display()));
    let link = Regex::new("href=\"(/(?:nodes|keys|files|commits)/[^\"]+)\"").unwrap();
    let links = |list: &str| -> Vec<String> {
        link.captures_iter(&page.get(list).body).map(|found| found[1].to_owned()).collect()
    };
    let [nodes, keys, files, commits] = ["/nodes", "/keys", "/files", "/commits"].map(links);
    let name = |link: &str| link.trim_start_matches("/nodes/").to_owned();
    let (one, other) = (name(&nodes[0]), name(&nodes[nodes.len() / 2]));
    let mut views = vec!["/".to_owned(), "/nodes".to_owned(), "/keys".to_owned(), "/check".to_owned()];
    views.extend([nodes[0].clone(), format!("{}?key={}", nodes[0], keys[0].trim_start_matches("/keys/"))]);
    views.extend(keys.iter().step_by(keys.len() / 3).cloned());
    views.extend(files.iter().step_by(files.len() / 2).cloned());
    views.extend(commits.iter().step_by(commits.len() / 4).cloned());
    views.extend([format!("/compare?node={one}&node={other}"), format!("/changes?node={one}")]);
    check(&page, &views.iter().map(String::as_str).collect::<Vec<_>>());
}
