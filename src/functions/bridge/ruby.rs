//! Finds the Ruby that has Puppet, or OpenVox in its place.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The path at which Puppet's own packages put their Ruby.
const PACKAGED_RUBY: &str = "/opt/puppetlabs/puppet/bin/ruby";

/// Returns the Ruby named by `configured`, or the one that the machine's `puppet` runs with; `None` if there is none.
pub fn find(configured: Option<&Path>) -> Option<PathBuf> {
    if let Some(path) = configured {
        return Some(path.to_owned());
    }
    let of_puppet = puppet_program().and_then(|puppet| interpreter(&puppet));
    let packaged = || Some(PathBuf::from(PACKAGED_RUBY)).filter(|path| path.is_file());
    of_puppet.or_else(packaged).or_else(|| find_in_path("ruby"))
}

/// Returns true if Puppet is on the machine, as far as its programs show.
pub fn has_puppet() -> bool {
    puppet_program().is_some() || Path::new(PACKAGED_RUBY).is_file()
}

/// Returns the versions of the machine's Puppet and of its Ruby, or `None` if they are unknown.
pub fn versions() -> Option<(String, String)> {
    let ruby = if has_puppet() { find(None)? } else { return None };
    let program = "print Puppet.version, ' ', RUBY_VERSION";
    let output = Command::new(ruby).args(["-W0", "-rpuppet/version", "-e", program]).output().ok()?;
    let printed = String::from_utf8(output.stdout).ok()?;
    let (puppet, ruby) = printed.trim_end().split_once(' ')?;
    puppet.starts_with(|sign: char| sign.is_ascii_digit()).then(|| (puppet.to_owned(), ruby.to_owned()))
}

/// Returns the program of Puppet or OpenVox.
fn puppet_program() -> Option<PathBuf> {
    find_in_path("puppet").or_else(|| find_in_path("openvox"))
}

/// Returns the program `name` in one of the folders of `PATH`, or `None` if there is none.
fn find_in_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Returns the Ruby in the first line of a script, or `None` if something else runs it, such as a shell.
fn interpreter(script: &Path) -> Option<PathBuf> {
    let content = std::fs::read(script).ok()?;
    let line = content.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    let program = Path::new(words.next()?);
    let is_ruby = |name: &str| name.starts_with("ruby");
    let name = program.file_name()?.to_str()?;
    match (name, words.next()) {
        ("env", Some(program)) if is_ruby(program) => find_in_path(program),
        (name, _) if is_ruby(name) && program.is_file() => Some(program.to_owned()),
        _ => None,
    }
}
