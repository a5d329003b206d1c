//! The checked entries of `profiles:`, files and other sources of node profiles.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::puppet::manifest::CallPattern;

/// An entry of `profiles`.
#[derive(Debug, Clone, PartialEq)]
pub enum ProfileEntry {
    /// A file, a folder or a glob.
    Files(PathBuf),
    /// The folder with the caches of a Puppet server.
    Cache(PathBuf),
    /// Files of facts (a file, a folder or a glob), each named after its node.
    Factsets(PathBuf),
    /// A manifest with node blocks.
    SitePp(SitePpSetting),
    /// Another source.
    Source(SourceSetting),
}

/// A manifest whose node blocks set variables.
#[derive(Debug, Clone, PartialEq)]
pub struct SitePpSetting {
    /// The manifest.
    pub file: PathBuf,
    /// A call that stands for a variable.
    pub call: Option<CallPattern>,
    /// The text between the parts of a class's name in that variable.
    pub separator: String,
}

/// A source of profiles other than files.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceSetting {
    /// A `PuppetDB`.
    PuppetDb(PuppetDbSetting),
    /// A node classifier.
    Enc(ProgramSetting),
    /// Puppet's `trusted_external_command`: a program, or a folder of programs.
    TrustedExternal(ProgramSetting),
}

/// A program that is run for each node.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramSetting {
    /// The program.
    pub program: String,
    /// The arguments before the name of the node.
    pub arguments: Vec<String>,
    /// The folder that it runs in.
    pub folder: PathBuf,
    /// The time limit of an answer.
    pub timeout: Duration,
    /// The age from which answers are fetched again.
    pub refresh: Duration,
}

impl fmt::Display for SourceSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceSetting::PuppetDb(setting) => write!(f, "PuppetDB at {}", setting.server.url),
            SourceSetting::Enc(setting) => write!(f, "the node classifier {}", setting.program),
            SourceSetting::TrustedExternal(setting) => write!(f, "the trusted_external_command {}", setting.program),
        }
    }
}

/// A `PuppetDB`, and the nodes to ask it for.
#[derive(Debug, Clone, PartialEq)]
pub struct PuppetDbSetting {
    /// The server.
    pub server: ServerSetting,
    /// The filter of nodes, in Puppet's query language; all nodes if `None`.
    pub query: Option<String>,
    /// True to ask for the classes in the catalogs of the nodes, too.
    pub classes: bool,
    /// The maximum number of nodes in an answer; a tenth of it if all of their facts are asked for.
    pub page: usize,
    /// The age from which profiles are fetched again.
    pub refresh: Duration,
}

/// A server that is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerSetting {
    /// The address, without the path of the API and without credentials.
    pub url: String,
    /// The token to send.
    pub token: Option<TokenSetting>,
    /// The files with the client's certificate and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// The file with the certificates of authorities, in place of the system's.
    pub authorities: Option<PathBuf>,
    /// The time limit of an answer.
    pub timeout: Duration,
}

/// The place of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenSetting {
    /// A file.
    File(PathBuf),
    /// A variable of the environment.
    Variable(String),
}

impl ProfileEntry {
    /// Returns the entry for a path that a flag names.
    pub fn files(path: impl Into<PathBuf>) -> ProfileEntry {
        ProfileEntry::Files(path.into())
    }
}

impl fmt::Display for ProfileEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProfileEntry::Files(path) => write!(f, "{}", path.display()),
            ProfileEntry::Cache(folder) => write!(f, "the cache in {}", folder.display()),
            ProfileEntry::SitePp(setting) => write!(f, "the node blocks of {}", setting.file.display()),
            ProfileEntry::Factsets(path) => write!(f, "the factsets in {}", path.display()),
            ProfileEntry::Source(setting) => write!(f, "{setting}"),
        }
    }
}

impl ProfileEntry {
    /// Returns the path that the entry reads, which a commit may write; `None` for sources that are asked.
    pub fn path_mut(&mut self) -> Option<&mut PathBuf> {
        match self {
            ProfileEntry::Files(path) | ProfileEntry::Factsets(path) | ProfileEntry::Cache(path) => Some(path),
            ProfileEntry::SitePp(setting) => Some(&mut setting.file),
            ProfileEntry::Source(_) => None,
        }
    }
}
