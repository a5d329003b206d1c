//! Writes what was found as settings, with comments.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::datadirs::Mapped;
use crate::puppet::json;

/// The findings in a repository and on the machine.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// The path of hiera.yaml, unless it is where it is looked for anyway.
    pub hiera_config: Option<String>,
    /// The datadirs that are not where hiera.yaml says.
    pub datadirs: Vec<Mapped>,
    /// The files and folders of profiles, relative to the top of the work tree.
    pub profiles: Vec<PathBuf>,
    /// Sources of nodes outside of the tree.
    pub sources: Vec<Source>,
    /// The functions in Ruby that Puppet on the machine could run.
    pub functions: Vec<Arc<str>>,
}

/// A source of nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file, a folder or a glob outside of the tree.
    Files(PathBuf),
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
            text += "\n# The environment's hiera.yaml.\n";
            _ = writeln!(text, "hiera_config: {}", json::string(path));
        }
        if !self.datadirs.is_empty() {
            text += "\n# Datadirs that lie elsewhere, and the folders here that they are. Those that are none of this repository\n\
                     # are taken as empty.\ndatadirs:\n";
            for Mapped { datadir, folder } in &self.datadirs {
                let folder = match folder.as_deref() {
                    None => "none".to_owned(),
                    Some("") => "\".\"".to_owned(),
                    Some(folder) => json::string(folder),
                };
                _ = writeln!(text, "  {}: {folder}", json::string(datadir));
            }
        }
        if !self.profiles.is_empty() && self.sources.is_empty() {
            text += "\n# The nodes.\n";
            text += &list(self.profiles.iter().map(|path| json::string(&path.to_string_lossy())));
        }
        (!text.is_empty()).then(|| format!("{HEAD}{text}"))
    }

    /// Returns the settings for the git directory, which opens connections, runs programs or reads files elsewhere;
    /// `None` if it needs none. `top` is the top of the work tree.
    pub fn of_git_directory(&self, top: &Path) -> Option<String> {
        let functions = self.functions_in_comments();
        if self.sources.is_empty() {
            return functions.map(|functions| format!("{HEAD}{functions}"));
        }
        let own = self.profiles.iter().map(|path| json::string(&top.join(path).to_string_lossy()));
        let others = self.sources.iter().map(Source::entry);
        let text = "\n# The nodes. Of several entries, later ones lie over earlier ones. These count, as nobody commits this file.\n";
        Some(format!("{HEAD}{text}{}{}", list(own.chain(others)), functions.unwrap_or_default()))
    }

    /// Returns the lines that would have Puppet run functions, or `None` if there are none: the user decides.
    fn functions_in_comments(&self) -> Option<String> {
        let lines =
            self.functions.iter().map(|name| format!("#   {}: {{puppet: true, reads: path}}\n", json::string(name)));
        let head = "\n# Functions in Ruby, of modules in this repository. With these lines Puppet on this machine runs them, with the\n\
                    # code of the default branch; without, keys that reach them are unknown. 'reads: path' promises that they read\n\
                    # only files that begin with the path of their level: hierad says so if that is not true.\n# backends:\n";
        (!self.functions.is_empty()).then(|| format!("{head}{}", lines.collect::<String>()))
    }
}

fn list(entries: impl Iterator<Item = String>) -> String {
    entries.fold("profiles:\n".to_owned(), |text, entry| text + "  - " + &entry + "\n")
}

impl Source {
    /// Returns the source as an entry of `profiles`.
    fn entry(&self) -> String {
        let of_path = |path: &PathBuf| json::string(&path.to_string_lossy());
        match self {
            Source::Files(path) => of_path(path),
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
