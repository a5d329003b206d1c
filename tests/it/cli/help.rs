//! The help texts, so that a change of them is seen: `tests/golden/help/`.

use std::path::Path;

use regex::Regex;

use crate::support::Sandbox;
use crate::support::golden::{Golden, folder};
use crate::support::terminal::{SITE, hierad, run};

const LINE: &str = "Options of every command: `hierad help options`";

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

#[test]
fn help_texts() {
    let here = tempfile::tempdir().unwrap();
    let mut golden = Golden::default();
    let helps = helps(here.path(), "");
    assert!(helps.len() > 20, "{helps:#?}");
    for (words, help) in &helps {
        let name = if words.is_empty() { "hierad".to_owned() } else { words.replace(' ', "-") };
        golden.check(&folder("help").join(format!("{name}.txt")), help);
        if !words.is_empty() {
            assert!(help.ends_with(&format!("\n\n{LINE}\n")), "{words}: {help}");
            assert!(!help.contains("--repo <") && !help.contains("--no-cache"), "{words}: {help}");
        }
    }
    let every = run(hierad(here.path()).args(["help", "options"]));
    golden.check(&folder("help").join("options.txt"), every.ok());
    golden.is_all_of(&folder("help"));
    golden.finish();
}

#[test]
fn help_is_short() {
    let here = tempfile::tempdir().unwrap();
    let help = |words: &str| run(hierad(here.path()).args(words.split(' '))).ok().to_owned();
    assert!(help("diff --help").lines().count() <= 60);
    let [short, long, every] = ["-h", "--help", "help options"].map(help);
    assert!(short.lines().count() < 35 && short.contains(LINE), "{short}");
    for (flag, is_rare) in [
        ("--repo", false),
        ("--profiles", false),
        ("--show-secrets", false),
        ("--threads", true),
        ("--cache-size", true),
        ("--pkcs7-private-key", true),
        ("--basemodulepath", true),
        ("--fingerprint-key", true),
    ] {
        assert!(!short.contains(&format!("{flag} ")), "{flag}: {short}");
        assert_eq!(long.contains(flag), !is_rare, "{flag}: {long}");
        assert!(every.contains(flag), "{flag}: {every}");
    }
    assert!(!every.contains("--repo-is-trusted"), "{every}");
    assert_eq!(help("options"), every);
    assert_eq!(help("help diff"), help("diff --help"));
}

#[test]
fn commands_without_data_refuse_flags_about_it() {
    let site = Sandbox::of(SITE);
    for command in ["notify", "trust --list", "queue list", "hooks list"] {
        for flag in
            ["--pkcs7-private-key x", "--no-keys", "--threads 2", "--profiles x", "--show-secrets", "--no-cache"]
        {
            let printed = site.hierad(&format!("{command} {flag}"));
            printed.fails(&["unexpected argument '", flag.split(' ').next().unwrap(), "does nothing with data"]);
            site.hierad(&format!("{flag} {command}")).fails(&["does nothing with data"]);
        }
    }
    for flags in ["--color never", "-v", "--repo .", "--config hierad.yaml", "--no-pager"] {
        site.hierad(&format!("notify {flags}")).ok();
        site.hierad(&format!("hooks list {flags}")).ok();
    }
}

#[test]
fn the_version_may_name_the_commit() {
    let here = tempfile::tempdir().unwrap();
    let printed = run(hierad(here.path()).arg("--version"));
    let form = concat!(r"^hierad ", env!("CARGO_PKG_VERSION"), r"( \([0-9a-f]{8}( \d{4}-\d\d-\d\d)?\))?\n$");
    assert!(Regex::new(form).unwrap().is_match(printed.ok()), "{printed:?}");
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
