//! The settings of policies: whose count, and what is wrong with them.

use super::{DATA, hits, lines, trust};
use crate::support::Sandbox;
use crate::support::terminal::SITE;

const WEB: &str = "-- data/roles/web.yaml\nport: 81\n";

fn of_tree(policies: &str) -> String {
    format!("-- hierad.yaml\nprofiles: [profiles]\n{policies}")
}

const PORTS: &str = "policies: [{name: ports, level: failure, message: ask, keys: port}]\n";

#[test]
fn policies_of_the_base_count() {
    let site = Sandbox::of(&format!("{SITE}{DATA}{}", of_tree(PORTS)));
    let first = site.id("HEAD");
    site.files(WEB);
    site.commit("a change");
    assert_eq!(hits(&site), ["ports | hit | failure | 1 key on 1 of 2 nodes"]);
    site.hierad("diff --exit-code").is(4);
    // The side under review says nothing: neither without the rule, nor with a waiver, nor with another rule.
    let other = "policies: [{name: other, level: failure, message: m}]\n";
    let waiver = format!("{PORTS}waivers: [{{policy: ports, reason: mine, expires: 2999-01-31}}]\n");
    for mine in ["", other, &*waiver] {
        site.git(["checkout", "--quiet", "--detach", &first.to_string()]);
        site.files(&format!("{}{WEB}", of_tree(mine)));
        site.commit("a change with policies");
        let printed = site.hierad("diff --format json --allow-blind");
        assert_eq!(lines(&printed.json()), ["ports | hit | failure | 1 key on 1 of 2 nodes"], "{mine}");
        if !mine.is_empty() {
            printed.says(&["'policies', 'waivers', 'accept' and 'check' are taken from the revision before"]);
        }
        // Nor do they say how the data is read.
        assert!(!printed.out.contains("changed-settings"), "{printed:#?}");
        // They count for those who come after.
        site.files("-- data/roles/web.yaml\nport: 82\n");
        site.commit("the next change");
        let expected: &[&str] = match mine {
            "" => &[],
            mine if mine == other => &["other | hit | failure | 1 key on 1 of 2 nodes"],
            _ => &["ports | waived | failure | 1 key on 1 of 2 nodes"],
        };
        assert_eq!(hits(&site), expected, "{mine}");
    }
}

#[test]
fn the_target_judges_and_not_the_commit_that_a_request_begins_at() {
    let site = Sandbox::of(&format!("{SITE}{DATA}{}", of_tree("")));
    let old = site.id("HEAD").to_string();
    site.files(&of_tree(PORTS));
    site.commit("a policy");
    for (begins, name) in [("main", "fresh"), (&*old, "stale"), (&*old, "merging")] {
        site.git(["checkout", "--quiet", "-B", name, begins]);
        site.files(WEB);
        site.commit("a change");
    }
    // Several merge bases: the policy is merged into a branch that began before it, and into another one.
    site.git(["merge", "--quiet", "--strategy=ours", "--message", "ours", "main~0"]);
    for name in ["fresh", "stale", "merging"] {
        site.git(["checkout", "--quiet", name]);
        site.hierad(&format!("diff --exit-code main...{name}")).is(4);
        site.hierad(&format!("review --base main --head {name} --summary ../summary")).is(4);
        // One that only edits policies is green, and counts once it is merged.
        site.git(["checkout", "--quiet", "-B", "edits", "main"]);
        site.files(&of_tree(""));
        site.commit("no policy");
        site.hierad("review --base main --head edits --summary ../summary").is(0);
    }
}

#[test]
fn trusted_policies_rule() {
    let site = Sandbox::of(&format!("{SITE}{DATA}{}", of_tree(PORTS)));
    trust(&site, "policies: [{name: all, level: note, message: m}]\n");
    site.files(WEB);
    site.commit("a change");
    assert_eq!(hits(&site), ["all | hit | note | 1 key on 1 of 2 nodes"]);
    site.hierad("diff --exit-code").is(2);
    site.hierad("diff --exit-code=policies").is(0);
}

#[test]
fn policies_that_cannot_be_read_fail() {
    let site = Sandbox::of(&format!("{SITE}{DATA}{}", of_tree("policies: [{name: x}]\n")));
    site.files(&format!("{}{WEB}", of_tree(PORTS)));
    site.commit("mended");
    let found = hits(&site);
    let told =
        "unreadable-policies | hit | failure | hierad.yaml:2: policy 'x': needs a 'level': note, warning or failure";
    assert_eq!(found, [told]);
    // Other faults of settings without policies are no concern.
    site.files("-- hierad.yaml\nprofiles: [profiles]\nnonsense: 1\n");
    site.commit("a fault");
    site.files(&format!("{}-- data/roles/web.yaml\nport: 82\n", of_tree("")));
    site.commit("mended");
    assert_eq!(hits(&site), [""; 0]);
}

/// A fault in policies shuts everything out that follows, so the commit that brings it is refused, and one that does
/// nothing but correct it is not.
#[test]
fn faults_of_policies_are_refused_when_they_come_and_can_be_corrected() {
    let wrong = PORTS.replace("level:", "levle:");
    for (name, before) in [("policies", of_tree(PORTS)), ("no policies", of_tree(""))] {
        let site = Sandbox::of(&format!("{SITE}{DATA}{before}"));
        site.files(&of_tree(&wrong));
        site.commit("a fault");
        let printed = site.hierad("diff --profiles profiles --exit-code=policies");
        assert!(
            printed.is(4).out.contains("policy unreadable-policies fails") && printed.out.contains("levle"),
            "{printed:?}"
        );
        assert_eq!(site.hierad("diff --profiles profiles HEAD~1 . --exit-code=policies").status, 4, "{name}");
        site.files(&of_tree(PORTS));
        site.commit("corrected");
        let corrected = site.hierad("diff --exit-code=policies --format json");
        let found = lines(&corrected.is(0).json());
        assert!(found[0].starts_with("unreadable-policies | hit | warning | hierad.yaml:"), "{name}: {found:?}");
        assert_eq!(found.len(), 1, "{found:?}");
        // Nor may it change how the data is read, or take the settings away.
        for other in [of_tree(PORTS).replace("profiles:", "manifests: false\nprofiles:"), "-- hierad.yaml\n".to_owned()]
        {
            site.git(["checkout", "--quiet", "--detach", "HEAD~1"]);
            site.files(&other);
            site.commit("other settings");
            let printed = site.hierad("diff --profiles profiles --exit-code=policies --format json").is(4).json();
            assert!(
                lines(&printed).iter().any(|hit| hit.starts_with("unreadable-policies | hit | failure | ")),
                "{name}"
            );
            site.git(["checkout", "--quiet", "main"]);
        }
        // What comes along is not judged, so it must not.
        site.files(WEB);
        site.commit("data");
        site.git(["reset", "--quiet", "--soft", "HEAD~2"]);
        site.commit("corrected, with data");
        let printed = site.hierad("diff --exit-code=policies --format json").is(4).json();
        assert!(lines(&printed).iter().any(|hit| hit.starts_with("unreadable-policies | hit | failure | ")), "{name}");
    }
    // Trusted policies do not depend on those of the tree.
    let site = Sandbox::of(&format!("{SITE}{DATA}"));
    trust(&site, "policies: [{name: all, level: note, message: m}]\n");
    site.files(&of_tree(&wrong));
    site.commit("a fault");
    assert_eq!(hits(&site), [""; 0]);
}

#[test]
fn whatever_cannot_be_read_may_have_policies() {
    let many = format!("{PORTS}{}", "#".repeat(1 << 20));
    let deep = format!("{PORTS}accept: {}{}\n", "[".repeat(250), "]".repeat(250));
    let fault = "nonsense: 1\n";
    for (name, settings) in [
        ("quoted", format!("\"policies\": [{{name: x}}]\n{fault}")),
        ("in braces", format!("{{policies: [{{name: x}}], {}}}\n", fault.trim())),
        ("a blank before the colon", format!("policies : [{{name: x}}]\n{fault}")),
        ("a question mark", format!("? policies\n: [{{name: x}}]\n{fault}")),
        ("an escape", format!("\"polic\\x69es\": [{{name: x}}]\n{fault}")),
        ("a byte order mark", format!("\u{feff}{PORTS}{fault}")),
        ("carriage returns", format!("{PORTS}{fault}").replace('\n', "\r")),
        ("no grammar", format!("{PORTS}]\n")),
        ("large", many),
        ("deep", deep),
        ("a list", "[policies]\n".to_owned()),
        ("twice", format!("profiles: a\nprofiles: b\n{PORTS}")),
        ("twice in a map", format!("datadirs: {{a: b, a: c}}\n{PORTS}")),
        ("a misspelled name", PORTS.replace("policies", "polices")),
        ("another name", PORTS.replace("policies", "Policies")),
        ("a short name", PORTS.replace("policies", "policy")),
    ] {
        let site = Sandbox::of(&format!("{SITE}{DATA}"));
        site.write("hierad.yaml", settings);
        refuses(&site, name);
    }
    let site = Sandbox::of(&format!("{SITE}{DATA}"));
    std::fs::write(site.root().join("hierad.yaml"), b"policies: [\xff]\n").unwrap();
    refuses(&site, "not UTF-8");
    for (name, target) in [("a link out", "../hierad.yaml"), ("a link to itself", "hierad.yaml"), ("a folder", "data")]
    {
        let site = Sandbox::of(&format!("{SITE}{DATA}"));
        link(&site, target);
        refuses(&site, name);
    }
    // A link to a file of the tree is read, and faults of settings that have no policies are no concern.
    let site = Sandbox::of(&format!("{SITE}{DATA}-- etc/settings.yaml\nprofiles: [profiles]\n"));
    link(&site, "etc/settings.yaml");
    site.commit("a link");
    site.files(WEB);
    site.commit("data");
    assert_eq!(hits(&site), [""; 0]);
}

/// Makes the settings of the tree a link.
fn link(site: &Sandbox, target: &str) {
    let path = site.root().join("hierad.yaml");
    _ = std::fs::remove_file(&path);
    std::os::unix::fs::symlink(target, path).unwrap();
}

/// Fails unless a change of data is refused that comes after the settings that are there.
#[track_caller]
fn refuses(site: &Sandbox, name: &str) {
    site.commit("settings");
    site.files(WEB);
    site.commit("data");
    let printed = site.hierad("diff --profiles profiles --exit-code=policies --format json");
    assert!(
        lines(&printed.json()).iter().any(|hit| hit.starts_with("unreadable-policies | hit | failure | ")),
        "{name}"
    );
    printed.is(4);
}

/// The other faults are tested where settings are read, in `src/app/settings/policy.rs`.
#[test]
fn faults_are_told_with_their_lines() {
    let site = Sandbox::of(SITE);
    for path in ["hierad.yaml", ".git/hierad.yaml"] {
        let profiles = site.root().join("profiles");
        site.write(path, format!("profiles: {}\npolicies:\n  - {{level: note, message: m}}\n", profiles.display()));
        site.hierad("diff").fails(&["hierad.yaml:3: a policy needs a 'name' that waivers and people can refer to"]);
        site.git(["checkout", "--quiet", "hierad.yaml"]);
    }
}

#[test]
fn a_file_of_the_tree_has_few_policies() {
    let site = Sandbox::of(SITE);
    let rule = |n| format!("  - {{name: p{n}, level: note, message: m, keys: k}}\n");
    let many = (0..600).map(rule).collect::<Vec<_>>().concat();
    site.files(&of_tree(&format!("policies:\n{many}")));
    site.hierad("diff").fails(&[
        "hierad.yaml:2: 'policies' and 'waivers' in the tree have 1200 entries and patterns: at most 1000 are allowed",
    ]);
    trust(&site, &format!("policies:\n{many}"));
    site.hierad("diff").is(0);
}
