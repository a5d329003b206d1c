//! `--set`: nodes with other values, without a change of their profiles.

use crate::support::Sandbox;
use crate::support::terminal::SITE;

const SET: &str = "--set role=db --set facts.os.family=Suse --set trusted.extensions.pp_role=x --set list:=[1,2]";

#[test]
fn nodes_are_as_if_their_profiles_said_so() {
    let (site, other) = (Sandbox::of(SITE), Sandbox::of(SITE));
    for site in [&site, &other] {
        site.files(
            "-- data/common.yaml\nmotd: '%{facts.os.family} %{trusted.extensions.pp_role} %{list.1} %{environment}'\n",
        );
        site.commit("more");
        site.files("-- data/roles/db.yaml\nport: 1\n");
        site.commit("port");
    }
    for (name, role) in [("web01", "web"), ("db01", "db")] {
        other.write(
            &format!("profiles/{name}.yaml"),
            format!(
                "{{name: {name}, environment: test, facts: {{os: {{family: Suse}}}}, trusted: {{extensions: {{pp_role: x}}}}, \
                 variables: {{role: {role}, list: [1, 2]}}}}"
            )
            .replace("role: web", "role: db"),
        );
    }
    let set = format!("{SET} --set environment=test");
    let without_ids = |site: &Sandbox, text: &str| {
        ["HEAD", "HEAD~1"].iter().fold(text.to_owned(), |text, name| {
            text.replace(&site.git(["rev-parse", "--short", *name]), name)
                .replace(&site.git(["rev-parse", *name]), name)
        })
    };
    let commands =
        ["diff HEAD~1 HEAD", "render --format ndjson", "lookup motd --node web01", "lookup port --node web01"];
    for command in commands {
        let (said, expected) = (site.hierad(&format!("{command} {set}")), other.hierad(command));
        assert_eq!(without_ids(&site, said.ok()), without_ids(&other, expected.ok()), "{command}");
        assert!(said.err.contains("hierad: what if: role=db, facts.os.family=Suse"), "{said:?}");
        assert_ne!(said.out, site.hierad(command).out, "{command}");
    }
}

#[test]
fn wrong_values_are_refused() {
    let site = Sandbox::of(SITE);
    site.hierad("render --set facts.os").fails(&["must be NAME=TEXT or NAME:=JSON"]);
    site.hierad("render --set a:={").fails(&["is not JSON"]);
}
