//! The help texts, so that a change of them is seen: `tests/golden/help/`.

use crate::support::golden::{Golden, folder};
use crate::support::terminal::{hierad, run};

#[test]
fn help_texts() {
    let here = tempfile::tempdir().unwrap();
    let mut golden = Golden::default();
    let hooks = ["hooks", "hooks install", "hooks list", "hooks remove", "hooks run"];
    let others =
        ["", "check", "demo", "diff", "export", "lookup", "notify", "queue", "render", "review", "verify", "watch"];
    for command in others.into_iter().chain(hooks) {
        let printed = run(hierad(here.path()).args(command.split_whitespace()).arg("--help"));
        let name = if command.is_empty() { "hierad".to_owned() } else { command.replace(' ', "-") };
        golden.check(&folder("help").join(format!("{name}.txt")), printed.ok());
    }
    golden.finish();
}

#[test]
fn help_succeeds_and_wrong_arguments_fail() {
    let here = tempfile::tempdir().unwrap();
    for (arguments, status) in [
        ("help", 0),
        ("help diff", 0),
        ("--version", 0),
        ("-h", 0),
        ("", 1),
        ("nope", 1),
        ("diff --nope", 1),
        ("diff a b c", 1),
        ("diff --format xml", 1),
        ("--puppet 6 diff", 1),
        ("--threads 0 diff", 1),
        ("--color sometimes diff", 1),
    ] {
        let printed = run(hierad(here.path()).args(arguments.split_whitespace()));
        assert_eq!(printed.status, status, "{arguments}: {printed:#?}");
        assert_eq!(printed.out.is_empty(), status == 1, "{arguments}: {printed:#?}");
    }
    let typo = run(hierad(here.path()).arg("dif"));
    typo.fails(&["'diff'"]);
}
