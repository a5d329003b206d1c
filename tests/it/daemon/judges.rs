//! The settings that judge what comes to a branch: those of before the push.

use serde_json::Value as Json;

use super::service::Service;
use crate::support::Sandbox;

const POLICY: &str = "policies: [{name: guard, level: failure, message: ask, keys: a}]\n";

/// A commit of `main`'s tree or the given one's, with these settings and this value.
fn commit(site: &Sandbox, parent: &str, settings: &str, value: usize) -> String {
    site.git(["checkout", "--quiet", "--detach", parent]);
    site.files(&format!("-- hierad.yaml\n{settings}-- data/common.yaml\na: {value}\n"));
    site.commit("pushed");
    let id = site.id("HEAD").to_string();
    site.git(["checkout", "--quiet", "main"]);
    id
}

fn policies(report: &Json) -> Vec<&str> {
    report["policies"].as_array().into_iter().flatten().filter_map(|hit| hit["policy"].as_str()).collect()
}

#[test]
fn a_push_judges_none_of_its_own_commits() {
    let service = Service::with_snapshots("{}");
    let site = &service.site;
    let first = commit(site, "main", POLICY, 1);
    site.git(["update-ref", "refs/heads/main", &first]);
    site.git(["reset", "--quiet", "--hard"]);
    let daemon = service.start();
    service.wait("the daemon", || service.log().contains("hierad: watching"));
    // A new branch, and a push to it, whose first commits have no policy and whose second ones break it.
    let without = commit(site, "main", "{}\n", 1);
    let breaks = commit(site, &without, "{}\n", 2);
    site.git(["update-ref", "refs/heads/new", &breaks]);
    service.wait("the new branch", || service.told().len() == 2);
    // One that was there, with the policy.
    site.git(["update-ref", "refs/heads/known", &first]);
    service.wait("the known branch", || service.log().contains("branch=known"));
    let other = commit(site, "main", "# other\n", 1);
    let also = commit(site, &other, "# other\n", 3);
    site.git(["update-ref", "refs/heads/known", &also]);
    service.wait("the push", || service.told().len() == 4);
    // The default branch itself, by one push.
    let last = commit(site, &without, "# last\n", 4);
    site.git(["update-ref", "refs/heads/main", &last]);
    service.wait("the push to main", || service.is_idle() && service.told().len() == 6);
    service.end(daemon);
    for id in [&breaks, &also, &last] {
        let report = service.get_file(id);
        assert_eq!(policies(&report), ["guard"], "{report}");
        assert_eq!(report["judge"], *first, "{report}");
    }
    // It is made again by naming the judge.
    site.hierad(&format!("diff --exit-code=policies {first}...{breaks}")).is(4);
}
