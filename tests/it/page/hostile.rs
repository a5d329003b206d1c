//! The page shows as text whatever strangers write, and nobody gets it who may not.

use super::html::all;
use crate::http::client::Daemon;
use crate::support::Sandbox;
use crate::support::keys::{encrypted, key_file};
use crate::support::terminal::SITE;

/// Views of a site with a node and a key of these names, and of its last commit.
fn views(commit: &str) -> Vec<String> {
    let key = "%3Cscript%3Ealert%281%29%3C%2Fscript%3E";
    [
        "/".to_owned(),
        "/nodes".to_owned(),
        "/nodes?search=%3Cb%3E".to_owned(),
        "/nodes/web01".to_owned(),
        format!("/nodes/web01?key={key}"),
        "/keys".to_owned(),
        format!("/keys?search={key}"),
        format!("/keys/{key}"),
        format!("/keys/{key}?value=1"),
        "/commits".to_owned(),
        format!("/commits/{commit}"),
        format!("/search?search={key}"),
        format!("/changes?key={key}&node=web01"),
        format!("/changes?key={key}"),
        "/files".to_owned(),
        "/files?search=%3Cimg%20src=x%3E".to_owned(),
        "/files/data/common.yaml".to_owned(),
        "/files/data/roles/%3Cimg%20src=x%3E.yaml".to_owned(),
        "/search?search=onerror".to_owned(),
        "/check".to_owned(),
        format!("/diff?from={commit}~&to={commit}"),
        "/compare?node=web01&node=db01".to_owned(),
        "/compare?node=web01&node=%3Cimg%20src=x%3E".to_owned(),
        "/compare?node=web01&environment=%3Cimg%20src=x%3E&environment=y".to_owned(),
        "/compare?node=web01&environment=x&environment=y".to_owned(),
        "/what-if?node=web01&set=%3Cimg%20src=x%3E%3D1".to_owned(),
        "/what-if?node=web01&set=%3Cimg%20src=x%3E".to_owned(),
        "/what-if?node=web01&variable=role&value=%3Cimg%20src=x%3E".to_owned(),
        "/nodes/%3Cimg%20src=x%3E".to_owned(),
        "/keys/none?rev=%3Cimg%20src=x%3E".to_owned(),
    ]
    .into()
}

#[test]
fn hostile_names_and_values_are_text() {
    let site = Sandbox::of(SITE);
    site.settings(
        "profiles: [profiles]\npolicies:\n- {name: x, level: warning, message: '<img src=x> in a policy', kinds: error}\n",
    );
    let key = "'<script>alert(1)</script>'";
    site.files(&format!(
        "-- data/roles/<img src=x>.yaml\n{key}: 1\n-- data/common.yaml\n{key}: '\"><img src=x onerror=alert(1)>'\nmotd: \"\\e]0;x\\a\\u202e\"\nlist: [1]\n"
    ));
    let commit = site.commit("</title><script>alert(2)</script>").to_string();
    let page = Daemon::serve(site.root(), "");
    assert!(page.get("/check").ok().contains("&lt;img src=x&gt; in a policy"));
    for view in views(&commit) {
        let answer = page.get(&view);
        let body = &answer.body;
        assert!(matches!(answer.status, 200 | 400 | 404), "{view}: {answer:?}");
        for wrong in ["<script>alert", "<img", "<b>", "\u{1b}", "\u{202e}"] {
            // The page's own counts are bold.
            assert!(
                !body.contains(wrong) || wrong == "<b>" && !body.contains("<b>&quot;"),
                "{view}: {wrong} in {body}"
            );
        }
        assert_eq!(
            all(body, "(<script type=\"module\" src=\"/page.js\">)").len(),
            body.matches("<script").count(),
            "{view}"
        );
        assert!(!body.contains(" style=") && !body.contains(" onclick="), "{view}");
    }
}

#[test]
fn only_what_the_server_has_is_loaded() {
    let site = Sandbox::of(SITE);
    let page = Daemon::serve(site.root(), "");
    for view in ["/", "/nodes/none", "/page.css", "/page.js", "/icon.svg"] {
        let answer = page.get(view);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    }
    assert_eq!(page.get("/nodes/none").status, 404);
    assert!(page.get("/nodes/none").body.contains("there is no profile of node 'none'"));
    let near = [
        ("/nodes/web", "did you mean web01?"),
        ("/keys/prot", "did you mean port?"),
        ("/what-if?node=web01&variable=role&value=bd", "role=bd: no node has this value; nodes have db, web"),
        ("/nodes/web01?rev=HEAD", "All of this is at <code>HEAD</code>"),
        ("/changes?key=&node=web*", "Changes on web*"),
    ];
    for (path, words) in near {
        let page = page.get(path);
        assert!(page.body.contains(words), "{}", page.body);
    }
    assert_eq!(page.get("/nodes?limit=1").status, 400);
    assert_eq!(page.get("/nodes?rev=-x").status, 400);
    assert_eq!(page.ask("POST", "/nodes", "", b"").status, 405);
    // Another name of this machine, as a page that was made to resolve to it has one.
    page.ask("GET", "/", "Host: evil.example.com\r\n", b"").refuses(421, "localhost");
    site.hierad("serve --listen 0.0.0.0:0").fails(&["can be reached by others"]);
    site.hierad(&format!("serve --listen {}", page.address)).fails(&["cannot listen on", "takes any free port"]);
    assert_eq!(page.get("/what-if?node=none").status, 404);
    std::fs::remove_file(site.root().join("hierad.yaml")).unwrap();
    std::fs::remove_dir_all(site.root().join("profiles")).unwrap();
    site.hierad("serve --listen 127.0.0.1:0").fails(&["no node profiles", "hierad init"]);
    site.hierad("serve --listen nonsense").fails(&["is not an address with a port"]);
}

#[test]
fn secrets_reach_no_page() {
    let site = Sandbox::of(SITE);
    let [private, public] = ["default.key.pem", "default.pub.pem"].map(|name| key_file(name).display().to_string());
    site.settings("profiles: [profiles]\neyaml: {allowed_keys: ['/**']}\n");
    let options = format!("{{pkcs7_private_key: {private}, pkcs7_public_key: {public}}}");
    site.files(&format!(
        "-- hiera.yaml\nversion: 5\nhierarchy:\n- {{name: Secrets, lookup_key: eyaml_lookup_key, path: secrets.yaml, \
         options: {options}}}\n- {{name: Common, path: common.yaml}}\n-- data/secrets.yaml\npassword: {}\n\
         -- data/common.yaml\npassword: none\nlookup_options: {{hidden: {{convert_to: Sensitive}}}}\n\
         hidden: {{word: what is written}}\n",
        encrypted("hunter2 is the password", 1)
    ));
    let commit = site.commit("secrets").to_string();
    for (number, word) in [(1, "hunter2"), (2, "hunter2 again")] {
        let secret = encrypted(word, number);
        site.write("data/secrets.yaml", format!("password: {secret}\nmixed: {{number: {number}, word: '{secret}'}}\n"));
        site.commit("a secret in a hash");
    }
    let page = Daemon::serve(site.root(), "");
    let mut fingerprints = 0;
    for view in [
        "/nodes/web01".to_owned(),
        "/nodes/web01?key=password".to_owned(),
        "/nodes/web01?key=hidden".to_owned(),
        "/nodes/web01?key=hidden.word".to_owned(),
        "/nodes/web01?key=hidden.nothing".to_owned(),
        "/nodes/web01?key=hidden.word.more".to_owned(),
        "/nodes/web01?key=hidden.0".to_owned(),
        "/changes?key=hidden".to_owned(),
        "/changes?key=mixed".to_owned(),
        "/changes?key=password".to_owned(),
        "/check".to_owned(),
        "/files/data/common.yaml".to_owned(),
        "/search?search=what%20is%20writ".to_owned(),
        "/search?search=unter2%20is".to_owned(),
        "/keys/password".to_owned(),
        "/keys/hidden".to_owned(),
        format!("/commits/{commit}"),
    ] {
        let answer = page.get(&view);
        assert_eq!(answer.status, 200, "{view}: {answer:?}");
        assert!(
            !answer.body.contains("hunter2") && !answer.body.contains("what is written"),
            "{view}: {}",
            answer.body
        );
        fingerprints += answer.body.matches("secret").count();
    }
    assert!(fingerprints > 3);
    assert!(page.get("/changes?key=mixed").ok().contains("mixed: {number: 1, word: "));
}
