//! `hierad init` offers to accept what reports would name again and again.

use crate::support::Sandbox;

const SITE: &str = "
-- hiera.yaml
version: 5
hierarchy:
- {name: Node, path: 'nodes/%{trusted.certname}.yaml'}
- {name: Team, path: 'teams/%{team}.yaml'}
- {name: Secrets, path: '/srv/secrets/common.yaml'}
- {name: Common, path: common.yaml}
-- data/common.yaml
motd: hello
-- data/teams/web.yaml
motd: web
-- nodes.ndjson
{\"name\": \"web01\"}
{\"name\": \"web02\"}
";

fn site() -> Sandbox {
    let site = Sandbox::of(SITE);
    site.write("data/common.yaml", "motd: welcome\n");
    site.commit("welcome");
    site
}

const INIT: &str = "--color never --profiles nodes.ndjson init --no-verify";

#[test]
#[ignore = "needs the command `script` of util-linux"]
fn init_offers_to_accept_what_all_commits_have() {
    let site = site();
    let said = site.on_terminal(&[("PAGER", "cat")], INIT, "y\n");
    let said = said.is(0).out.replace("\r\n", "\n");
    assert!(said.contains("accept?     undefined-variable: team\n"), "{said}");
    assert!(said.contains("[y/N]") && said.matches("written ").count() >= 2, "{said}");
    let settings = std::fs::read_to_string(site.root().join("hierad.yaml")).unwrap();
    assert!(
        settings.contains("accept:\n") && settings.contains("  undefined-variable:\n    - \"team\"\n"),
        "{settings}"
    );
    assert!(said.contains("'Secrets', 'Team' cannot be seen"), "{said}");
    site.commit("settings");
    site.write("data/common.yaml", "motd: good morning\n");
    site.commit("good morning");
    let shown = site.hierad("diff HEAD~1 HEAD");
    assert!(shown.ok().contains("1 standing blind spot: ") && !shown.out.contains("'Team'"), "{shown:?}");
}

#[test]
#[ignore = "needs the command `script` of util-linux"]
fn init_accepts_nothing_by_itself() {
    for (arguments, typed) in [(INIT.to_owned(), "n\n"), (format!("{INIT} --yes"), "y\n")] {
        let site = site();
        site.on_terminal(&[("PAGER", "cat")], &arguments, typed).is(0);
        let settings = std::fs::read_to_string(site.root().join("hierad.yaml")).unwrap_or_default();
        assert!(!settings.contains("accept"), "{settings}");
    }
    let site = site();
    site.hierad(INIT).ok();
    assert!(!std::fs::read_to_string(site.root().join("hierad.yaml")).unwrap_or_default().contains("accept"));
}
