//! Random repositories with random histories: edits, moves, merges, reverts, other hierarchies, broken files.

use std::fmt::Write;
use std::sync::Arc;

use hierad::fleet::Fleet;
use hierad::git::CommitId;
use hierad::hiera::layer::EnvironmentOptions;
use hierad::node::read_profiles;
use hierad::pipeline::{Pipeline, Revisions};
use hierad::workers::Workers;

use crate::support::random::Random;
use crate::support::values::disclosure;
use crate::support::{Sandbox, git_command};

const LEVELS: [&str; 4] = [
    "- {name: Node, path: 'nodes/%{trusted.certname}.yaml'}\n",
    "- {name: Role, path: 'roles/%{role}.yaml'}\n",
    "- {name: Site, glob: 'sites/%{site}/*.yaml'}\n",
    "- {name: Common, paths: [common.yaml, more.yaml]}\n",
];

const KEYS: [&str; 7] = ["a", "b", "mod::c", "d", "e", "f", "'g.h'"];

const FILES: [&str; 9] = [
    "common.yaml",
    "more.yaml",
    "roles/web.yaml",
    "roles/db.yaml",
    "nodes/n1.yaml",
    "nodes/n4.yaml",
    "sites/x/1.yaml",
    "sites/x/2.yaml",
    "nodes/unknown.yaml",
];

/// A site with a history.
pub(crate) struct Site {
    pub(crate) random: Random,
    pub(crate) sandbox: Sandbox,
    /// The next value that is new.
    next: usize,
}

impl Site {
    /// A site with about this many commits.
    pub(crate) fn new(seed: u64, commits: usize) -> Site {
        let mut site = Site { random: Random::new(seed), sandbox: Sandbox::new(), next: 0 };
        site.sandbox.git(["config", "merge.conflictStyle", "merge"]);
        site.hierarchy();
        for file in &FILES[..5] {
            site.data(file);
        }
        site.sandbox.commit("first");
        for number in 0..commits {
            site.step(number);
        }
        site
    }

    /// Makes a commit, or several.
    pub(crate) fn step(&mut self, number: usize) {
        match self.random.below(12) {
            0 => self.hierarchy(),
            1 => self.move_file(),
            2 => self.merge(number),
            3 => _ = self.git_may_fail(&["revert", "--no-edit", "-m1", "HEAD"], &["revert", "--abort"]),
            4 => _ = self.git_may_fail(&["revert", "--no-edit", "HEAD~1"], &["revert", "--abort"]),
            5 => self.sandbox.write("README", format!("{number}\n")),
            6 => self.sandbox.write("data/common.yaml", format!("a: [broken {number}\n")),
            _ => (0..=self.random.below(2)).for_each(|_| self.edit()),
        }
        self.sandbox.git(["add", "--all"]);
        self.sandbox.git(["commit", "--quiet", "--allow-empty", "--message", &format!("commit {number}")]);
    }

    fn edit(&mut self) {
        let file = *self.random.pick(&FILES);
        let path = self.sandbox.root().join("data").join(file);
        if self.random.below(6) == 0 && path.exists() {
            std::fs::remove_file(path).unwrap();
        } else {
            self.data(file);
        }
    }

    fn move_file(&mut self) {
        let (from, to) = (*self.random.pick(&FILES), *self.random.pick(&FILES));
        let [from, to] = [from, to].map(|file| self.sandbox.root().join("data").join(file));
        if from.exists() {
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::rename(from, to).unwrap();
        }
    }

    fn merge(&mut self, number: usize) {
        let back = format!("HEAD~{}", self.random.below(3));
        if self.git_may_fail(&["checkout", "--quiet", "-b", "side", &back], &["status"]) {
            self.edit();
            self.sandbox.git(["add", "--all"]);
            self.sandbox.git(["commit", "--quiet", "--allow-empty", "--message", &format!("side {number}")]);
            self.sandbox.git(["checkout", "--quiet", "main"]);
            let favour = *self.random.pick(&["ours", "theirs"]);
            let merge = ["merge", "--quiet", "--no-ff", "--no-edit", "-X", favour, "side"];
            self.git_may_fail(&merge, &["merge", "--abort"]);
            self.sandbox.git(["branch", "--quiet", "-D", "side"]);
        }
        self.edit();
    }

    /// Runs git, and `undo` if that fails.
    fn git_may_fail(&self, arguments: &[&str], undo: &[&str]) -> bool {
        let run = |arguments: &[&str]| {
            let output = git_command(self.sandbox.root()).args(arguments).output().unwrap();
            output.status.success()
        };
        let succeeded = run(arguments);
        if !succeeded {
            run(undo);
            run(&["reset", "--quiet", "--hard"]);
        }
        succeeded
    }

    fn hierarchy(&mut self) {
        let mut text = String::from("version: 5\nhierarchy:\n");
        let skipped = self.random.below(8);
        let swapped = self.random.below(3) == 0;
        let order = if swapped { [1, 0, 3, 2] } else { [0, 1, 2, 3] };
        for level in order.into_iter().filter(|level| *level != skipped) {
            text.push_str(LEVELS[level]);
        }
        self.sandbox.write("hiera.yaml", text);
    }

    fn data(&mut self, file: &str) {
        let mut text = String::new();
        for key in KEYS {
            if self.random.below(3) > 0 {
                let value = self.value();
                _ = writeln!(text, "{key}: {value}");
            }
        }
        if self.random.below(3) == 0 {
            let strategy = *self.random.pick(&["deep", "hash", "unique", "first"]);
            let key = *self.random.pick(&KEYS);
            _ = writeln!(text, "lookup_options: {{{key}: {{merge: {strategy}}}}}");
        }
        self.sandbox.write(&format!("data/{file}"), text);
    }

    fn value(&mut self) -> String {
        self.next += 1;
        let digit = self.random.below(4);
        match self.random.below(10) {
            0 => format!("{}", self.next),
            1 => format!("'at %{{facts.where}} {digit}'"),
            2 => format!("\"%{{lookup('{}')}}\"", self.random.pick(&["a", "b", "d"])),
            3 => format!("[x{digit}, y, z{}]", self.random.below(3)),
            4 => format!("{{k: {digit}, l: [p, q{digit}], m: {{n: {}}}}}", self.random.below(3)),
            5 => "{}".to_owned(),
            6 => format!("[{{name: one, v: {digit}}}, {{name: two, v: 2}}]"),
            7 => "~".to_owned(),
            _ => format!("word{digit}"),
        }
    }

    /// The nodes, with facts that `shift` changes.
    pub(crate) fn fleet(shift: usize) -> Fleet {
        let mut text = String::new();
        for node in 1..=6 {
            let (role, site) = (["web", "db"][node % 2], ["x", "y"][node / 4]);
            let at = if node < 3 { node } else { node + shift };
            let facts = format!("{{\"where\": \"rack {at}\"}}");
            let variables = format!("{{\"role\": \"{role}\", \"site\": \"{site}\"}}");
            _ = writeln!(text, "{{\"name\": \"n{node}\", \"facts\": {facts}, \"variables\": {variables}}}");
        }
        let (profiles, errors) = read_profiles(text.as_bytes(), "nodes.ndjson", "production");
        assert_eq!(errors, []);
        Fleet::new(profiles)
    }

    /// A pipeline with nothing in its caches.
    pub(crate) fn pipeline(&self, shift: usize) -> Pipeline {
        let revisions = Revisions::new(Arc::new(self.sandbox.open()), EnvironmentOptions::default(), Arc::default());
        Pipeline::new(revisions, Arc::new(Site::fleet(shift)), Workers::of(1), Arc::new(disclosure()))
    }

    pub(crate) fn tip(&self) -> CommitId {
        self.sandbox.id("HEAD")
    }
}
