//! Every view in a real browser: light, dark, with forced colours, narrow, by keyboard, without scripts.

use std::process::Command;

use crate::http::client::Daemon;
use crate::support::Sandbox;
use crate::support::terminal::SITE;

#[test]
#[ignore = "needs Chromium"]
fn views_are_sound_in_a_browser() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser");
    let install = Command::new(format!("{folder}/install")).output().unwrap();
    assert!(install.status.success(), "{}", String::from_utf8_lossy(&install.stderr));
    let site = Sandbox::of(SITE);
    site.files(
        "-- data/common.yaml\nmotd: a word\nntp: [a, c]\nusers: {ada: {uid: 1, shell: /bin/sh}}\nbad: '%{nope(1)}'\n\
         long::enough::to::be::wider::than::a::small::window::of::a::phone: \"0123456789 0123456789 0123456789 \
         0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789\"\n\
         -- data/roles/web.yaml\nport: 8080\nntp: [d]\n-- data/nodes/web01.yaml\nport: 81\n",
    );
    let commit =
        site.commit("several things at once, in a subject that is long enough to need more than one line").to_string();
    let page = Daemon::serve(site.root(), "");
    let checked = Command::new("node")
        .env("NODE_PATH", String::from_utf8(install.stdout).unwrap().trim())
        .arg(format!("{folder}/check.js"))
        .arg(format!("http://{}", page.address))
        .args(["/", "/nodes", "/keys?search=n", "/nodes/web01", "/nodes/web01?key=port", "/nodes/web01?key=bad"])
        .args(["/keys/ntp", "/keys/users", "/commits", &format!("/commits/{commit}"), "/compare?node=web01&node=db01"])
        .args([
            "/what-if?node=web01&set=role%3Ddb",
            "/changes?key=port",
            "/check",
            "/files",
            "/files/data/common.yaml",
            "/search?search=w",
            "/nodes/none",
            "/keys/none",
        ])
        .output()
        .unwrap();
    assert!(checked.status.success(), "{checked:?}");
}
