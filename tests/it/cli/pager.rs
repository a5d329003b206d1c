//! The pager of a terminal, and what stands in for it.

use crate::support::Sandbox;
use crate::support::terminal::{Printed, SITE};

/// Runs `hierad diff` on a terminal of 30 lines.
fn on_terminal(site: &Sandbox, environment: &[(&str, &str)], arguments: &str) -> Printed {
    site.on_terminal(environment, &format!("--color never diff {arguments}"), "")
}

#[test]
#[ignore = "needs the command `script` of util-linux"]
fn output_is_paged_as_git_does() {
    let site = Sandbox::of(SITE);
    let keys = |value: &str| (0..100).map(|n| format!("key{n}: {value}\n")).collect::<Vec<_>>().concat();
    site.write("data/common.yaml", keys("old"));
    site.commit("old");
    site.write("data/common.yaml", keys("new"));
    site.commit("new");
    let paged = "sed 's/^/paged: /'";
    let printed = on_terminal(&site, &[("GIT_PAGER", paged)], "");
    assert!(printed.is(0).out.starts_with("paged: 100 keys change"), "{printed:#?}");
    assert!(printed.out.lines().count() > 100, "{printed:#?}");
    site.git(["config", "core.pager", paged]);
    let printed = on_terminal(&site, &[("PAGER", "false")], "");
    assert!(printed.is(0).out.starts_with("paged: 100 keys"), "{printed:#?}");
    // Leaving the pager early is no failure.
    let printed = on_terminal(&site, &[("GIT_PAGER", "head -n 1")], "--exit-code");
    assert_eq!(printed.is(2).out.lines().count(), 1, "{printed:#?}");
    // Without one a screen has to do.
    for (environment, arguments) in [(("GIT_PAGER", "cat"), ""), (("GIT_PAGER", ""), ""), (("PAGER", ""), "--no-pager")]
    {
        let printed = on_terminal(&site, &[environment], arguments);
        assert!(printed.is(0).out.lines().count() <= 30, "{printed:#?}");
        assert!(printed.out.contains(" more changes: `hierad diff --full "), "{printed:#?}");
    }
    let printed = on_terminal(&site, &[("GIT_PAGER", "cat")], "--full");
    assert!(printed.is(0).out.lines().count() > 100, "{printed:#?}");
    // JSON is for programs.
    let printed = on_terminal(&site, &[("GIT_PAGER", paged)], "--format json");
    assert!(printed.is(0).out.starts_with('{'), "{printed:#?}");
}
