//! Policies in what the daemon reports and answers.

use super::client::Daemon;
use crate::support::Sandbox;
use crate::support::terminal::SITE;

#[test]
fn reports_and_answers_have_policies_of_the_commit_before() {
    let rule = "{name: ports, level: failure, message: Ask., keys: port}";
    let site = Sandbox::of(&format!("{SITE}-- hierad.yaml\nprofiles: [profiles]\npolicies: [{rule}]\n"));
    let daemon = Daemon::start(&site, "");
    site.files("-- data/roles/web.yaml\nport: 81\n-- hierad.yaml\nprofiles: [profiles]\n");
    let commit = site.commit("a change that takes the rule away");
    daemon.wait_for_reports(1);
    for path in [format!("/v1/reports/{commit}"), "/v1/diff".to_owned()] {
        let report = daemon.get(&path).json();
        assert_eq!(report["policies"][0]["policy"], "ports", "{path}: {report:#}");
        assert_eq!(report["policies"][0]["level"], "failure");
        assert!(report["headline"].as_str().unwrap().ends_with("; policy ports fails"), "{report:#}");
    }
}
