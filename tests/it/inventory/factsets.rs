//! Facts of machines that are no nodes: what `FacterDB` and onceover have.

use super::puppetdb::who;
use crate::support::Sandbox;
use crate::support::terminal::SITE;

/// Two machines of one name, as `FacterDB` has them, and two of onceover.
const FACTS: &str = r#"
-- facts/4.5/debian-12-x86_64.facts
{"facterversion": "4.5.2", "kernel": "Linux", "networking": {"fqdn": "foo.example.com"}, "os": {"family": "Debian"}}
-- facts/4.5/redhat-9-x86_64.facts
{"facterversion": "4.5.2", "kernel": "Linux", "networking": {"fqdn": "foo.example.com"}, "os": {"family": "RedHat"}}
-- facts/4.4/debian-12-x86_64.facts
{"facterversion": "4.4.0", "kernel": "Linux", "networking": {"fqdn": "foo.example.com"}, "os": {"family": "old"}}
-- spec/factsets/web.example.com.json
{"name": "buster", "values": {"os": {"family": "Debian"}, "networking": {"fqdn": "localhost"}}, "timestamp": "2021-01-01T02:16:21Z",
 "trusted": {"pp_role": "web"}, "trusted_external": {"cloud": {"zone": "z"}}}
-- spec/factsets/db.json
{"name": "buster", "values": {"os": {"family": "RedHat"}}, "trusted": {"extensions": {"pp_role": "db"}, "pp_zone": "q"}}
"#;

fn site(entries: &str) -> Sandbox {
    let site = Sandbox::of(SITE);
    site.files(FACTS);
    site.files(
        "-- hiera.yaml\nversion: 5\nhierarchy: [{name: c, path: common.yaml}]\n-- data/common.yaml\n\
         who: '%{trusted.certname} %{trusted.domain} %{os.family} %{trusted.extensions.pp_role} %{trusted.extensions.pp_zone} \
         %{trusted.external.cloud.zone} %{environment}'\n",
    );
    site.write("hierad.yaml", format!("puppet: 7\nprofiles:\n{entries}"));
    site.commit("facts");
    site
}

#[test]
fn nodes_are_called_as_the_files_of_their_facts() {
    let of_facterdb = site("  - factsets: facts/4.5\n");
    let expected = ["debian-12-x86_64  Debian    production", "redhat-9-x86_64  RedHat    production"];
    assert_eq!(who(&of_facterdb), expected);
    let of_onceover = site("  factsets: spec/factsets/*.json\n");
    let expected = ["db  RedHat db q  production", "web.example.com example.com Debian web  z production"];
    assert_eq!(who(&of_onceover), expected);
    // Once more, with what was kept.
    assert_eq!(who(&of_onceover), expected);
}

#[test]
fn factsets_of_one_name_are_ambiguous() {
    let site = site("  - factsets: facts\n");
    let printed = site.hierad("render --allow-blind --output -");
    printed.says(&["node debian-12-x86_64 has a profile in", "4.4/debian-12-x86_64.facts:1, too"]);
    assert!(!printed.out.contains("old"), "{}", printed.out);
}

#[test]
fn a_classifier_is_asked_for_factsets_by_name() {
    let site = site("  - factsets: facts/4.5\n");
    site.write(".git/enc", "#!/bin/sh\necho \"environment: $1\"\n");
    site.sh("chmod +x .git/enc");
    site.write(".git/hierad.yaml", "profiles:\n  - factsets: ../facts/4.5\n  - enc: ./enc\n");
    let who = who(&site);
    assert_eq!(who[0], "debian-12-x86_64  Debian    debian-12-x86_64");
}

#[test]
fn factsets_out_of_the_tree_do_not_count_from_it() {
    let site = site("  - profiles\n  - factsets: /etc\n");
    site.hierad("lookup who --node web01").says(&["'profiles' of the tree does not count for paths outside of it"]);
}
