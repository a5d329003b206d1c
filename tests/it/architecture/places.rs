//! The places at which what a stranger writes meets the machine: each in few files, which nothing joins unseen.

use std::collections::BTreeMap;

use regex::Regex;

/// Something that only these files do.
pub(super) struct Rule {
    /// The deed.
    pub(super) what: &'static str,
    /// The words that do it.
    pattern: &'static str,
    /// The beginnings of their paths.
    places: &'static [&'static str],
}

/// The rules, each with lines that would break it elsewhere.
pub(super) const RULES: [(Rule, &[&str]); 18] = [
    (
        // A path that the user names is opened in `disk`: these are files of hierad's own, or of the machine.
        Rule {
            what: "a file is opened",
            pattern: r"\bFile::(open|create|create_new|options)\b|\bOpenOptions\b|\bfs::(read|read_to_string|write|copy|rename|hard_link)\b",
            places: &[
                "src/disk",
                "src/git/",
                "src/inventory/answers/",
                "src/pipeline/cache.rs",
                "src/history/index/file.rs",
                "src/functions/bridge/ruby.rs",
                "src/inventory/files/",
                "src/setup/",
                "src/snapshot/replace.rs",
                "src/daemon/queue/",
                "src/daemon/metrics/process.rs",
                "src/daemon/watch/notification.rs",
                "src/app/guard.rs",
                "src/process/mark.rs",
                "src/cli/bound.rs",
                "src/cli/demo.rs",
                "src/cli/hooks/folder.rs",
                "src/cli/init/write.rs",
                "src/verify/",
            ],
        },
        &["fn facts(path: &Path) -> Vec<u8> { std::fs::read(path).unwrap_or_default() }"],
    ),
    (
        // So is a folder.
        Rule {
            what: "a folder is made or listed",
            pattern: r"\bread_dir\(|\bcreate_dir(?:_all)?\(|\bDirBuilder\b|\btemp(?:file|dir)_in\(|\bmake_in\(",
            places: &[
                "src/disk",
                "src/disclosure/key_file.rs",
                "src/git/",
                "src/inventory/sources/overlay.rs",
                "src/inventory/answers/",
                "src/functions/bridge/stage.rs",
                "src/pipeline/cache.rs",
                "src/history/index/file.rs",
                "src/inventory/files/",
                "src/setup/",
                "src/snapshot/replace.rs",
                "src/app/workspace/trust/programs.rs",
                "src/app/workspace/tree_profiles.rs",
                "src/app/workspace/trust.rs",
                "src/process/mark.rs",
                "src/cli/demo.rs",
                "src/cli/hooks/folder.rs",
                "src/verify/",
            ],
        },
        &["fn out(folder: &Path) { _ = std::fs::create_dir_all(folder); }"],
    ),
    (
        Rule {
            what: "a revision that is trusted is resolved",
            pattern: r"\bresolve_trusted\(",
            places: &[
                "src/git/",
                "src/app/workspace/global_layer.rs",
                "src/app/review.rs",
                "src/cli/hooks/judged.rs",
                "src/cli/init/find.rs",
                "src/functions/bridge/trusted.rs",
            ],
        },
        &["let commit = repository.resolve_trusted(name)?;"],
    ),
    (
        // None of these says whose code is run, or whose settings count.
        Rule {
            what: "a revision is resolved as people write it",
            pattern: r"\brepository(?:\(\)\?)?\.resolve(?:_all)?\(",
            places: &[
                "src/app/daemon/answers.rs",
                "src/app/workspace/deployed.rs",
                "src/app/daemon/options.rs",
                "src/app/pipelines.rs",
                "src/app/workspace/readings.rs",
                "src/app/review.rs",
                "src/app/workspace/mod.rs",
                "src/cli/",
                "src/pipeline/judge.rs",
            ],
        },
        &["let commit = repository.resolve(&rev)?;"],
    ),
    (
        Rule {
            what: "a tree is staged",
            pattern: r"\bdisk::(?:create|link|stage)\b|\buse crate::disk::\{[^}]*\b(?:create|link|stage)\b|\bsymlink\(",
            places: &[
                "src/disk/",
                "src/app/workspace/tree_profiles.rs",
                "src/functions/bridge/stage.rs",
                "src/verify/stage.rs",
            ],
        },
        &["std::os::unix::fs::symlink(to, at)?;"],
    ),
    (
        // Macros, handles of all kinds, and what the parser of arguments prints by itself.
        Rule {
            what: "text is written to standard output",
            pattern: r"\b(?:io|anstream|rustix)::stdout\(\)(?:[^.]|\.(?:lock|write|flush))|\buse [^;]*\bstdout\b|\bprint(?:ln)?!|\b(?:AutoStream|StripStream)::|\.print(?:_long)?(?:_help)?\(\)|\.exit\(\)|/dev/(?:stdout|tty|fd/)",
            places: &["src/cli/output/mod.rs"],
        },
        &[
            "println!(\"{headline}\");",
            "anstream::println!(\"{headline}\");",
            "_ = anstream::stdout().write_all(headline);",
            "use std::io::{Write, stdout};",
            "_ = error.print();",
            "Cli::command().print_help();",
            "error.exit()",
            "let terminal = open(\"/dev/tty\");",
        ],
    ),
    (
        Rule {
            what: "text is written to standard error",
            pattern: r"\b(?:io|anstream|rustix)::stderr\(\)(?:[^.]|\.(?:lock|write|flush))|\buse [^;]*\bstderr\b|\beprint(?:ln)?!|\bdbg!|/dev/stderr",
            places: &[
                "src/cli/output/log.rs",
                "src/cli/output/fault.rs",
                "src/cli/progress.rs",
                "src/cli/output/mod.rs",
            ],
        },
        &[
            "eprintln!(\"{headline}\");",
            "anstream::eprint!(\"{headline}\");",
            "_ = writeln!(anstream::stderr().lock(), \"{headline}\");",
            "use std::io::stderr;",
            "dbg!(headline);",
        ],
    ),
    (
        // A pager shows what it gets. The others are programs that answer, and the input of a sink, which is data.
        Rule {
            what: "another program gets text",
            pattern: r"\bStdio::piped\(\)|\bChildStdin\b|\bstdin\.take\(\)",
            places: &[
                "src/cli/hooks/gate.rs",
                "src/cli/output/mod.rs",
                "src/cli/output/pager.rs",
                "src/verify/",
                "src/daemon/mirror.rs",
                "src/daemon/service/",
                "src/delivery/command.rs",
                "src/git/",
                "src/inventory/sources/program.rs",
                "src/functions/command.rs",
            ],
        },
        &["let input = pager.stdin.take();", "command.stdin(Stdio::piped());"],
    ),
    (
        // What findings and errors are about is their subject.
        Rule {
            what: "a message is read",
            pattern: r#"\b(?:error|diagnostic|finding|spot|fault|note|warning|first)(?:\.\w+)*\.(?:text|message|headline)(?:\.\w+\(\))*\.(?:r?split\w*|strip_\w+|starts_with|ends_with|contains|r?find)\(|\btext\.split\('\\''\)|contains\(\"module "#,
            places: &[],
        },
        &[
            "let Some(name) = text.split('\\'').nth(1) else { continue };",
            "error.text.strip_prefix(\"Undefined variable '\")",
            "match finding.diagnostic.text.split_once(' ') {",
            "spot.message.starts_with(\"no \")",
            "error.text.visible().contains(\"named\")",
            "text.contains(\"module \")",
        ],
    ),
    (
        Rule {
            what: "the formats of a report are listed",
            pattern: r"\bSarif\b\s*,",
            places: &["src/report/writers/mod.rs"],
        },
        &["    Sarif,"],
    ),
    (
        Rule { what: "the product has a part of the tests", pattern: r"\binclude_\w+!\([^;]*\btests/", places: &[] },
        &["include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/tests/puppet/resolve.rb\"))"],
    ),
    (
        // The cache tells by locks which unfinished files are nobody's any more. A key is made once.
        Rule {
            what: "a file is replaced",
            pattern: r"\.persist(?:_noclobber)?\(",
            places: &["src/disk/replace.rs", "src/pipeline/cache.rs", "src/disclosure/key_file.rs"],
        },
        &["file.persist(path)?;"],
    ),
    (
        // What lookups see of nodes (`nodes/variables.rs`, `dependencies.rs`) reads no profile and asks no source.
        Rule {
            what: "a profile is read",
            pattern: r"\b(?:variable_classes|read_missed|read_ahead|read_as)\(",
            places: &[
                "src/fleet/levels/",
                "src/fleet/node_classes.rs",
                "src/fleet/nodes/changed.rs",
                "src/fleet/nodes/digests.rs",
                "src/fleet/nodes/distinctions.rs",
                "src/fleet/nodes/mod.rs",
                "src/fleet/nodes/table.rs",
                "src/fleet/revision/build.rs",
                "src/fleet/revision/mod.rs",
            ],
        },
        &["let classes = scope.fleet.variable_classes(path.by_ref());", "fleet.read_missed(missed)"],
    ),
    (
        Rule {
            what: "an encrypted text is known by its beginning",
            pattern: r#"(?:contains|starts_with|find)\("ENC\["#,
            places: &["src/hiera/backend/eyaml/", "src/hiera/encrypted.rs"],
        },
        &["text.contains(\"ENC[\")"],
    ),
    (
        // Each has a file of its own, and `KINDS` is the one list.
        Rule {
            what: "a kind of location is told from others",
            pattern: r#""(?:mapped_paths|globs?|uris)"|\bForm::(?:Path|Glob|Uri)\b|\bMappedPaths\b"#,
            places: &["src/hiera/config/locations/", "src/hiera/hierarchy/locations.rs"],
        },
        &[
            "let is_mapped = level.entry(\"mapped_paths\").is_some();",
            "const KEYS: [&str; 2] = [\"glob\", \"globs\"];",
            "matches!(form, Form::Glob)",
            "Locations::MappedPaths([variable, ..]) => Some(variable),",
        ],
    ),
    (
        // These ask for one parent. Whoever asks for the parents of parents walks.
        Rule {
            what: "first parents are read one by one",
            pattern: r"\.first_parent\(|\bpresent\.(?:first|iter|get)\(|\bpresent\[0\]",
            places: &["src/git/", "src/app/daemon/answers.rs", "src/app/review.rs", "src/cli/diff.rs"],
        },
        &["next = repository.first_parent(commit)?;", "next = repository.parents(commit)?.present.first().copied();"],
    ),
    (
        // A pattern of git has escapes of another language.
        Rule {
            what: "hexadecimal digits are written",
            pattern: r"\{\w*:02x\}",
            places: &["src/hex.rs", "src/tree/git_pattern.rs"],
        },
        &["let digits = digest.iter().fold(String::new(), |digits, byte| digits + &format!(\"{byte:02x}\"));"],
    ),
    (
        // A forge has a file of its own, and `ALL` is the one list. Secrets are known by the names of all CI servers.
        Rule {
            what: "a forge is named",
            pattern: r"\bGitHub\b|\bGITHUB_|(?i:gitlab|gitea|forgejo|bitbucket)",
            places: &[
                "src/forge/mod.rs",
                "src/forge/github.rs",
                "src/forge/gitlab.rs",
                "src/forge/gitea.rs",
                "src/forge/bitbucket.rs",
                "src/forge/ci/actions.rs",
                "src/process.rs",
            ],
        },
        &[
            "enum Kind { GitHub, Other }",
            "    Gitea,",
            "Kind::GitLab => \"-/blob\",",
            "const FORGES: [&str; 2] = [\"github\", \"gitlab\"];",
            "\"gitea\" | \"forgejo\" => true,",
            "let is_job = variable(\"GITHUB_ACTIONS\").is_some();",
            "let is_job = variable(\"GITLAB_CI\").is_some();",
            "static ALL: [&dyn Forge; 1] = [&bitbucket::Bitbucket];",
        ],
    ),
];

/// Returns the lines of `texts` that break a rule. Comments and tests inside the files are left out.
pub(super) fn breaches(rule: &Rule, texts: &BTreeMap<String, String>) -> Vec<String> {
    let pattern = Regex::new(rule.pattern).unwrap();
    let elsewhere = texts.iter().filter(|(path, _)| !rule.places.iter().any(|place| path.starts_with(place)));
    let lines = elsewhere.flat_map(|(path, text)| {
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        code.lines().enumerate().map(move |(number, line)| (path, number + 1, line))
    });
    let is_code = |line: &str| !line.trim_start().starts_with("//");
    let found = lines.filter(|(_, _, line)| is_code(line) && pattern.is_match(line));
    found.map(|(path, number, line)| format!("{path}:{number}: {}: {}", rule.what, line.trim())).collect()
}
