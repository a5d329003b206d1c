//! Writes what was found as settings, with comments.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::datadirs::Mapped;
use super::guessed::Guessed;
use super::profiles::ProfilesFound;
use super::site_pp::SitePpFound;
use super::variables::VariableFound;
use crate::hiera::layer::roots::VARIABLE;
use crate::puppet::manifest::LookedUp;
use crate::puppet::{Puppet, Ruby, json};

/// The findings in a repository and on the machine.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// The path of hiera.yaml, unless it is the default.
    pub hiera_config: Option<String>,
    /// The path of the global layer's hiera.yaml: one in the repository, or an absolute one on disk.
    pub global_hiera_config: Option<String>,
    /// The release of Puppet, unless it is the default.
    pub puppet: Option<Puppet>,
    /// The Ruby on the machine, unless it is one that goes with that release.
    pub ruby: Option<Ruby>,
    /// The datadirs that are not where hiera.yaml says.
    pub datadirs: Vec<Mapped>,
    /// Folders and files of data that are in no commit, with their places on disk.
    pub overlays: Vec<(String, PathBuf)>,
    /// The files and folders of profiles, relative to the top of the work tree.
    pub profiles: Vec<ProfilesFound>,
    /// Sources of nodes outside of the tree.
    pub sources: Vec<Source>,
    /// Guessed nodes, if no others are known.
    pub guessed: Option<Guessed>,
    /// The manifest whose node blocks set variables.
    pub site_pp: Option<SitePpFound>,
    /// The variables that manifests look up.
    pub variables: Vec<VariableFound>,
    /// The functions in Ruby that Puppet on the machine could run.
    pub functions: Functions,
    /// The folder with clones of the modules that a Puppetfile names.
    pub module_clones: Option<PathBuf>,
}

/// Functions in Ruby of modules in the repository.
#[derive(Debug, Clone, Default)]
pub struct Functions {
    /// Their names.
    pub names: Vec<Arc<str>>,
    /// The revision whose code is run, unless it is the default branch as the clone knows it.
    pub revision: Option<String>,
    /// True if Puppet is to run them.
    pub is_run: bool,
}

/// A source of nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file, a folder or a glob outside of the tree.
    Files(ProfilesFound),
    /// A `PuppetDB`.
    PuppetDb(PuppetDbFound),
    /// The folder with the caches of a Puppet server.
    Cache(PathBuf),
    /// A node classifier.
    Classifier(PathBuf),
}

/// A `PuppetDB`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PuppetDbFound {
    /// Its address.
    pub url: String,
    /// The file of the client's certificate.
    pub cert: Option<PathBuf>,
    /// The file of its key.
    pub key: Option<PathBuf>,
    /// The file of the authorities.
    pub ca: Option<PathBuf>,
    /// The filter of nodes.
    pub query: Option<String>,
}

const HEAD: &str = "# Settings of hierad, as `hierad init` found them. Look at what it guessed.\n";

impl Found {
    /// Returns the settings for the tree, which every clone has; `None` if it needs none.
    pub fn of_tree(&self) -> Option<String> {
        let mut text = String::new();
        if let Some(path) = &self.hiera_config {
            let subject = if path.contains(VARIABLE) {
                "The hiera.yaml of each environment"
            } else {
                "The environment's hiera.yaml"
            };
            _ = writeln!(text, "\n# {subject}.");
            _ = writeln!(text, "hiera_config: {}", json::string(path));
        }
        if let Some(path) = self.global_hiera_config.as_ref().filter(|path| !path.starts_with('/')) {
            text += "\n# The global layer's hiera.yaml, which a module puts on servers.\n";
            _ = writeln!(text, "global_hiera_config: {{path: {}}}", json::string(path));
        }
        if let Some(puppet) = self.puppet {
            let (name, number) = (puppet.name(), puppet.number());
            _ = writeln!(text, "\n# The version of {name} on the machine where these were written.\npuppet: {number}");
        }
        if let Some(ruby) = self.ruby {
            _ = writeln!(text, "\n# The Ruby on the machine where these were written.\nruby: {}", ruby.name());
        }
        if self.overlays.is_empty() {
            text += &self.datadirs();
        }
        if !self.variables.is_empty() {
            text += "\n# Variables that manifests look up in the data.\nvariables:\n";
        }
        for VariableFound { file, variable: LookedUp { variable, key } } in &self.variables {
            _ = writeln!(text, "  {variable}: {} # {file}", json::string(&format!("%{{lookup('{key}')}}")));
        }
        if !self.profiles.is_empty() && self.sources.is_empty() {
            text += "\n# The nodes.\n";
            text += &list(self.profiles.iter().map(|found| found.entry(&found.path)));
        }
        (!text.is_empty()).then(|| format!("{HEAD}{text}"))
    }

    /// Returns the datadirs, and the data that lies over them.
    fn datadirs(&self) -> String {
        if self.datadirs.is_empty() && self.overlays.is_empty() {
            return String::new();
        }
        let mut text = "\n# Datadirs that lie elsewhere, and the folders here that they are. Those that are none of this repository\n\
                        # are taken as empty.\ndatadirs:\n"
            .to_owned();
        for Mapped { datadir, folder } in &self.datadirs {
            let folder = match folder.as_deref() {
                None => "none".to_owned(),
                Some("") => "\".\"".to_owned(),
                Some(folder) => json::string(folder),
            };
            _ = writeln!(text, "  {}: {folder}", json::string(datadir));
        }
        for (place, real) in &self.overlays {
            let real = json::string(&real.to_string_lossy());
            _ = writeln!(text, "  {}: {real} # in no commit", json::string(place));
        }
        text
    }

    /// Returns the settings for the git directory, which open connections, run programs or read files elsewhere;
    /// `None` if it needs none. `top` is the top of the work tree.
    pub fn of_git_directory(&self, top: &Path) -> Option<String> {
        let mut text = String::new();
        if let Some(path) = self.global_hiera_config.as_ref().filter(|path| path.starts_with('/')) {
            _ = writeln!(text, "\n# The global layer's hiera.yaml.\nglobal_hiera_config: {}", json::string(path));
        }
        if !self.overlays.is_empty() {
            text += &self.datadirs();
        }
        if !self.sources.is_empty() {
            text += &self.nodes(top);
        }
        text += &self.functions_in_ruby().unwrap_or_default();
        if let Some(folder) = &self.module_clones {
            let head = "\n# The clones of modules that r10k takes from git, which are read as a Puppetfile says.\n";
            _ = writeln!(text, "{head}module_clones: {}", json::string(&folder.to_string_lossy()));
        }
        (!text.is_empty()).then(|| format!("{HEAD}{text}"))
    }

    /// Returns the entries of nodes.
    fn nodes(&self, top: &Path) -> String {
        let own = self.profiles.iter().map(|found| found.entry(&top.join(&found.path)));
        let others = self.sources.iter().map(Source::entry);
        let manifest = self.site_pp.iter().map(|found| found.entry(top));
        let text = "\n# The nodes. Of several entries, later ones lie over earlier ones. These count, as nobody commits this file.\n";
        format!("{text}{}", list(own.chain(others).chain(manifest)))
    }

    /// Returns the lines that make Puppet run functions, or `None` if there are none. They are comments unless the
    /// user has decided.
    fn functions_in_ruby(&self) -> Option<String> {
        let Functions { names, revision, is_run } = &self.functions;
        let sign = if *is_run { "" } else { "# " };
        let revision = revision.as_deref().map_or("true".to_owned(), json::string);
        let line = |name: &Arc<str>| format!("{sign}  {}: {{puppet: {revision}, reads: path}}\n", json::string(name));
        let head = "\n# Functions in Ruby, of modules in this repository. With these lines Puppet on this machine runs them, with the\n\
                    # code of the default branch; without, keys that reach them are unknown. 'reads: path' promises that they read\n\
                    # only files that begin with the path of their level: hierad says so if that is not true.\n";
        (!names.is_empty()).then(|| format!("{head}{sign}backends:\n{}", names.iter().map(line).collect::<String>()))
    }
}

fn list(entries: impl Iterator<Item = String>) -> String {
    entries.fold("profiles:\n".to_owned(), |text, entry| text + "  - " + &entry + "\n")
}

impl ProfilesFound {
    /// Returns the file or folder at `path` as an entry of `profiles`.
    fn entry(&self, path: &Path) -> String {
        let path = json::string(&path.to_string_lossy());
        if self.are_factsets { format!("factsets: {path}") } else { path }
    }
}

impl SitePpFound {
    /// Returns the manifest as an entry of `profiles`.
    fn entry(&self, top: &Path) -> String {
        let mut text = format!("site_pp:\n      file: {}", json::string(&top.join(&self.file).to_string_lossy()));
        if let Some(call) = &self.call {
            _ = write!(text, "\n      role: {}", json::string(&call.pattern.to_string()));
            if call.separator != "::" {
                _ = write!(text, "\n      separator: {}", json::string(call.separator));
            }
        }
        text
    }
}

impl Source {
    /// Returns the source as an entry of `profiles`.
    fn entry(&self) -> String {
        let of_path = |path: &PathBuf| json::string(&path.to_string_lossy());
        match self {
            Source::Files(found) => found.entry(&found.path),
            Source::Cache(folder) => format!("puppet_cache: {}", of_path(folder)),
            Source::Classifier(program) => format!("enc: {}", of_path(program)),
            Source::PuppetDb(found) => {
                let mut text = format!("puppetdb:\n      url: {}", json::string(&found.url));
                let files = [("cert", &found.cert), ("key", &found.key), ("ca", &found.ca)];
                for (name, path) in files.into_iter().filter_map(|(name, path)| Some((name, path.as_ref()?))) {
                    _ = write!(text, "\n      {name}: {}", of_path(path));
                }
                if let Some(query) = &found.query {
                    _ = write!(text, "\n      query: {}", json::string(query));
                }
                text
            }
        }
    }
}
