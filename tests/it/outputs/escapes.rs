//! Characters that a terminal, an editor or a review page would act on: none leaves the program as it is.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use crate::support::Sandbox;
use crate::support::terminal::{SITE, hierad, nodes_of, run};

/// Reverses what follows; the one-byte form of ESC [; DEL; a line end that JSON does not escape; a tag.
const ACTIVE: &str = "a\u{202e}b\u{9b}31mc\u{7f}d\u{2028}e\u{e0041}f";

/// The same as YAML writes it.
const WRITTEN: &str = r#""a\u202eb\u009b31mc\x7fd\u2028e\U000e0041f""#;

/// Fails if a text has an active character other than the ends of lines.
#[track_caller]
fn has_none(text: &str) {
    let is_active = |c: &char| c.is_control() && *c != '\n' || ACTIVE.contains(*c) && !c.is_ascii_graphic();
    assert_eq!(text.chars().find(is_active), None, "{text:?}");
}

/// A site with such characters in names and values, after a commit that changes them all.
fn site() -> Sandbox {
    let site = Sandbox::of(SITE);
    site.write("profiles/odd.yaml", format!("{{name: {WRITTEN}, facts: {{}}, variables: {{role: none}}}}\n"));
    site.write(
        "data/common.yaml",
        format!("motd: {WRITTEN}\n{WRITTEN}: 1\nbad: \"%{{lookup({WRITTEN})}}\"\n")
            .replace("lookup(\"", "lookup('")
            .replace("\")}", "')}"),
    );
    site.commit(ACTIVE);
    site
}

#[test]
fn json_has_no_active_characters() {
    let site = site();
    let diff = site.hierad("diff --format json");
    has_none(diff.ok());
    let report = diff.json();
    let change = |key: &str| report["changes"].as_array().unwrap().iter().find(|change| change["key"] == key).unwrap();
    assert_eq!(change("motd")["after"]["value"], ACTIVE);
    let added = change(ACTIVE);
    assert!(nodes_of(&report, &added["nodes"]).contains(&ACTIVE), "{added}");
    assert_eq!(report["after"]["summary"], ACTIVE);
    has_none(site.hierad("diff --format json --full").ok());
    for format in ["json", "ndjson"] {
        let rendered = site.hierad(&format!("render --output - --format {format}"));
        has_none(rendered.ok());
        assert!(rendered.out.contains(r"a\u202eb\u009b31mc\u007fd\u2028e\udb40\udc41f"), "{}", rendered.out);
    }
    let mut lookup = hierad(site.root());
    lookup.args(["lookup", "motd", "--render-as", "json", "--node", ACTIVE]);
    let found = run(&mut lookup);
    has_none(found.ok());
    assert_eq!(found.json(), ACTIVE);
    has_none(&site.hierad("check --format json").out);
    site.hierad("render --output ../snapshots").ok();
    for entry in std::fs::read_dir(site.beside("snapshots")).unwrap() {
        has_none(&std::fs::read_to_string(entry.unwrap().path()).unwrap());
    }
}

#[test]
fn the_watch_tells_no_active_characters() {
    let site = Sandbox::of(SITE);
    let branch = "m\u{202e}\u{9b}31m";
    site.git(["checkout", "--quiet", "-b", branch]);
    site.write("data/common.yaml", "motd: changed\nntp: [a, b]\n");
    site.commit("second");
    let odd = site.beside("re\u{202e}po\u{9b}31m\nhierad: all is well");
    site.git(["clone", "--quiet", ".", odd.to_str().unwrap()]);
    std::fs::write(
        site.beside("daemon.yaml"),
        format!(
            "profiles: {}/profiles\nsinks: {{bad: {{command: [sh, -c, 'printf \"x\\342\\200\\256y\\302\\233z\" >&2; exit 1']}}}}\n",
            site.root().display()
        ),
    )
    .unwrap();
    for format in ["text", "json"] {
        let state = site.beside(&format!("state-{format}"));
        let mut command = hierad(&odd);
        command.args(["-v", "--config", "../daemon.yaml", "watch", "--poll", "0.05", "--since", "HEAD~1"]);
        command.args(["--log-format", format, "--state"]).arg(state);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut told = String::new();
        while !told.contains("watching ") || !told.contains("not delivered") {
            assert!(errors.read_line(&mut told).unwrap() > 0, "it has ended: {told:?}");
        }
        assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
        child.wait().unwrap();
        errors.read_to_string(&mut told).unwrap();
        has_none(&told);
        assert!(!told.lines().any(|line| line.starts_with("hierad: all is well")), "{told}");
    }
}

#[test]
fn the_log_has_no_colours_and_sequences_but_its_own() {
    // A title, a cleared screen, hidden text, a link, the one-byte form, a reset, and what only begins one.
    let odd = "\u{1b}]0;t\u{7}\u{1b}[2J\u{1b}[8m\u{1b}]8;;x\u{7}\u{9b}31m\u{1b}[m\u{1b}[";
    let site = Sandbox::of(SITE);
    site.write(&format!("profiles/p{odd}.yaml"), "{name: x, facts: {a: [}\n");
    site.write("hierad.yaml", "profiles: [profiles]\n");
    site.write(&format!("data/{odd}.yaml"), "a: 1\n");
    site.write("data/common.yaml", "motd: changed\n");
    site.commit(odd);
    let daemon = "sinks: {bad: {command: [sh, -c, 'printf \"x\\033[8my\" >&2; exit 1']}}\n";
    std::fs::write(site.beside("daemon.yaml"), daemon).unwrap();
    for (format, color) in [("text", "always"), ("text", "never"), ("json", "always")] {
        let mut command = hierad(site.root());
        command.args(["-vv", "--color", color, "--config", "../daemon.yaml", "watch", "--poll", "0.05"]);
        command.args(["--since", "HEAD~1", "--log-format", format, "--state"]);
        command.arg(site.beside(&format!("state-{format}-{color}")));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut told = String::new();
        while !told.contains("not delivered") {
            assert!(errors.read_line(&mut told).unwrap() > 0, "it has ended: {told:?}");
        }
        assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
        child.wait().unwrap();
        errors.read_to_string(&mut told).unwrap();
        assert!(told.contains("]0;t") && told.contains("[8m"), "the name is not told: {told:?}");
        for sequence in ["\u{1b}]", "\u{1b}[2J", "\u{1b}[8m", "\u{9b}", "\u{1b}[m", "\u{7}"] {
            assert!(!told.contains(sequence), "{format} {color} {sequence:?}: {told:?}");
        }
        let has_colour = told.contains("\u{1b}[");
        assert_eq!(has_colour, (format, color) == ("text", "always"), "{told:?}");
        assert!(!told.contains("u001b[33m") && !told.contains("u001b[0m"), "its own colours are escaped: {told:?}");
    }
}

/// Runs hierad with such a pager on a terminal.
#[cfg(target_os = "linux")]
fn on_a_terminal(site: &Sandbox, pager: &str, arguments: &str) -> String {
    let program = hierad(site.root()).get_program().to_str().unwrap().to_owned();
    let mut command = Command::new("script");
    command.env_clear().envs(hierad(site.root()).get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(site.root()).env("GITHUB_ACTIONS", "true").env("TERM", "xterm").env("GIT_PAGER", pager);
    command.args(["-qec", &format!("'{program}' {arguments}"), "/dev/null"]).stdin(Stdio::null());
    run(&mut command).out
}

#[test]
#[cfg(target_os = "linux")]
fn a_pager_gets_what_a_terminal_would() {
    let site = Sandbox::of(SITE);
    let odd = [
        "##[add-mask]x",
        "##vso[task.x]y",
        "##teamcity[z]",
        "\u{1b}[8mhidden",
        "\u{1b}]0;t\u{7}",
        "\u{202e}",
        "\u{3164}",
    ];
    let quoted = odd.map(|text| serde_json::to_string(text).unwrap());
    let entries = quoted.iter().enumerate().map(|(at, text)| format!("{text}: [{text}, {at}]\n"));
    site.write("data/common.yaml", entries.collect::<String>());
    site.commit(&odd.concat());
    // The last one is no pager at all.
    for pager in ["cat -", "head -c 100000", "less", "sed p", "cat"] {
        for choice in ["always", "never", "auto"] {
            let shown = on_a_terminal(&site, pager, &format!("--color {choice} diff"));
            assert!(shown.contains("add-mask") && shown.contains("hidden"), "{pager} {choice}: {shown:?}");
            for odd in ["##[", "##vso[", "##teamcity[", "\u{1b}[8m", "\u{1b}]0", "\u{202e}", "\u{3164}"] {
                assert!(!shown.contains(odd), "{odd:?}, {pager} {choice}: {shown:?}");
            }
            assert!(choice != "always" || shown.contains("\u{1b}[1m"), "{pager}: {shown:?}");
        }
    }
}

#[test]
fn errors_have_no_active_characters() {
    let site = Sandbox::of(SITE);
    for arguments in [["diff", ACTIVE], ["lookup", ACTIVE], ["render", ACTIVE]] {
        let mut command = hierad(site.root());
        command.args(arguments).args((arguments[0] == "lookup").then_some(["--node", "web01"]).into_iter().flatten());
        let printed = run(&mut command);
        has_none(&printed.err);
        assert!(printed.err.contains(r"a\u202eb\u009b31m"), "{printed:?}");
    }
}
