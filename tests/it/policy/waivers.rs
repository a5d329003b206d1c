//! Waivers: what they take away, and what becomes of them when they expire.

use hierad::app::settings::Settings;
use hierad::policy::{Day, Policies};
use hierad::report::{PolicyHit, PolicyState};

use super::{hits, lines, site, trust};
use crate::report::report;

const BOTH: &str = "-- data/roles/web.yaml\nport: 81\n-- data/roles/db.yaml\nport: 5433\n";

const RULE: &str =
    "policies:\n  - {name: ports, level: warning, message: ask the network team, keys: port}\nwaivers:\n";

fn waived(waivers: &str) -> Vec<String> {
    hits(&site(&format!("{RULE}{waivers}"), BOTH))
}

#[test]
fn a_waiver_covers_what_it_names() {
    assert_eq!(
        waived("  - {policy: ports, reason: agreed, expires: 2999-01-31}\n"),
        ["ports | waived | warning | 1 key on both nodes"]
    );
    assert_eq!(
        waived("  - {policy: ports, nodes: 'web*', reason: agreed, expires: 2999-01-31}\n"),
        ["ports | hit | warning | 1 key on 1 of 2 nodes", "ports | waived | warning | 1 key on 1 of 2 nodes"]
    );
    assert_eq!(
        waived("  - {policy: ports, keys: motd, reason: agreed, expires: 2999-01-31}\n"),
        ["ports | hit | warning | 1 key on both nodes"]
    );
}

#[test]
fn an_expired_waiver_fails_with_its_name() {
    let expired = "  - {policy: ports, nodes: 'web*', reason: until we move, expires: 2020-02-29}\n";
    let site = site(&format!("{RULE}{expired}"), BOTH);
    assert_eq!(
        hits(&site),
        ["ports | expired | failure | 1 key on 1 of 2 nodes", "ports | hit | warning | 1 key on 1 of 2 nodes"]
    );
    let printed = site.hierad("diff --exit-code");
    let told = "the waiver of ports expired on 2020-02-29: until we move";
    assert!(printed.is(4).out.contains(told), "{printed:#?}");
    // One that would cover nothing says nothing.
    trust(&site, &format!("{RULE}{}", expired.replace("'web*'", "'mail*'")));
    assert_eq!(hits(&site), ["ports | hit | warning | 1 key on both nodes"]);
    site.hierad("diff --exit-code").is(2);
}

#[test]
fn what_is_left_must_still_exceed_the_numbers() {
    let rule = "policies:\n  - {name: wide, level: failure, message: m, more_than: {nodes: 1}}\nwaivers:\n";
    let waiver = "  - {policy: wide, nodes: web01, reason: agreed, expires: 2999-01-31}\n";
    let found = hits(&site(&format!("{rule}{waiver}"), BOTH));
    assert_eq!(found, ["wide | waived | failure | 1 key on 1 of 2 nodes"]);
}

#[test]
fn waivers_name_places_in_values() {
    let rule = "policies:\n  - {name: keys, level: failure, message: m, keys: users}\nwaivers:\n";
    let waiver = "  - {policy: keys, keys: users.ann, reason: she left, expires: 2999-01-31}\n";
    let users = "-- data/common.yaml\nmotd: hello\nusers: {ann: 1, bob: 1}\n";
    let site = site(&format!("{rule}{waiver}"), users);
    assert_eq!(hits(&site), ["keys | hit | failure | 1 key on both nodes"], "a new key is more than its entries");
    site.files(&users.replace("ann: 1", "ann: 2"));
    site.commit("ann");
    assert_eq!(hits(&site), ["keys | waived | failure | 1 key on both nodes"]);
    site.files(&users.replace("bob: 1", "bob: 2"));
    site.commit("both");
    let found = hits(&site);
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn waivers_of_files() {
    let rule = "policies:\n  - {name: seen, level: failure, message: m, blind_spots: unreached-file}\nwaivers:\n";
    let waiver = "  - {policy: seen, files: '*/mail.yaml', reason: planned, expires: 2999-01-31}\n";
    let mail = "-- data/roles/mail.yaml\nport: 25\n";
    let site = site(&format!("{rule}{waiver}"), mail);
    assert_eq!(hits(&site), ["seen | waived | failure | 1 blind spot: no known node reads data/roles/mail.yaml"]);
    site.files("-- data/roles/mail.yaml\nport: 26\n-- data/roles/dns.yaml\nport: 53\n");
    site.commit("dns");
    assert_eq!(hits(&site).iter().filter(|hit| hit.contains("| hit |")).count(), 1, "{:?}", hits(&site));
}

#[test]
fn a_waiver_in_json_has_its_reason_and_day() {
    let waiver = "  - {policy: ports, reason: agreed, expires: 2999-01-31}\n";
    let report = site(&format!("{RULE}{waiver}"), BOTH).hierad("diff --format json").json();
    assert_eq!(lines(&report).len(), 1);
    assert_eq!(report["policies"][0]["waiver"]["reason"], "agreed");
    assert_eq!(report["policies"][0]["waiver"]["expires"], "2999-01-31");
}

/// The policies of a file with this text.
fn policies(text: &str) -> Policies {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hierad.yaml");
    std::fs::write(&path, text).unwrap();
    Settings::load(&path).unwrap().policies.unwrap()
}

#[test]
fn a_waiver_counts_on_its_last_day() {
    let change = "{nodes: [a], before: {'*': {port: 1}}, after: {'*': {port: 2}}}";
    let report = report(&serde_yaml::from_str(change).unwrap());
    let policies = policies(&format!("{RULE}  - {{policy: ports, reason: r, expires: 2027-01-31}}\n"));
    let state = |day: &str| {
        let day: Day = day.parse().unwrap();
        policies.judge(&report, day).iter().map(PolicyHit::state).collect::<Vec<_>>()
    };
    assert_eq!(state("2027-01-30"), [PolicyState::Waived]);
    assert_eq!(state("2027-01-31"), [PolicyState::Waived]);
    assert_eq!(state("2027-02-01"), [PolicyState::Expired]);
}
