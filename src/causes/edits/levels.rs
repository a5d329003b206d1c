//! The levels of a `hiera.yaml` and their lines, and which of them a commit changes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::diff::Diff;
use crate::fleet::Revision;
use crate::hiera::config::{Config, LevelConfig};

/// The maximum number of levels by which a change is divided.
const MAX_LEVELS: usize = 200;

/// The levels of one version of a `hiera.yaml`, with their first and last lines.
pub(super) struct Levels<'a> {
    all: Vec<(&'a LevelConfig, u32, u32)>,
}

impl<'a> Levels<'a> {
    /// Returns the levels of the `hiera.yaml` at `path`, whose text is `content`. `None` if a change cannot be
    /// divided by its levels.
    pub(super) fn of(revision: &'a Revision, path: &str, content: &[u8]) -> Option<Levels<'a>> {
        let mut configs = revision.environment.layers().filter_map(|layer| layer.config.as_ref().ok());
        let config = configs.find(|config| *config.path == *path).filter(|config| is_divisible(config))?;
        let texts: Vec<&[u8]> = content.split(|byte| *byte == b'\n').collect();
        let mut all: Vec<(&LevelConfig, u32, u32)> = Vec::new();
        for level in config.all_levels() {
            let first = level.place.line?;
            all.push((level, first, last_line(&texts, first)));
        }
        let names: BTreeSet<&Arc<str>> = all.iter().map(|(level, ..)| &level.name).collect();
        (names.len() == all.len() && all.len() <= MAX_LEVELS).then_some(Levels { all })
    }

    /// Returns the position of the level that a line belongs to.
    fn position(&self, line: u32) -> Option<usize> {
        self.all.iter().position(|(_, first, last)| (*first..=*last).contains(&line))
    }

    /// Returns the name of the level that a line belongs to.
    pub(super) fn at(&self, line: u32) -> Option<&'a Arc<str>> {
        self.position(line).map(|at| &self.all[at].0.name)
    }

    fn names(&self) -> impl Iterator<Item = &'a Arc<str>> {
        self.all.iter().map(|(level, ..)| &level.name)
    }
}

fn is_divisible(config: &Config) -> bool {
    config.version >= 4 && config.fault.is_none() && !config.implied && config.hiera3.is_none()
}

/// Returns the last line of the item of a list that begins on line `first`.
fn last_line(texts: &[&[u8]], first: u32) -> u32 {
    let indentation = |text: &[u8]| text.iter().take_while(|byte| **byte == b' ').count();
    let is_blank = |text: &[u8]| text.trim_ascii().is_empty() || text.trim_ascii().starts_with(b"#");
    let at = first as usize;
    // The mark of the item is on its first line or, rarely, before it.
    let item_indentation = texts.get(at - 1).map_or(0, |text| indentation(text));
    let mut last = first;
    for (text, number) in texts.iter().skip(at).zip(first + 1..) {
        if is_blank(text) {
            continue;
        }
        if indentation(text) <= item_indentation {
            break;
        }
        last = number;
    }
    last
}

/// Returns the names of the levels that differ, if only the lines `changed` in them differ.
pub(super) fn differing<'a>(levels: &Diff<Levels<'a>>, changed: &Diff<Vec<u32>>) -> Option<BTreeSet<&'a Arc<str>>> {
    let names_of = |levels: &Levels<'a>, changed: &[u32]| {
        changed.iter().map(|line| levels.at(*line)).collect::<Option<BTreeSet<_>>>()
    };
    let mut differing = names_of(&levels.before, &changed.before)?;
    differing.extend(names_of(&levels.after, &changed.after)?);
    let rest =
        levels.as_ref().map(|levels| levels.names().filter(|name| !differing.contains(*name)).collect::<Vec<_>>());
    let by_name: HashMap<&Arc<str>, &LevelConfig> =
        levels.after.all.iter().map(|(level, ..)| (&level.name, *level)).collect();
    let is_same = |(level, ..): &(&LevelConfig, u32, u32)| {
        differing.contains(&level.name) || by_name.get(&level.name).is_some_and(|other| level.means_the_same(other))
    };
    (rest.before == rest.after && levels.before.all.iter().all(is_same)).then_some(differing)
}
