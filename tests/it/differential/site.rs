//! A site that changes at random: a repository, its settings, node profiles and what lies outside of it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use super::program;
use crate::support::random::Random;
use crate::support::{Sandbox, git_command, git_in};

/// The roles of nodes, of equal length: files with one are as large as those with another.
const ROLES: [&str; 3] = ["web", "app", "dbs"];

const HIERA: &str = "version: 5\nhierarchy:\n- {name: Node, path: 'nodes/%{trusted.certname}.yaml'}\n\
                     - {name: Role, path: 'roles/%{role}.yaml'}\n\
                     - {name: Shared, datadir: /srv/shared, path: common.yaml}\n- {name: Common, path: common.yaml}\n";

/// The hiera.yaml of the global layer and of the module.
const PLAIN: &str = "version: 5\nhierarchy: [{name: Common, path: common.yaml}]\n";

/// A site, and the generator that changes it.
pub(super) struct Site {
    pub(super) random: Random,
    pub(super) sandbox: Sandbox,
    /// The number of changes, for texts that are new.
    changes: usize,
    /// The names of variables that data mention.
    mentioned: usize,
}

impl Site {
    pub(super) fn new(seed: u64) -> Site {
        let sandbox = Sandbox::new();
        let mut site = Site { random: Random::new(seed), sandbox, changes: 0, mentioned: 0 };
        site.sandbox.git(["config", "gc.auto", "0"]);
        site.sandbox.files(&format!("-- hiera.yaml\n{HIERA}-- data/common.yaml\nport: 80\n"));
        for folder in ["modules/ntp", "global", "other"] {
            site.write(&format!("{folder}/hiera.yaml"), PLAIN);
        }
        site.sandbox.git(["init", "--quiet", "--initial-branch=main", "../other"]);
        site.commit_other();
        for release in ["one", "two"] {
            site.profile(&format!("releases/{release}/n4.yaml"), "n4");
        }
        for name in ["home", "clean", "empty"] {
            fs::create_dir_all(site.at(name)).unwrap();
        }
        std::os::unix::fs::symlink("releases/one", site.at("current")).unwrap();
        for name in ["n1", "n2", "n3"] {
            site.profile(&format!("nodes/{name}.yaml"), name);
        }
        site.outside();
        site.outside();
        site.data();
        site.settings();
        site.sandbox.commit("first");
        site.data();
        site.sandbox.commit("second");
        site
    }

    /// Returns a path beside the repository.
    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.sandbox.beside(name)
    }

    /// Writes a file beside the repository, mostly with the time that all files have that come from an image. A file
    /// that is there is replaced, or written over.
    pub(super) fn write(&mut self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if self.random.below(3) == 0 {
            let other = path.with_extension("new");
            fs::write(&other, text).unwrap();
            fs::rename(&other, &path).unwrap();
        } else {
            fs::write(&path, text).unwrap();
        }
        if self.random.below(4) > 0 {
            let time = UNIX_EPOCH + Duration::from_secs(1);
            File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
        }
    }

    fn profile(&mut self, path: &str, name: &str) {
        let (role, zone, digit) = (*self.random.pick(&ROLES), self.random.below(3), self.random.below(10));
        let facts: Vec<String> = (0..6).map(|n| format!("v{n}: f{}", self.random.below(3))).collect();
        let facts = facts.join(", ");
        let text = match self.random.below(8) {
            // One node always has a profile.
            0 if name != "n3" => format!("name: {name}\nfacts: [{role}{zone}{digit}, {facts}\n"),
            _ => format!("name: {name}\nfacts: {{zone: z{zone}, {facts}}}\nvariables: {{role: {role}}}\n"),
        };
        self.write(path, &text);
    }

    /// Changes a node profile, or which of them there are.
    pub(super) fn profiles(&mut self) {
        let name = *self.random.pick(&["n1", "n2", "n3", "n5"]);
        match self.random.below(8) {
            0 if name != "n3" => _ = fs::remove_file(self.at(&format!("nodes/{name}.yaml"))),
            1 => {
                // As a new generation of Nix comes.
                let release = *self.random.pick(&["one", "two"]);
                self.profile(&format!("releases/{release}/n4.yaml"), "n4");
                let (link, other) = (self.at("current"), self.at("current.new"));
                std::os::unix::fs::symlink(format!("releases/{release}"), &other).unwrap();
                fs::rename(other, link).unwrap();
            }
            _ => self.profile(&format!("nodes/{name}.yaml"), name),
        }
    }

    /// Commits global data to the other repository.
    fn commit_other(&mut self) {
        let digit = self.random.below(10);
        self.write("other/data/common.yaml", &format!("g: other {digit}\n"));
        let other = self.at("other");
        git_in(&other, ["add", "--all"]);
        git_in(&other, ["commit", "--quiet", "--allow-empty", "--message", "other"]);
    }

    /// Changes the data of the module, of the global layers or of the datadir outside of the repository.
    pub(super) fn outside(&mut self) {
        let digit = self.random.below(10);
        match self.random.below(7) {
            0 => self.write("modules/ntp/data/common.yaml", &format!("'ntp::a': {digit}\n'ntp::b': '%{{role}}'\n")),
            1 => self.write("global/data/common.yaml", &format!("g: {digit}\n")),
            2 => self.write("shared/common.yaml", &format!("s: {digit}\nz: 'shared %{{facts.zone}}'\n")),
            3 => _ = fs::remove_file(self.at("shared/common.yaml")),
            4 | 5 => self.commit_other(),
            _ => {
                let name = *self.random.pick(&["common", "other"]);
                self.write("global/hiera.yaml", &PLAIN.replace("common", name));
            }
        }
    }

    /// Changes data in the work tree.
    pub(super) fn data(&mut self) {
        self.changes += 1;
        let (change, digit) = (self.changes, self.random.below(10));
        let (path, text) = match self.random.below(6) {
            0 => ("data/nodes/n1.yaml".to_owned(), format!("own: word{digit}\n")),
            1 => (
                format!("data/roles/{}.yaml", self.random.pick(&ROLES)),
                format!("port: {change}\nlist: [word{digit}]\n"),
            ),
            _ => {
                self.mentioned = self.random.below(6);
                let variable = self.mentioned;
                let text = format!(
                    "port: 80\ntext: word{digit} {change}\nfact: 'in %{{facts.v{variable}}}'\ng: 0\ns: 0\nz: 'here'\n\
                     'ntp::a': ~\nlist: [common]\nown: ''\n"
                );
                ("data/common.yaml".to_owned(), text)
            }
        };
        self.sandbox.write(&path, text);
    }

    /// Changes the settings.
    pub(super) fn settings(&mut self) {
        let base = self.at("").to_str().unwrap().trim_end_matches('/').to_owned();
        let mut profiles = vec![format!("{base}/nodes"), format!("{base}/current/n4.yaml")];
        match self.random.below(5) {
            0 => profiles.push(format!("{base}/empty")),
            1 => profiles.reverse(),
            2 => profiles[0] = format!("{base}/nodes/*.yaml"),
            _ => {}
        }
        let environment = *self.random.pick(&["production", "testing", "branch"]);
        let puppet = *self.random.pick(&[7, 8]);
        let global = match self.random.below(2) {
            0 => format!("{base}/global/hiera.yaml"),
            _ => format!("{{repo: {base}/other, rev: main, path: hiera.yaml}}"),
        };
        let text = format!(
            "profiles: [{}]\nenvironment: {environment}\npuppet: {puppet}\nbasemodulepath: [{base}/modules]\n\
             global_hiera_config: {global}\ndatadirs: {{/srv/shared: {base}/shared}}\n",
            profiles.join(", ")
        );
        fs::write(self.at("settings.yaml"), text).unwrap();
    }

    /// The program in a folder of the site, with the home `home`.
    pub(super) fn command(&self, folder: &Path, home: &str) -> Command {
        let mut command = Command::new(program());
        command.env_clear().current_dir(folder);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        for (name, value) in git_command(folder).get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        command.env("HOME", self.at(home));
        command
    }
}
