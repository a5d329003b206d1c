//! Broken worlds: for hierad alone, which is given less than Puppet has, or for both, in the commits themselves.

use std::fs;
use std::path::Path;

use serde_json::{Value as Json, json};

use super::generator::{self, Content, Random, Repository};

/// Stands for the folder that Puppet finds the files of a commit in, in absolute datadirs.
const CURRENT: &str = "@CURRENT@";

/// A function of the environment that reads a file as `yaml_data` does, and that no settings declare.
const FUNCTION: &str = "require 'yaml'
Puppet::Functions.create_function(:'environment::look') do
  dispatch :look do
    param 'String[1]', :key
    param 'Hash', :options
    param 'Puppet::LookupContext', :context
  end

  def look(key, options, context)
    data = File.file?(options['path']) ? YAML.safe_load(File.read(options['path'])) : {}
    data.is_a?(Hash) && data.key?(key) ? data[key] : context.not_found
  end
end
";

/// A level that asks it, in front of the first.
const LEVEL: &str = "hierarchy:
  -
    name: looked up
    lookup_key: environment::look
    path: common.yaml
";

/// Texts that no reader takes.
const UNREADABLE: [&str; 3] = ["a: [1, 2\n", "a: b: c\n", "a: 'open\n"];

/// Something that hierad is given otherwise than Puppet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Misled {
    /// The profile of this number does not parse.
    UnreadableProfile(usize),
    /// It is not there.
    LostProfile(usize),
    /// It has no facts.
    NoFacts(usize),
    /// It lacks this fact.
    NoFact(usize, String),
    /// Datadirs are absolute, and no setting maps them.
    Unmapped,
    /// Datadirs are absolute, and are mapped to a folder where nothing is.
    MappedToNowhere,
    /// A level has a function that is not declared.
    Undeclared,
    /// The settings name a hiera.yaml that is not there.
    NoConfig,
    /// Only this key is asked for.
    OnlyKey(&'static str),
    /// Only this node is asked for.
    OnlyNode(String),
}

/// Two commits, and what hierad is not given.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) revisions: Vec<Repository>,
    pub(crate) misled: Vec<Misled>,
}

impl World {
    /// The world of a seed.
    pub(crate) fn of_seed(seed: u64) -> World {
        let mut random = Random::new(seed.wrapping_mul(7919));
        let first = generator::generate(seed);
        let second = generator::edited(&first, 0);
        let mut world = World { revisions: vec![first, second], misled: Vec::new() };
        if random.percent(30) {
            world.spoil(&mut random);
        }
        for _ in random.times(1, 2) {
            let misled = world.mislead(&mut random);
            if !world.misled.contains(&misled) {
                world.misled.push(misled);
            }
        }
        world
    }

    /// Breaks a file before, after, or on both sides: both programs see that.
    fn spoil(&mut self, random: &mut Random) {
        let paths: Vec<String> = self.revisions[0].inside().map(|(path, _)| path.clone()).collect();
        if paths.is_empty() {
            return;
        }
        let path = if random.percent(15) { "hiera.yaml".to_owned() } else { random.one(&paths) };
        let how = random.weighted(&[4, 3, 3]);
        let text = random.pick(&UNREADABLE);
        let which = random.one(&[0..1, 1..2, 0..2]);
        for revision in &mut self.revisions[which] {
            let Some(content) = revision.files.remove(&path) else { continue };
            match how {
                0 => _ = revision.files.insert(path.clone(), Content::File(text.to_owned())),
                1 => _ = revision.files.insert(format!("moved/{path}"), content),
                _ => {}
            }
        }
    }

    fn mislead(&mut self, random: &mut Random) -> Misled {
        let profiles = &self.revisions[0].profiles;
        let number = random.index(profiles.len());
        match random.weighted(&[10, 8, 10, 16, 14, 8, 10, 3, 10, 10]) {
            0 => Misled::UnreadableProfile(number),
            1 => Misled::LostProfile(number),
            2 => Misled::NoFacts(number),
            3 => {
                let facts = profiles[number]["facts"].as_object();
                let names: Vec<String> = facts.into_iter().flatten().map(|(name, _)| name.clone()).collect();
                Misled::NoFact(number, random.one(&names))
            }
            4 => {
                self.move_datadirs(random);
                Misled::Unmapped
            }
            5 => {
                self.move_datadirs(random);
                Misled::MappedToNowhere
            }
            6 => {
                self.add_function();
                Misled::Undeclared
            }
            7 => Misled::NoConfig,
            8 => Misled::OnlyKey(random.one(&generator::keys_to_merge().concat())),
            _ => Misled::OnlyNode(name(&profiles[number])),
        }
    }

    /// Makes all datadirs absolute, or one of them.
    fn move_datadirs(&mut self, random: &mut Random) {
        let only = random.percent(40).then(|| random.index(3));
        self.configs(|text| {
            let mut count = 0;
            let lines = text.split_inclusive('\n').map(|line| {
                let Some((indent, datadir)) = line.split_once("datadir:") else { return line.to_owned() };
                count += 1;
                let datadir = datadir.trim().trim_matches(['\'', '"']);
                let is_meant = indent.trim().is_empty() && only.is_none_or(|only| only == count - 1);
                if is_meant && !datadir.starts_with(['/', '@']) {
                    return format!("{indent}datadir: '{CURRENT}/{datadir}'\n");
                }
                line.to_owned()
            });
            lines.collect()
        });
    }

    fn add_function(&mut self) {
        self.configs(|text| text.replacen("hierarchy:\n", LEVEL, 1));
        for revision in &mut self.revisions {
            let path = "lib/puppet/functions/environment/look.rb".to_owned();
            revision.files.insert(path, Content::File(FUNCTION.to_owned()));
        }
    }

    fn configs(&mut self, change: impl Fn(&str) -> String) {
        for revision in &mut self.revisions {
            if let Some(Content::File(text)) = revision.files.get_mut("hiera.yaml") {
                *text = change(text);
            }
        }
    }

    /// The commits, with absolute datadirs in the folder `current`.
    pub(crate) fn placed(&self, current: &Path) -> Vec<Repository> {
        let current = current.display().to_string();
        let mut placed = self.revisions.clone();
        for content in placed.iter_mut().flat_map(|revision| revision.files.values_mut()) {
            if let Content::File(text) = content {
                *text = text.replace(CURRENT, &current);
            }
        }
        placed
    }

    /// The names of nodes whose profiles hierad does not know of.
    pub(crate) fn lost(&self) -> Vec<String> {
        let profiles = &self.revisions[0].profiles;
        let number = |misled: &Misled| match misled {
            Misled::LostProfile(number) => Some(*number),
            _ => None,
        };
        self.misled.iter().filter_map(number).filter_map(|number| profiles.get(number)).map(name).collect()
    }

    /// Writes the profiles as hierad gets them into `folder`.
    pub(crate) fn write_profiles(&self, folder: &Path) -> std::io::Result<()> {
        fs::create_dir_all(folder)?;
        for (number, profile) in self.revisions[0].profiles.iter().enumerate() {
            let mut profile = profile.clone();
            for name in self.misled.iter().filter_map(|misled| lacks(misled, number)) {
                profile["facts"].as_object_mut().and_then(|facts| facts.remove(name));
            }
            if self.misled.contains(&Misled::NoFacts(number)) {
                profile["facts"] = json!({});
            }
            let is_unreadable = self.misled.contains(&Misled::UnreadableProfile(number));
            let text = if is_unreadable { "{\"name\": ".to_owned() } else { profile.to_string() };
            if !self.misled.contains(&Misled::LostProfile(number)) {
                fs::write(folder.join(format!("node{number}.json")), text)?;
            }
        }
        Ok(())
    }

    /// Writes the settings to `path`; returns the arguments for hierad.
    pub(crate) fn write_settings(&self, path: &Path, current: &Path) -> std::io::Result<Vec<String>> {
        let is_mapped = self.misled.contains(&Misled::MappedToNowhere);
        let datadirs = if is_mapped { json!({current.display().to_string(): "nowhere"}) } else { json!({}) };
        fs::write(path, json!({"datadirs": datadirs}).to_string())?;
        let mut arguments = vec!["--config".to_owned(), path.display().to_string()];
        for misled in &self.misled {
            let [flag, value] = match misled {
                Misled::NoConfig => ["--hiera-config", "missing.yaml"],
                Misled::OnlyKey(key) => ["--key", key],
                Misled::OnlyNode(node) => ["--node", node],
                _ => continue,
            };
            arguments.extend([flag.to_owned(), value.to_owned()]);
        }
        Ok(arguments)
    }
}

fn lacks(misled: &Misled, number: usize) -> Option<&String> {
    match misled {
        Misled::NoFact(of, name) if *of == number => Some(name),
        _ => None,
    }
}

fn name(profile: &Json) -> String {
    profile["name"].as_str().unwrap_or_default().to_owned()
}
