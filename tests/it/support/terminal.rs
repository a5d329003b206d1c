//! The binary, called as at a terminal that knows nothing of this machine, and repositories written down in one text.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value as Json;

use super::Sandbox;
use crate::report::forms::check_schema;
use crate::support::git_command;
use crate::support::report::{filled, is_report};

/// The output and the exit status of a call. Paths of the sandbox read `$BASE`.
#[derive(Debug)]
pub(crate) struct Printed {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// The binary in `folder`, with next to no environment. `HIERAD_PROGRAM` names another one, such as that of a release.
pub(crate) fn hierad(folder: &Path) -> Command {
    program(folder, std::env::var_os("HIERAD_PROGRAM").as_deref().unwrap_or(OWN.as_ref()))
}

/// The same, by the tests' own build.
pub(crate) fn own(folder: &Path) -> Command {
    program(folder, OWN.as_ref())
}

const OWN: &str = env!("CARGO_BIN_EXE_hierad");

fn program(folder: &Path, name: &OsStr) -> Command {
    let mut command = Command::new(name);
    command.env_clear().current_dir(folder);
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    for (name, value) in git_command(folder).get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command
}

/// Reads JSON of hostile data: numbers of too many digits, and values that nest too deep to be read here, become 0.
pub(crate) fn read(text: &str) -> Json {
    static LONG: LazyLock<Regex> = LazyLock::new(|| Regex::new("[0-9]{300,}").unwrap());
    let text = LONG.replace_all(text, "0");
    filled(serde_json::from_str(&shallow(&text)).unwrap_or_else(|error| panic!("{error}: {text:.1000}")))
}

/// Returns JSON with 0 in place of values that nest too deep.
fn shallow(text: &str) -> String {
    const DEEP: usize = 100;
    let (mut depth, mut is_text, mut is_escaped, mut out) = (0, false, false, String::new());
    for c in text.chars() {
        let was_deep = depth > DEEP;
        if is_text {
            is_text = is_escaped || c != '"';
            is_escaped = c == '\\' && !is_escaped;
        } else {
            match c {
                '"' => is_text = true,
                '[' | '{' => depth += 1,
                ']' | '}' => depth -= 1,
                _ => {}
            }
        }
        match (was_deep, depth > DEEP) {
            (false, false) => out.push(c),
            (false, true) => out.push('0'),
            (true, _) => {}
        }
    }
    out
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Printed {
    let output = command.output().unwrap();
    Printed {
        status: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Sandbox {
    /// A repository whose files are those of `text`, all committed.
    pub(crate) fn of(text: &str) -> Sandbox {
        let sandbox = Sandbox::new();
        sandbox.files(text);
        sandbox.commit("first");
        sandbox
    }

    /// Writes files: each begins with a line `-- PATH`; one without content is removed.
    pub(crate) fn files(&self, text: &str) {
        for file in text.trim_start_matches('\n').split("-- ").skip(1) {
            let (path, content) = file.split_once('\n').unwrap();
            if content.trim().is_empty() {
                std::fs::remove_file(self.root().join(path)).unwrap();
            } else {
                self.write(path, content);
            }
        }
    }

    /// Writes the settings of the tree, which the user trusts.
    #[track_caller]
    pub(crate) fn settings(&self, text: impl AsRef<[u8]>) {
        self.write("hierad.yaml", text);
        self.hierad("trust").ok();
    }

    /// Runs `hierad` with arguments that spaces divide, in the repository.
    pub(crate) fn hierad(&self, arguments: &str) -> Printed {
        self.hierad_in("", arguments)
    }

    /// The same in a folder of the repository.
    pub(crate) fn hierad_in(&self, folder: &str, arguments: &str) -> Printed {
        self.masked(hierad(&self.root().join(folder)).args(arguments.split_whitespace()))
    }

    /// Runs hierad on a terminal of 30 lines, by `script` of util-linux, with somebody who types `input`.
    pub(crate) fn on_terminal(&self, environment: &[(&str, &str)], arguments: &str, input: &str) -> Printed {
        let command = hierad(self.root());
        let program = command.get_program().display();
        let call = format!("stty rows 30 cols 100; {program} {arguments}");
        let known = command.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)));
        let known: Vec<_> = known.filter_map(|(name, value)| Some((name, value?))).collect();
        let mut command = Command::new("script");
        command.env_clear().current_dir(self.root()).envs(environment.iter().copied()).envs(known);
        command.args(["--quiet", "--return", "--command", &call, "/dev/null"]);
        let typed = self.beside("typed");
        std::fs::write(&typed, input).unwrap();
        self.masked(command.stdin(std::fs::File::open(typed).unwrap()))
    }

    /// Runs a command, and masks the sandbox's own path in what it prints.
    pub(crate) fn masked(&self, command: &mut Command) -> Printed {
        let printed = run(command);
        let base = self.beside("").to_str().unwrap().trim_end_matches('/').to_owned();
        let mask = |text: String| text.replace(&base, "$BASE");
        Printed { out: mask(printed.out), err: mask(printed.err), ..printed }
    }
}

impl Printed {
    /// Its standard output; it must have succeeded.
    #[track_caller]
    pub(crate) fn ok(&self) -> &str {
        self.is(0);
        &self.out
    }

    /// The JSON on its standard output, whatever the status. A report is as its schema says, and comes without tables.
    #[track_caller]
    pub(crate) fn json(&self) -> Json {
        let json: Json = serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"));
        if is_report(&json) {
            check_schema(&self.out);
            return filled(json);
        }
        json
    }

    /// Fails unless it ended with `status`.
    #[track_caller]
    pub(crate) fn is(&self, status: i32) -> &Printed {
        assert_eq!(self.status, status, "{self:#?}");
        self
    }

    /// Fails unless standard error has all of `words`.
    #[track_caller]
    pub(crate) fn says(&self, words: &[&str]) -> &Printed {
        for word in words {
            assert!(self.err.contains(word), "no {word:?} in {self:#?}");
        }
        self
    }

    /// Fails unless it could not do its work, said these words, and printed nothing else.
    #[track_caller]
    pub(crate) fn fails(&self, words: &[&str]) -> &Printed {
        assert_eq!(self.out, "", "{self:#?}");
        self.is(1).says(words)
    }
}

/// The names of a set of nodes of a report in JSON.
pub(crate) fn nodes_of<'r>(report: &'r Json, set: &Json) -> Vec<&'r str> {
    let set = usize::try_from(set.as_u64().unwrap()).unwrap();
    report["node_sets"][set].as_array().unwrap().iter().map(|node| node.as_str().unwrap()).collect()
}

/// The changes of a report in JSON, a line each: the key, what happens to it, and the nodes. Keys with one cause come
/// behind them.
pub(crate) fn changes(report: &Json) -> Vec<String> {
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    let line = |change: &Json| {
        format!("{} {} {}", text(&change["key"]), text(&change["kind"]), nodes_of(report, &change["nodes"]).join(","))
    };
    let of_cause = |cause: &Json| {
        let (state, nodes) = (text(&cause["state"]), nodes_of(report, &cause["nodes"]).join(","));
        let line = |key: &Json| format!("{} cause {state} {nodes}", text(key));
        cause["keys"].as_array().unwrap().iter().map(line).collect::<Vec<_>>()
    };
    let changes = report["changes"].as_array().unwrap().iter().map(line);
    changes.chain(report["causes"].as_array().unwrap().iter().flat_map(of_cause)).collect()
}

/// Two nodes, a role, a common file.
pub(crate) const SITE: &str = "
-- hierad.yaml
profiles: [profiles]
-- hiera.yaml
version: 5
hierarchy:
  - {name: Node, path: 'nodes/%{trusted.certname}.yaml'}
  - {name: Role, path: 'roles/%{role}.yaml'}
  - {name: Common, path: common.yaml}
-- profiles/web01.yaml
{name: web01, facts: {os: {family: Debian}}, variables: {role: web}}
-- profiles/db01.yaml
{name: db01, facts: {os: {family: RedHat}}, variables: {role: db}}
-- data/common.yaml
motd: hello
ntp: [a, b]
-- data/roles/web.yaml
port: 80
-- data/roles/db.yaml
port: 5432
";
