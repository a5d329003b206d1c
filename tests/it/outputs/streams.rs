//! Calls all commands on hostile names: they write nothing that a terminal or the runner of a job acts on.

use std::collections::BTreeSet;

use crate::support::Sandbox;
use crate::support::terminal::{SITE, hierad, run};

/// Text that a terminal acts on: a title, a cleared screen, C1, DEL, text the other way round.
const ACTIVE: &str = "\u{1b}]0;x\u{7}\u{1b}[2J\u{9b}31m\u{7f}\u{202e}";

/// Texts that runners of jobs act on.
const COMMANDS: [&str; 4] = ["::error::FORGED", "##[add-mask]FORGED", "##vso[task.x]FORGED", "##teamcity[FORGED]"];

/// The commands, by their first words, each with what it is called with. A command without any is told why.
const CALLS: [(&str, &[&str]); 26] = [
    ("init", &["init --dry-run --yes --no-verify"]),
    ("settings", &["settings", "settings --all", "settings --format json"]),
    (
        "diff",
        &[
            "diff",
            "diff --full",
            "diff --format json",
            "diff --format markdown",
            "diff --format html",
            "diff --format sarif",
            "diff --format junit",
            "diff --format github",
            "diff .",
        ],
    ),
    (
        "compare",
        &[
            "compare --node NAME --node web01",
            "compare --node web01 --node NAME --full",
            "compare --node NAME --node web01 --format json",
            "compare --node NAME --node web01 --format markdown",
            "compare --node NAME --node web01 --format html",
            "compare --node web01 --environment NAME --environment production",
        ],
    ),
    ("review", &["review --base HEAD~1 --summary -", "review --base HEAD~1 --summary ../summary"]),
    ("render", &["render --output -", "render --output - --format ndjson", "render --output ../rendered"]),
    ("export", &["export"]),
    (
        "lookup",
        &[
            "lookup KEY --node web01",
            "lookup KEY --node web01 --explain",
            "lookup KEY --node web01 --explain --render-as json",
            "lookup KEY --node web01 --render-as json",
            "lookup KEY --node web01 --render-as yaml",
            "lookup KEY --node NAME --explain",
            "lookup NAME --node web01 --explain-options",
            "lookup KEY --node NAME --is NAME",
            "lookup NAME --node web01 --is-error",
        ],
    ),
    ("log", &["log", "log --oneline", "log --patch", "log --format json", "log --format ndjson", "log -S NAME"]),
    ("blame", &["blame --node web01", "blame --node web01 --porcelain", "blame --node web01 --format ndjson"]),
    ("bisect", &["bisect motd --node web01 --is NAME", "bisect motd --node web01 --is 1 --format json"]),
    ("check", &["check", "check --full", "check --format json"]),
    ("policies", &["policies", "policies --format json"]),
    ("nodes list", &["nodes", "nodes list --format json"]),
    ("nodes show", &["nodes show NAME", "nodes show NAME --format json", "nodes show web01"]),
    ("nodes fetch", &["nodes fetch --output -"]),
    ("nodes check", &["nodes check", "nodes check --format json"]),
    ("nodes facts", &["nodes facts", "nodes facts --format json"]),
    ("verify", &[]), // a Ruby with Puppet is not everywhere; it writes as all others do
    ("watch", &["watch --check-config"]),
    ("serve", &[]), // it goes on until it is stopped
    ("queue", &["queue"]),
    ("hooks", &["hooks list"]),
    ("trust", &["trust", "trust --list"]),
    ("notify", &["notify"]),
    ("demo", &[]), // its repository is hierad's own
];

/// A site whose every name has `odd` in it, after a commit that changes them.
fn site(odd: &str) -> Sandbox {
    let site = Sandbox::of(SITE);
    let escaped = |text: String, c: char| text.replace(c, &format!("\\u{:04x}", u32::from(c)));
    let quoted =
        |text: &str| ACTIVE.chars().filter(|c| *c >= '\u{7f}').fold(serde_json::to_string(text).unwrap(), escaped);
    let name = quoted(odd);
    let data = |value: &str| {
        let value = quoted(&format!("{odd}{value}"));
        format!(
            "motd: {value}\n{name}: {{{name}: [{value}]}}\nbad: \"%{{nope}}\"\nlookup_options: {{bad: {{merge: {name}}}}}\n"
        )
    };
    let file = format!("{}.yaml", odd.replace('/', "_"));
    site.write(
        "hiera.yaml",
        format!(
            "version: 5\nhierarchy:\n  - {{name: {name}, path: {}}}\n  - {{name: Common, path: common.yaml}}\n",
            quoted(&file)
        ),
    );
    site.write(&format!("data/{file}"), "[broken\n");
    site.write("data/common.yaml", data("1"));
    site.write("profiles/odd.yaml", format!("{{name: {name}, facts: {{{name}: {name}, role: web}}}}\n"));
    site.commit(odd);
    site.write("data/common.yaml", data("2"));
    std::fs::remove_file(site.root().join(format!("data/{file}"))).unwrap();
    site.write("hierad.yaml", format!("profiles: [profiles]\nbackends: {{{name}: {{command: [{name}]}}}}\n"));
    site.git(["-c", &format!("user.name={odd}"), "commit", "--quiet", "--all", "--message", odd]);
    site
}

/// Calls all commands with `odd` in place of names, and hands over each stream.
fn streams(odd: &str, is_job: bool, check: impl Fn(&str, &str)) {
    let site = site(odd);
    for call in CALLS.iter().flat_map(|(_, calls)| *calls) {
        for key in ["motd", odd, "bad"].iter().take(if call.contains("KEY") { 3 } else { 1 }) {
            let mut command = hierad(site.root());
            command.args(call.split(' ').map(|word| match word {
                "NAME" => odd,
                "KEY" => key,
                word => word,
            }));
            if is_job {
                command.envs([("GITHUB_ACTIONS", "true"), ("CI", "true")]);
            }
            let printed = run(&mut command);
            assert!(!printed.err.contains("Usage:"), "{call}: {printed:?}");
            check(call, &printed.out);
            check(call, &printed.err);
        }
    }
}

#[test]
fn all_commands_are_called() {
    let words = |arguments: &[&str]| {
        let mut command = hierad(Sandbox::new().root());
        let help = run(command.current_dir("/").args(arguments).arg("--help")).ok().to_owned();
        let list = help.split_once("Commands:\n").map_or("", |(_, list)| list).split("\n\n").next().unwrap().to_owned();
        let named = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        named.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let mut all: BTreeSet<String> =
        words(&[]).into_iter().filter(|name| !["help", "nodes"].contains(&&**name)).collect();
    all.extend(words(&["nodes"]).into_iter().filter(|name| name != "help").map(|name| format!("nodes {name}")));
    assert_eq!(all, CALLS.iter().map(|(name, _)| (*name).to_owned()).collect());
}

#[test]
fn no_stream_has_what_a_terminal_acts_on() {
    streams(ACTIVE, false, |call, text| {
        let active = |c: char| c.is_control() && c != '\n' && c != '\t' || c == '\u{202e}';
        assert_eq!(text.find(active), None, "{call}: {text:?}");
    });
}

#[test]
fn no_stream_has_commands_for_the_runner_of_a_job() {
    for odd in COMMANDS {
        streams(odd, true, |call, text| {
            for line in text.lines() {
                // Annotations are meant, and their texts have marks of lines only.
                let own = ["::error ", "::warning ", "::notice ", "::error::", "::warning::", "::notice::"];
                if call.contains("github") || call.starts_with("review") {
                    let is_own = own.iter().any(|own| line.starts_with(own)) && !line.starts_with("::error::FORGED");
                    assert!(is_own || !line.trim_start().starts_with("::"), "{call}: {line}");
                    continue;
                }
                assert!(!line.trim_start().starts_with("::"), "{call}: {line}");
                assert!(!["##[", "##vso[", "##teamcity["].iter().any(|mark| line.contains(mark)), "{call}: {line}");
            }
        });
    }
}

#[test]
fn a_value_for_a_program_stays_what_it_is() {
    let site = site(ACTIVE);
    let value = format!("{ACTIVE}2");
    assert_eq!(site.hierad("lookup motd --node web01 --render-as s").ok(), format!("{value}\n"));
    let json = site.hierad("lookup motd --node web01 --render-as json").json();
    assert_eq!(json, serde_json::json!(value));
    let yaml = site.hierad("lookup motd --node web01");
    assert_eq!(serde_yaml::from_str::<String>(yaml.ok()).unwrap(), value);
}

#[test]
fn a_value_for_a_program_is_no_command_for_a_runner() {
    let commands = COMMANDS.map(|command| format!("x\n{command}"));
    let indented = ["x\n  ::add-mask::1", "x\r::add-mask::1", "::set-output name=a::b", "a ##vso[task.setvariable]b"];
    for value in commands.iter().map(String::as_str).chain(indented) {
        let site = site(value);
        for runner in ["GITHUB_ACTIONS", "FORGEJO_ACTIONS", "TF_BUILD"] {
            let call = |arguments: &[&str]| {
                let mut command = hierad(site.root());
                command.args(["lookup", "--node", "web01", "--render-as", "s"]).args(arguments).env(runner, "true");
                command
            };
            for arguments in [&["motd"][..], &["no_such_key", "--default", value]] {
                let printed = run(&mut call(arguments));
                assert_eq!((printed.status, &*printed.out), (1, ""), "{value:?}, {runner}: {printed:?}");
                assert!(printed.err.contains("--render-as json"), "{printed:?}");
            }
            // In a file it is no log.
            let file = site.beside("value");
            assert!(call(&["motd"]).stdout(std::fs::File::create(&file).unwrap()).status().unwrap().success());
            assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("{value}2\n"), "{runner}");
        }
        assert_eq!(site.hierad("lookup motd --node web01 --render-as s").ok(), format!("{value}2\n"));
    }
    // What only looks like one stays.
    for value in ["::1", "::", "::ffff:192.0.2.1", "[::]:80", "# a\n## b", "a::b::c"] {
        let site = site(value);
        let mut command = hierad(site.root());
        command.args(["lookup", "motd", "--node", "web01", "--render-as", "s"]).env("GITHUB_ACTIONS", "true");
        assert_eq!(run(&mut command).ok(), format!("{value}2\n"));
    }
}

/// Colours that are not hierad's own: hidden text, all forms of parameters, a reset.
const COLOURS: &str = "\u{1b}[8m\u{1b}[m\u{1b}[;m\u{1b}[38;5;200m\u{1b}[0;8;30;40m\u{1b}[9999m\u{1b}[8:3m";

#[test]
fn colours_of_the_data_are_none_of_the_outputs() {
    for choice in ["always", "never"] {
        let site = site(COLOURS);
        for call in CALLS.iter().flat_map(|(_, calls)| *calls) {
            let mut command = hierad(site.root());
            command.args(["--color", choice]).args(call.split(' ').map(|word| match word {
                "NAME" => COLOURS,
                "KEY" => "motd",
                word => word,
            }));
            let printed = run(&mut command);
            for text in [&printed.out, &printed.err] {
                let foreign = COLOURS.split_inclusive('m').find(|colour| text.contains(colour));
                assert_eq!(foreign, None, "{choice}, {call}: {text:?}");
                assert!(!text.contains("\\u001b[1m") && !text.contains("\\u001b[0m"), "{choice}, {call}: {text}");
            }
            if call.starts_with("diff") && !call.contains("format") {
                assert_eq!(printed.out.contains("\u{1b}[1m"), choice == "always", "{call}: {}", printed.out);
            }
        }
    }
    let site = site(COLOURS);
    assert_eq!(site.hierad("lookup motd --node web01 --render-as s").ok(), format!("{COLOURS}2\n"));
}

#[test]
fn messages_on_arguments_have_nothing_of_the_arguments_but_text() {
    let site = Sandbox::of(SITE);
    let marks = ["\n::error::FORGED", "##[add-mask]FORGED", "##vso[task.x]FORGED"];
    for odd in [ACTIVE, COLOURS, "\u{3164}", "\u{e0100}"].into_iter().chain(marks) {
        let flag = format!("--{odd}");
        let value = format!("--threads={odd}");
        let calls: [&[&str]; 7] = [
            &["lookup", &flag],
            &["diff", &flag],
            &[&flag],
            &[odd],
            &["diff", "--format", odd],
            &[&value, "diff"],
            &["diff", "a", "b", odd],
        ];
        for call in calls {
            for choice in ["always", "never"] {
                let mut command = hierad(site.root());
                command.args(["--color", choice]).args(call).env("GITHUB_ACTIONS", "true").env("CLICOLOR_FORCE", "1");
                let printed = run(&mut command);
                printed.is(1);
                assert!(printed.err.contains("error:"), "{call:?}: {printed:?}");
                let active = |c: char| c.is_control() && c != '\n' || "\u{202e}\u{3164}\u{e0100}".contains(c);
                assert_eq!(printed.err.find(active), None, "{call:?}: {:?}", printed.err);
                let is_command = |line: &str| line.starts_with("::") || line.contains("##[") || line.contains("##vso[");
                assert!(!printed.err.lines().any(is_command), "{call:?}: {}", printed.err);
            }
        }
    }
    let help = site.hierad("--help");
    assert!(help.ok().contains("Usage: hierad"), "{help:?}");
    let wrong = site.hierad("dif");
    assert!(wrong.err.contains("a similar subcommand exists: 'diff'"), "{wrong:?}");
}
