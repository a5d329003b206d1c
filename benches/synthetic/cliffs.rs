//! Repositories in which each node has values of its own: where sharing answers between nodes might end.

#![allow(dead_code, reason = "each benchmark has its own use for it")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::measure::Result;
use crate::measure::program::{Subject, finish, run};

/// The number of nodes.
pub(crate) const NODES: usize = 10_000;

/// The number of values of the fact `rack`.
const RACKS: usize = 977;

const HIERARCHY: &str = "version: 5
hierarchy:
  - {name: node, path: 'nodes/%{trusted.certname}.yaml'}
  - {name: rack, path: 'racks/%{facts.rack}.yaml'}
  - {name: role, path: 'roles/%{facts.role}.yaml'}
  - {name: common, path: common.yaml}
";

/// A repository with two commits that goes when this does.
pub(crate) struct Cliff {
    _folder: TempDir,
    pub(crate) subject: Subject,
}

/// The files of a commit, beside hiera.yaml.
type Files = Vec<(String, String)>;

impl Cliff {
    /// Keys that interpolate names and addresses, of which all change.
    pub(crate) fn of_own_keys(count: usize) -> Result<Cliff> {
        let value = |key: usize, port: usize| match key % 4 {
            0 => format!("'%{{trusted.certname}}:{port}'"),
            1 => format!("'http://%{{facts.networking.ip}}/{port}'"),
            2 => format!("[a, '%{{facts.networking.fqdn}}', {port}]"),
            _ => format!("{{host: '%{{trusted.certname}}', port: {port}, x: {{id: 'id-%{{facts.networking.ip}}'}}}}"),
        };
        let files = |version: usize| {
            let mut common = plain_keys(5_000 - count);
            for key in 0..count {
                _ = writeln!(common, "own::k{key}: {}", value(key, version * 1_000 + key));
            }
            vec![("data/common.yaml".to_owned(), common)]
        };
        Cliff::new(&format!("{count} keys of each node"), &[files(1), files(2)])
    }

    /// A deeply merged hash of so many entries, to which each node has a file, and of which all entries change.
    pub(crate) fn of_deep_hash(entries: usize) -> Result<Cliff> {
        let files = |version: usize| {
            let mut common = plain_keys(1_000);
            common.push_str("lookup_options:\n  users: {merge: deep}\nusers:\n");
            for entry in 0..entries {
                _ = writeln!(common, "  u{entry}: {{uid: {entry}, shell: /bin/{version}, groups: [a, b]}}");
            }
            let own = |node: usize| {
                let content = format!("users:\n  local: {{uid: {node}}}\n  u{}: {{shell: /bin/own}}\n", node % entries);
                (format!("data/nodes/{}.yaml", name(node)), content)
            };
            std::iter::once(("data/common.yaml".to_owned(), common)).chain((0..NODES).map(own)).collect::<Files>()
        };
        Cliff::new(&format!("a deep hash of {entries}"), &[files(1), files(2)])
    }

    /// Keys that are all aliases of the first one in a chain of lookups, whose end differs from rack to rack: by a fact
    /// in it, or by a file of each rack.
    pub(crate) fn of_chain(lookups: usize, aliases: usize, by_file: bool) -> Result<Cliff> {
        let files = |version: usize| {
            let mut common = plain_keys(1_000);
            (0..aliases).for_each(|key| _ = writeln!(common, "alias::a{key}: \"%{{alias('chain::c0')}}\""));
            for key in 1..lookups {
                _ = writeln!(common, "chain::c{}: \"%{{lookup('chain::c{key}')}}\"", key - 1);
            }
            let last = lookups - 1;
            _ = writeln!(common, "chain::c{last}: 'end {version} %{{facts.rack}}'");
            let of_rack = |rack| {
                (format!("data/racks/{rack}.yaml"), format!("chain::c{last}: end {version} of a file of {rack}\n"))
            };
            let racks = (0..if by_file { RACKS } else { 0 }).map(of_rack);
            racks.chain([("data/common.yaml".to_owned(), common)]).collect()
        };
        let ends = if by_file { "files" } else { "facts" };
        Cliff::new(&format!("{aliases} aliases of a chain of {lookups}, ends by {ends}"), &[files(1), files(2)])
    }

    fn new(name: &str, commits: &[Files; 2]) -> Result<Cliff> {
        let folder = tempfile::Builder::new().prefix("hierad-bench-").tempdir()?;
        let (repository, profiles) = (folder.path().join("data"), folder.path().join("profiles.ndjson"));
        std::fs::write(&profiles, profiles_text())?;
        import(&repository, commits)?;
        let subject = Subject { name: format!("{NODES} nodes, {name}"), repository, profiles };
        Ok(Cliff { _folder: folder, subject })
    }
}

fn name(node: usize) -> String {
    format!("node{node:05}.example.com")
}

fn plain_keys(count: usize) -> String {
    let mut keys = String::new();
    (0..count).for_each(|key| _ = writeln!(keys, "plain::k{key}: value {key}"));
    keys
}

fn profiles_text() -> String {
    let profile = |node: usize| {
        let (name, ip) = (name(node), format!("10.0.{}.{}", node >> 8, node & 255));
        let networking = format!("{{\"ip\": \"{ip}\", \"fqdn\": \"{name}\"}}");
        let (role, rack) = (node % 40, node % RACKS);
        format!(
            "{{\"name\": \"{name}\", \"facts\": {{\"role\": \"r{role}\", \"rack\": \"{rack}\", \"networking\": {networking}}}}}\n"
        )
    };
    (0..NODES).map(profile).collect()
}

/// Makes a repository with these commits.
fn import(repository: &Path, commits: &[Files]) -> Result<()> {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(repository).args(arguments);
        git
    };
    std::fs::create_dir_all(repository)?;
    run(git(&["init", "--quiet", "--initial-branch", "main"]).stdin(Stdio::null()))?;
    let mut stream = Vec::new();
    for (at, files) in commits.iter().enumerate() {
        let time = 1_700_000_000 + at;
        write!(stream, "commit refs/heads/main\ncommitter A <a@example.com> {time} +0000\ndata 1\nx\n")?;
        for (path, content) in files.iter().map(|(p, c)| (p.as_str(), c.as_str())).chain([("hiera.yaml", HIERARCHY)]) {
            write!(stream, "M 644 inline {path}\ndata {}\n{content}\n", content.len())?;
        }
    }
    let mut command = git(&["fast-import", "--quiet"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    child.stdin.take().ok_or("no input")?.write_all(&stream)?;
    finish(&command, child)
}
