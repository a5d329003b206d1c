//! Repositories in which each node has values of its own: where sharing answers between nodes might end.

#![allow(dead_code, reason = "each benchmark has its own use for it")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use fastrand::Rng;
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
            common += &chain(lookups, aliases, version);
            let last = lookups - 1;
            let of_rack = |rack| {
                (format!("data/racks/{rack}.yaml"), format!("chain::c{last}: end {version} of a file of {rack}\n"))
            };
            let racks = (0..if by_file { RACKS } else { 0 }).map(of_rack);
            racks.chain([("data/common.yaml".to_owned(), common)]).collect()
        };
        let ends = if by_file { "files" } else { "facts" };
        Cliff::new(&format!("{aliases} aliases of a chain of {lookups}, ends by {ends}"), &[files(1), files(2)])
    }

    /// A repository of a random shape: keys whose texts have several variables, some of which a few nodes lack, methods
    /// and lookups, in values of any depth; behind them a chain of lookups that ends by a fact or by files, and a hash
    /// to which the files of some nodes add.
    pub(crate) fn of_seed(seed: u64) -> Result<Cliff> {
        let shape = AnyShape::of(&mut Rng::with_seed(seed));
        let lacking = shape.lacking;
        Cliff::with_profiles(&format!("seed {seed}"), &[shape.files(1), shape.files(2)], &profiles_text(lacking))
    }

    fn new(name: &str, commits: &[Files; 2]) -> Result<Cliff> {
        Cliff::with_profiles(name, commits, &profiles_text(0))
    }

    fn with_profiles(name: &str, commits: &[Files; 2], nodes: &str) -> Result<Cliff> {
        let folder = tempfile::Builder::new().prefix("hierad-bench-").tempdir()?;
        let (repository, profiles) = (folder.path().join("data"), folder.path().join("profiles.ndjson"));
        std::fs::write(&profiles, nodes)?;
        import(&repository, commits)?;
        let subject = Subject { name: format!("{NODES} nodes, {name}"), repository, profiles };
        Ok(Cliff { _folder: folder, subject })
    }
}

/// The shape of a repository.
struct AnyShape {
    /// The values of keys, with `VERSION` where the commits differ.
    values: Vec<String>,
    /// The number of nodes without a rack.
    lacking: usize,
    /// The number of lookups in a chain, of keys that are aliases of it, and true if it ends by files.
    chain: (usize, usize, bool),
    /// The number of entries of a merged hash, and of nodes whose files add to it.
    merged: (usize, usize),
}

impl AnyShape {
    fn of(dice: &mut Rng) -> AnyShape {
        let variables = [
            "%{trusted.certname}",
            "%{facts.networking.ip}",
            "%{facts.role}",
            "%{facts.rack}",
            "%{scope('facts.networking.fqdn')}",
            "%{lookup('plain::k1')}",
            "%{lookup('own::k0')}",
        ];
        let between = ["/", " ", ":", "-", ".", "1", ""];
        let text = |dice: &mut Rng| {
            let mut text = String::from("\"VERSION");
            for _ in 0..dice.usize(1..5) {
                text += between[dice.usize(0..between.len())];
                text += variables[dice.usize(0..variables.len())];
            }
            text + "\""
        };
        let first = "'VERSION %{facts.rack}'".to_owned();
        let value = |dice: &mut Rng| {
            let text = text(dice);
            match dice.u8(0..4) {
                0 => format!("{{a: {{b: [{text}, 1]}}, c: same}}"),
                1 => format!("[x, {text}]"),
                _ => text,
            }
        };
        let count = dice.usize(50..500);
        AnyShape {
            values: std::iter::once(first).chain((1..count).map(|_| value(dice))).collect(),
            lacking: if dice.bool() { dice.usize(1..200) } else { 0 },
            chain: (dice.usize(1..30), dice.usize(0..200), dice.bool()),
            merged: (dice.usize(1..100), if dice.bool() { dice.usize(0..NODES / 2) } else { 0 }),
        }
    }

    fn files(&self, version: usize) -> Files {
        let (AnyShape { values, .. }, (lookups, aliases, by_file), (entries, owners)) = (self, self.chain, self.merged);
        let mut common = plain_keys(1_000) + "lookup_options:\n  users: {merge: deep}\nusers:\n";
        (0..entries).for_each(|entry| _ = writeln!(common, "  u{entry}: {{uid: {entry}, shell: /bin/{version}}}"));
        for (key, value) in values.iter().enumerate() {
            _ = writeln!(common, "own::k{key}: {}", value.replace("VERSION", &version.to_string()));
        }
        common += &chain(lookups, aliases, version);
        let of_rack =
            |rack| (format!("data/racks/{rack}.yaml"), format!("chain::c{}: end {version} of {rack}\n", lookups - 1));
        let own = |node: usize| {
            (
                format!("data/nodes/{}.yaml", name(node)),
                format!("users: {{local: {{uid: {node}}}, u0: {{shell: own}}}}\n"),
            )
        };
        let racks = (0..if by_file { RACKS } else { 0 }).map(of_rack);
        racks.chain((0..owners).map(own)).chain([("data/common.yaml".to_owned(), common)]).collect()
    }
}

/// Keys that are aliases of the first one in a chain of lookups.
fn chain(lookups: usize, aliases: usize, version: usize) -> String {
    let mut keys = String::new();
    (0..aliases).for_each(|key| _ = writeln!(keys, "alias::a{key}: \"%{{alias('chain::c0')}}\""));
    for key in 1..lookups {
        _ = writeln!(keys, "chain::c{}: \"%{{lookup('chain::c{key}')}}\"", key - 1);
    }
    _ = writeln!(keys, "chain::c{}: 'end {version} %{{facts.rack}}'", lookups - 1);
    keys
}

fn name(node: usize) -> String {
    format!("node{node:05}.example.com")
}

fn plain_keys(count: usize) -> String {
    let mut keys = String::new();
    (0..count).for_each(|key| _ = writeln!(keys, "plain::k{key}: value {key}"));
    keys
}

/// The profiles, of which the first `lacking` have no rack.
fn profiles_text(lacking: usize) -> String {
    let profile = |node: usize| {
        let (name, ip) = (name(node), format!("10.0.{}.{}", node >> 8, node & 255));
        let networking = format!("{{\"ip\": \"{ip}\", \"fqdn\": \"{name}\"}}");
        let role = node % 40;
        let rack = if node < lacking { String::new() } else { format!("\"rack\": \"{}\", ", node % RACKS) };
        format!("{{\"name\": \"{name}\", \"facts\": {{\"role\": \"r{role}\", {rack}\"networking\": {networking}}}}}\n")
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
