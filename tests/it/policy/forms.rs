//! Policies in each form of a report, and in the exit status.

use super::site;

const POLICIES: &str = "policies:
  - name: ports
    level: failure
    message: Ask the <network> team.
    reviewers: [team-net, '@ann']
    keys: port
  - {name: quiet, level: note, message: So you know., nodes: web01}
  - {name: words, level: warning, message: m, kinds: removed}
waivers:
  - {policy: quiet, reason: known in OPS-1, expires: 2999-01-31}
";

const WEB: &str = "-- data/roles/web.yaml\nport: 81\n";

#[test]
fn text_tells_them_below_the_verdict() {
    let site = site(POLICIES, WEB);
    let printed = site.hierad("diff");
    let text = printed.ok();
    let (head, rest) = text.split_once("\n\n").unwrap();
    assert!(head.starts_with("1 key changes on 1 of 2 nodes; policy ports fails\n"), "{text}");
    let expected = "policies: 1 fails, 1 waived
  failure  ports: 1 key on 1 of 2 nodes
           Ask the <network> team.
           needs a review by team-net, @ann
           port; data/roles/web.yaml:1
  waived   quiet: 1 key on 1 of 2 nodes
           So you know.
           waived until 2999-01-31: known in OPS-1
           port; data/roles/web.yaml:1
";
    assert!(rest.starts_with(expected), "{text}");
}

#[test]
fn markdown_and_html_tell_them_and_obey_no_message() {
    let site = site(POLICIES, WEB);
    let text = site.hierad("diff --format markdown").ok().to_owned();
    let policy = "- **failure** `ports`: 1 key on 1 of 2 nodes (`port`, `data/roles/web.yaml:1`)<br>";
    assert!(
        text.contains("\n**policies&#58; 1 fails, 1 waived**\n")
            || text.contains("\n**policies: 1 fails, 1 waived**\n"),
        "{text}"
    );
    assert!(text.contains(policy), "{text}");
    assert!(!text.contains("<network>") && !text.contains("@ann"), "{text}");
    assert!(text.find(policy) < text.find("| who |"), "{text}");
    let page = site.hierad("diff --format html").ok().to_owned();
    assert!(page.contains("<b>ports</b>: 1 key on 1 of 2 nodes"), "{page}");
    assert!(page.contains("Ask the &lt;network&gt; team."), "{page}");
}

#[test]
fn json_has_them_as_the_schema_says() {
    let site = site(POLICIES, WEB);
    let report = site.hierad("diff --format json").json();
    let policy = &report["policies"][0];
    assert_eq!(policy["reviewers"][0], "team-net");
    assert_eq!(policy["keys"], serde_json::json!(["port"]));
    assert_eq!(policy["places"], serde_json::json!([{"path": "data/roles/web.yaml", "line": 1}]));
    let nodes = usize::try_from(policy["nodes"].as_u64().unwrap()).unwrap();
    assert_eq!(report["node_sets"][nodes], serde_json::json!(["web01"]));
}

#[test]
fn the_exit_status_tells_that_a_policy_fails() {
    let site = site(POLICIES, WEB);
    site.hierad("diff").is(0);
    for of in ["", "=changes", "=errors", "=policies"] {
        site.hierad(&format!("diff --exit-code{of}")).is(4);
    }
    super::trust(&site, &POLICIES.replace("failure", "warning"));
    site.hierad("diff --exit-code").is(2);
    site.hierad("diff --exit-code=errors").is(0);
    site.hierad("diff --exit-code=policies").is(0);
    let text = site.hierad("diff").ok().to_owned();
    assert!(text.starts_with("1 key changes on 1 of 2 nodes; policy ports warns\n"), "{text}");
}
