//! Random Hiera data repositories: hierarchies, data, modules and the nodes to look at them from.
//!
//! The result depends on the seed alone, on every platform. Most of a repository is sound, so that lookups get deep;
//! a fault that fails every key is in few of them. The vocabulary is small on purpose: levels must define the same keys
//! for merges to happen, and interpolations must name variables and keys that exist.
#![allow(dead_code, unused_imports, reason = "each program that includes this uses its own part of it")]

mod broken;
mod conversion;
mod conversions;
mod data;
mod edit;
mod emit;
mod encryption;
mod expression;
mod fault;
mod files;
mod global;
mod global3;
mod hierarchy;
mod modules;
mod options;
mod profiles;
mod random;
mod scalar;
mod topics;
mod version3;
mod version4;
mod words;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

pub(crate) use conversions::conversion;
pub(crate) use edit::edited;
pub(crate) use random::Random;
pub(crate) use topics::Topic;

/// An entry at a path of a generated repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// A file and its text.
    File(String),
    /// A symbolic link and its target.
    Link(String),
    /// Nothing may come to lie here.
    Nothing,
}

/// A data repository with the profiles of its nodes.
#[derive(Debug, Clone)]
pub(crate) struct Repository {
    /// The seed it was made from.
    pub(crate) seed: u64,
    /// Everything in it, by path; what lies outside of it has an absolute path.
    pub(crate) files: BTreeMap<String, Content>,
    /// Its nodes' profiles.
    pub(crate) profiles: Vec<Json>,
}

/// The repository of a seed.
pub(crate) fn generate(seed: u64) -> Repository {
    let mut random = Random::new(seed);
    let mut plan = if random.percent(5) { version4::plan(&mut random) } else { hierarchy::plan(&mut random) };
    let mut files = files::write(&mut random, &plan);
    modules::add(&mut random, &mut files);
    global::add(&mut random, &mut files);
    fault::spoil(&mut random, &mut plan, &mut files);
    files.entry("hiera.yaml".to_owned()).or_insert_with(|| Content::File(plan.document(&mut random)));
    files.retain(|_, content| *content != Content::Nothing);
    settle(&mut files);
    let profiles = profiles::write(&mut random);
    Repository { seed, files, profiles }
}

/// Takes away what lies below a file.
fn settle(files: &mut BTreeMap<String, Content>) {
    let is_file = |path: &str, files: &BTreeMap<String, Content>| matches!(files.get(path), Some(Content::File(_)));
    let is_below = |path: &&String| path.match_indices('/').any(|(slash, _)| is_file(&path[..slash], files));
    let below: Vec<String> = files.keys().filter(is_below).cloned().collect();
    for path in below {
        files.remove(&path);
    }
}

/// The keys whose values mostly are arrays, and those whose values mostly are hashes.
pub(crate) fn keys_to_merge() -> [Vec<&'static str>; 2] {
    let of = |wanted| words::KEYS.iter().filter(|(_, kind)| *kind == wanted).map(|(key, _)| *key).collect();
    [of(words::Kind::Array), of(words::Kind::Hash)]
}

/// The repository of a seed, of Hiera 3.
pub(crate) fn generate_hiera3(seed: u64) -> Repository {
    let mut random = Random::new(seed);
    let files = version3::repository(&mut random);
    let profiles = profiles::write(&mut random);
    Repository { seed, files, profiles }
}

/// The repository of a seed, with a hiera.yaml that Puppet may refuse.
pub(crate) fn generate_broken(seed: u64) -> Repository {
    let mut random = Random::new(seed);
    let files = broken::repository(&mut random);
    let profile = serde_json::json!({"name": "n", "environment": "production", "facts": {"names": ["common", "x"]}});
    Repository { seed, files, profiles: vec![profile] }
}

/// The repository of a seed, about one topic.
pub(crate) fn generate_topic(seed: u64, topic: Topic) -> Repository {
    let (files, profiles) = topics::repository(&mut Random::new(seed), topic);
    Repository { seed, files, profiles }
}

impl Repository {
    /// Everything in one text, each file under a line `-- PATH`, each link a line `-- PATH -> TARGET`.
    pub(crate) fn fixture(&self) -> String {
        let mut text = String::new();
        for (path, content) in &self.files {
            match content {
                Content::Link(target) => _ = writeln!(text, "-- {path} -> {target}"),
                Content::File(content) => _ = writeln!(text, "-- {path}\n{}", content.trim_end_matches('\n')),
                Content::Nothing => {}
            }
        }
        text
    }

    /// The profiles, one a line.
    pub(crate) fn ndjson(&self) -> String {
        self.profiles.iter().fold(String::new(), |text, profile| text + &profile.to_string() + "\n")
    }

    /// The files in the repository.
    pub(crate) fn inside(&self) -> impl Iterator<Item = (&String, &Content)> {
        self.files.iter().filter(|(path, _)| !path.starts_with('/'))
    }

    /// Writes the files in the repository to `folder`.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        write(self.inside().map(|(path, content)| (folder.join(path), content)))
    }

    /// Writes the files outside of the repository below `folder`.
    pub(crate) fn write_outside(&self, folder: &Path) -> io::Result<()> {
        let at = |path: &str| folder.join(path.trim_start_matches('/'));
        write(self.files.iter().filter(|(path, _)| path.starts_with('/')).map(|(path, content)| (at(path), content)))
    }

    /// The global layer's hiera.yaml below `folder`, if there is such a layer.
    pub(crate) fn global(&self, folder: &Path) -> Option<PathBuf> {
        self.below(folder, global::GLOBAL).map(|global| global.join("hiera.yaml"))
    }

    /// The folder of modules below `folder` that `$basemodulepath` stands for, if there is one.
    pub(crate) fn basemodulepath(&self, folder: &Path) -> Option<PathBuf> {
        self.below(folder, modules::BASE)
    }

    fn below(&self, folder: &Path, outside: &str) -> Option<PathBuf> {
        let is_there = self.files.keys().any(|path| path.starts_with(outside));
        is_there.then(|| folder.join(outside.trim_start_matches('/')))
    }

    /// Writes the profiles below `folder`: as one file of lines, or, for every third seed, as a folder of YAML and JSON
    /// files. Returns what to give as the profiles' path.
    pub(crate) fn write_profiles(&self, folder: &Path) -> io::Result<std::path::PathBuf> {
        std::fs::create_dir_all(folder)?;
        if !self.seed.is_multiple_of(3) {
            let path = folder.join("profiles.ndjson");
            std::fs::write(&path, self.ndjson())?;
            return Ok(path);
        }
        for (number, profile) in self.profiles.iter().enumerate() {
            let (extension, text) =
                if number % 2 == 0 { ("yaml", emit::yaml_of_json(profile)) } else { ("json", format!("{profile:#}")) };
            std::fs::write(folder.join(format!("node{number}.{extension}")), text)?;
        }
        Ok(folder.to_owned())
    }
}

/// Writes files to their paths on disk.
fn write<'c>(files: impl Iterator<Item = (PathBuf, &'c Content)>) -> io::Result<()> {
    for (path, content) in files {
        // A dangling link may stand where a folder should be: what is below it cannot be.
        match path.parent().map(std::fs::create_dir_all) {
            Some(Err(error)) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Some(made) => made?,
            None => {}
        }
        match content {
            Content::File(text) => std::fs::write(&path, text)?,
            Content::Link(target) => link(target, &path)?,
            Content::Nothing => {}
        }
    }
    Ok(())
}

#[cfg(unix)]
fn link(target: &str, path: &Path) -> io::Result<()> {
    match std::os::unix::fs::symlink(target, path) {
        // Two dice may have fallen on one name: what was there first stays.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

#[cfg(not(unix))]
fn link(_: &str, _: &Path) -> io::Result<()> {
    Err(io::Error::other("no symbolic links here"))
}
