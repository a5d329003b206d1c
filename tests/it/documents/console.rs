//! Blocks of `console`: each command runs in a site, and what it prints is compared with the page.
//!
//! To readers a site lies in `/srv`, and its commands begin in `/srv/data`. The tests play `curl`, which asks a daemon
//! that is started for the site. A comment `<!-- prints: COMMAND -->` before a block of `json` has it compared with the
//! output of a command.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;
use tempfile::TempDir;

use super::pages::{Block, blocks, none, pages, root};
use crate::http::client::Daemon;
use crate::support::git_command;
use crate::support::terminal::{hierad, run};

/// The place of the site as readers see it.
const SHOWN: &str = "/srv";

/// The key of all fingerprints in the pages.
const FINGERPRINT_KEY: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Stands before the output of each command.
const MARK: char = '\u{1}';

/// A command of a page and what it prints there.
#[derive(Debug, PartialEq)]
struct Step {
    command: String,
    output: String,
}

/// Splits a block into its commands. One goes on with the next line after a backslash, or while a quote is open.
fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let is_open = |command: &str| command.ends_with('\\') || command.matches('\'').count() % 2 == 1;
    for line in text.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command: command.to_owned(), output: String::new() }),
            (None, Some(step)) if step.output.is_empty() && is_open(&step.command) => {
                step.command.push('\n');
                step.command.push_str(line);
            }
            (None, Some(step)) => {
                step.output.push_str(line);
                step.output.push('\n');
            }
            (None, None) => panic!("output without a command: {line}"),
        }
    }
    for step in &mut steps {
        step.output = step.output.trim_end().to_owned();
    }
    steps
}

/// A folder that the commands of a page run in.
pub(super) struct Site {
    base: TempDir,
    pub(super) folder: PathBuf,
    daemon: Option<Daemon>,
}

impl Site {
    /// Makes the site that `tests/documents/NAME.sh` describes.
    pub(super) fn new(name: &str) -> Site {
        let base = TempDir::new().unwrap();
        let folder = base.path().canonicalize().unwrap().join("data");
        fs::create_dir(&folder).unwrap();
        let mut site = Site { base, folder, daemon: None };
        let script = root().join("tests/documents").join(format!("{name}.sh"));
        let script = fs::read_to_string(&script).unwrap_or_else(|error| panic!("{}: {error}", script.display()));
        let printed = run(&mut site.shell(&format!("set -eu\n{script}\npwd > \"$BASE/.folder\"")));
        assert!(printed.status == 0, "the site {name}: {printed:#?}");
        site.enter();
        site
    }

    fn base(&self) -> PathBuf {
        self.base.path().canonicalize().unwrap()
    }

    /// A shell in the site, with hierad on its path and next to nothing of this machine.
    fn shell(&self, script: &str) -> Command {
        let calm = hierad(&self.folder);
        let programs = Path::new(calm.get_program()).parent().unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(programs.to_owned()).chain(std::env::split_paths(&path)));
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).current_dir(&self.folder).env_clear();
        for command in [&calm, &git_command(&self.base())] {
            shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        }
        shell.env("PATH", path.unwrap()).env("BASE", self.base()).env("PROJECT", root());
        shell.env("HIERAD_FINGERPRINT_KEY", FINGERPRINT_KEY);
        shell
    }

    /// Runs commands that must succeed.
    pub(super) fn sh(&self, script: &str) {
        run(&mut self.shell(&format!("set -eu\n{script}"))).is(0);
    }

    /// Goes to the folder that the last script ended in.
    fn enter(&mut self) {
        self.folder = fs::read_to_string(self.base().join(".folder")).unwrap().trim_end().into();
    }

    /// Runs commands in turn and returns what each prints.
    fn run(&mut self, steps: &[Step]) -> Vec<String> {
        if steps.iter().all(|step| step.command.starts_with("curl ")) {
            return steps.iter().map(|step| self.curl(&step.command)).collect();
        }
        let base = self.base().to_str().unwrap().to_owned();
        let mut script = vec!["exec 2>&1".to_owned()];
        for step in steps {
            // The status of the command before stays what it was.
            script.push(format!("s=$?; printf '{MARK}'; (exit $s)"));
            script.push(step.command.replace(&format!("{SHOWN}/"), &format!("{base}/")));
        }
        script.push("pwd > \"$BASE/.folder\"\n".to_owned());
        let script = script.join("\n");
        let printed = run(&mut self.shell(&script));
        self.enter();
        let text = printed.out.replace(&base, SHOWN);
        text.split(MARK).skip(1).map(|output| output.trim_end().to_owned()).collect()
    }

    /// Asks the site's daemon as a call of curl would.
    fn curl(&mut self, command: &str) -> String {
        let folder = &self.folder;
        let state = self.base.path().join("state");
        let daemon = self.daemon.get_or_insert_with(|| Daemon::start_in(folder, &state, ""));
        let words = command.replace('\'', "\u{2}'").replace('\n', " ");
        // Quotes divide: what is between two of them is one word.
        let parts: Vec<&str> = words.split("\u{2}'").collect();
        let mut arguments: Vec<String> = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            if number % 2 == 1 {
                arguments.push((*part).to_owned());
            } else {
                arguments.extend(part.split_whitespace().map(str::to_owned));
            }
        }
        let url = arguments.iter().find_map(|word| word.strip_prefix("localhost:8427")).unwrap();
        let body = arguments.iter().skip_while(|word| *word != "--json").nth(1);
        let answer = match body {
            Some(body) => daemon.post(url, &serde_json::from_str::<Json>(body).unwrap()),
            None => daemon.get(url),
        };
        answer.ok().trim_end().to_owned()
    }
}

/// Returns the block of these commands with what they print.
fn written(steps: &[Step], outputs: &[String]) -> String {
    let one = |(step, output): (&Step, &String)| {
        let end = if output.is_empty() { "" } else { "\n" };
        format!("$ {}\n{output}{end}", step.command)
    };
    // Commands that print something stand apart.
    let mut text = String::new();
    for (number, pair) in steps.iter().zip(outputs).enumerate() {
        let is_apart = number > 0 && !(outputs[number - 1].is_empty());
        text.push_str(if is_apart { "\n" } else { "" });
        text.push_str(&one(pair));
    }
    text
}

/// Runs the console blocks of a page. Returns what is wrong with them, and the page as it should be.
fn check(path: &str, text: &str) -> (Vec<String>, String) {
    let mut wrong = Vec::new();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut site: Option<Site> = None;
    let mut replaced: Vec<(Block, String)> = Vec::new();
    for block in blocks(text) {
        if let Some(name) = block.comment("site") {
            site = Some(Site::new(name));
        }
        let is_run = block.language == "console" || block.comment("prints").is_some();
        let Some(site) = site.as_mut().filter(|_| is_run) else {
            if is_run {
                wrong.push(format!("{path}:{}: no comment before this block names its site", block.line));
            }
            continue;
        };
        if let Some(command) = block.comment("prints") {
            let step = Step { command: command.to_owned(), output: String::new() };
            let printed = site.run(&[step]).concat();
            let parse = |text: &str| serde_json::from_str::<Json>(text).map_err(|error| format!("{error}: {text}"));
            if parse(&printed) != parse(&block.text) {
                wrong.push(format!("{path}:{}: {command} prints\n{printed}", block.line));
            }
            continue;
        }
        let steps = steps(&block.text);
        let outputs = site.run(&steps);
        let actual = written(&steps, &outputs);
        if steps.iter().map(|step| &step.output).ne(&outputs) {
            let diff = similar::TextDiff::from_lines(&block.text, &actual);
            wrong.push(format!("{path}:{}\n{}", block.line, diff.unified_diff()));
        }
        replaced.push((block, actual));
    }
    for (block, actual) in replaced.into_iter().rev() {
        let indented = actual.lines().map(|line| format!("{}{line}", " ".repeat(block.indent)).trim_end().to_owned());
        lines.splice(block.line..block.line + block.text.lines().count(), indented);
    }
    (wrong, lines.join("\n") + "\n")
}

#[test]
fn examples_print_what_the_pages_say() {
    let is_update = std::env::var_os("HIERAD_UPDATE_GOLDEN").is_some_and(|value| value == "1");
    let only = std::env::var("HIERAD_PAGE").unwrap_or_default();
    let handles: Vec<_> = pages()
        .into_iter()
        .filter(|(path, _)| path.contains(&only))
        .map(|(path, text)| std::thread::spawn(move || (check(&path, &text), path)))
        .collect();
    let mut wrong = Vec::new();
    for handle in handles {
        let ((faults, text), path) = handle.join().unwrap();
        if is_update {
            fs::write(root().join(path), text).unwrap();
        } else {
            wrong.extend(faults);
        }
    }
    none(&wrong);
}

#[test]
fn commands_and_outputs_are_told_apart() {
    let step = |command: &str, output: &str| Step { command: command.into(), output: output.into() };
    let found = steps("$ a 'b\n  c'\n$ d\n1\n\n2\n\n$ e\n");
    assert_eq!(found, [step("a 'b\n  c'", ""), step("d", "1\n\n2"), step("e", "")]);
    assert_eq!(written(&found, &[String::new(), "1\n\n2".into(), String::new()]), "$ a 'b\n  c'\n$ d\n1\n\n2\n\n$ e\n");
}

#[test]
fn an_example_that_prints_something_else_is_found() {
    let page = |output: &str| format!("<!-- site: demo -->\n\n```console\n$ echo a\n{output}\n```\n");
    assert!(check("page", &page("a")).0.is_empty());
    let (wrong, text) = check("page", &page("b"));
    assert_eq!((wrong.len(), text), (1, page("a")));
    assert_eq!(check("page", "```console\n$ echo a\n```\n").0.len(), 1, "a block without a site");
}
