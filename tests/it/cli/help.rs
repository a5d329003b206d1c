//! The help texts, so that a change of them is seen: `tests/golden/help/`.

use std::collections::BTreeSet;
use std::path::Path;

use crate::support::golden::{Golden, folder};
use crate::support::terminal::{hierad, run};

const OF_EVERY_COMMAND: &str = "Options of every command:\n";

/// Returns the subcommands that a help text lists, but for `help`, which the parser adds to each list. A hidden command
/// is one that no list has: nobody is to call it.
fn listed(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next().filter(|name| !name.is_empty()));
    names.filter(|name| *name != "help").collect()
}

/// Returns the help of a command and of all below it, each with its words.
fn helps(here: &Path, words: &str) -> Vec<(String, String)> {
    let help = run(hierad(here).args(words.split_whitespace()).arg("--help")).ok().to_owned();
    let below = listed(&help).into_iter().flat_map(|name| helps(here, format!("{words} {name}").trim_start()));
    let below: Vec<_> = below.collect();
    [(words.to_owned(), help)].into_iter().chain(below).collect()
}

/// Splits a help text into what is about its command and the options that each command has.
fn split(help: &str) -> (String, &str) {
    let (before, rest) = help.split_once(OF_EVERY_COMMAND).unwrap_or_else(|| panic!("no options: {help}"));
    let own = |at: &usize| rest[at + 2..].starts_with(|c: char| !c.is_whitespace());
    let end = rest.match_indices("\n\n").map(|(at, _)| at).find(own).map_or(rest.len(), |at| at + 1);
    (format!("{before}{OF_EVERY_COMMAND}  ...\n{}", &rest[end..]), &rest[..end])
}

#[test]
fn help_texts() {
    let here = tempfile::tempdir().unwrap();
    let (mut golden, mut of_every) = (Golden::default(), BTreeSet::new());
    let helps = helps(here.path(), "");
    assert!(helps.len() > 20, "{helps:#?}");
    for (words, help) in &helps {
        let (own, options) = split(help);
        let name = if words.is_empty() { "hierad".to_owned() } else { words.replace(' ', "-") };
        golden.check(&folder("help").join(format!("{name}.txt")), &own);
        of_every.insert(options);
    }
    // Those of a command with long descriptions stand in lines of their own.
    assert_eq!(of_every.len(), 2, "not every command has the same options");
    let of_every: Vec<&str> = of_every.into_iter().collect();
    golden.check(&folder("help").join("options of every command.txt"), &of_every.join("\n"));
    golden.is_all_of(&folder("help"));
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
