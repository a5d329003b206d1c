//! Puts generated repositories on disk, as files for Puppet and as git commits for hierad, and asks both about them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use git2::{IndexEntry, IndexTime, Repository as Git, Signature, Time};

use super::answers::{self, Answer, Answers, Tally};
use super::change::{self, Answered};
use super::difference::{self, Difference};
use super::generator::{self, Content, Repository};
use super::hierad::Hierad;
use super::puppet::{Puppet, Told};
use super::{Args, Fault, explain};

/// The most differences of a repository for which Puppet is asked again.
const MOST_ASKED_ALONE: usize = 100;

/// The most keys that hierad does not list and is asked for: where a `hiera.yaml` makes all fail, these are all.
const MOST_UNLISTED: usize = 2000;

/// A node and a key.
type Place = (String, String);

/// One thing on which the two sides disagree.
pub(crate) struct Finding {
    /// The part of a difference that stays the same while a repository shrinks around it.
    pub(crate) kind: [String; 3],
    /// It, in words.
    pub(crate) text: String,
}

/// A folder to work in, and both programs.
pub(crate) struct Stage {
    folder: tempfile::TempDir,
    puppets: Vec<(u8, Puppet)>,
    hierad: Hierad,
    explains: bool,
    /// Settings beside those that a repository has.
    settings: String,
}

impl Stage {
    /// Starts the programs.
    pub(crate) fn new(args: &Args) -> Result<Stage, Fault> {
        let puppets: Result<_, Fault> =
            args.puppet.list().iter().map(|version| Ok((*version, Puppet::start(args, *version)?))).collect();
        Ok(Stage {
            folder: tempfile::tempdir()?,
            puppets: puppets?,
            hierad: Hierad::find(args)?,
            explains: args.explain,
            settings: args.ruby_in_settings(),
        })
    }

    /// Returns the differences between the two in a repository's revisions and in the changes of each, with the numbers
    /// compared.
    pub(crate) fn compare(&mut self, revisions: &[Repository], version: u8) -> Result<(Vec<Finding>, Tally), Fault> {
        let root = self.folder.path().join("one");
        let result =
            Layout::write(&root, revisions, &self.settings).and_then(|layout| self.compare_in(&layout, version));
        _ = fs::remove_dir_all(&root);
        result
    }

    fn compare_in(&mut self, layout: &Layout, version: u8) -> Result<(Vec<Finding>, Tally), Fault> {
        let mut findings = Vec::new();
        let mut tally = Tally::default();
        let mut told: Vec<(Told, Answers)> = Vec::new();
        let mut by_order = BTreeSet::new();
        for (commit, files) in layout.commits.iter().zip(&layout.files) {
            let rendered = self.hierad.render(layout.subject(), version, commit)?;
            let answers = self.ask(files, layout, version, &answers::keys(&rendered))?;
            tally.add(Tally::of(&answers.answers, &rendered));
            let differences = difference::between(&answers.answers, &rendered);
            let differences = self.unlisted(layout, version, commit, differences)?;
            let (differences, excused) = self.excuse(files, layout, version, (&answers.answers, differences))?;
            tally.by_order += excused.len();
            by_order.extend(excused);
            findings.extend(differences.iter().map(|one| Finding { kind: one.kind(), text: one.to_string() }));
            if self.explains {
                findings.extend(self.compare_stories(layout, version, (commit, files), &answers.answers)?);
            }
            told.push((answers, rendered));
        }
        for number in 1..told.len() {
            findings.extend(self.compare_change(layout, version, (&told, &by_order), number)?);
        }
        Ok((findings, tally))
    }

    /// Takes away the differences about keys that fail, of files that no level reads: hierad does not list these, and
    /// fails as well if it is asked for them.
    fn unlisted(
        &self,
        at: &Layout,
        version: u8,
        commit: &str,
        differences: Vec<Difference>,
    ) -> Result<Vec<Difference>, Fault> {
        let mut left = Vec::new();
        for (number, difference) in differences.into_iter().enumerate() {
            let Difference { node, key, puppet, hierad } = &difference;
            let may_fail = matches!((puppet, hierad), (Some(Answer::Error(_)), None)) && number < MOST_UNLISTED;
            if !may_fail || !self.hierad.fails(at.subject(), version, commit, (node, key))? {
                left.push(difference);
            }
        }
        Ok(left)
    }

    /// Takes away the error of a key that hierad does not list, if it fails as well when it is asked for the key.
    fn take_unlisted(
        &self,
        (at, version, commit): (&Layout, u8, &str),
        (node, key): &Place,
        answers: &mut Answers,
    ) -> Result<(), Fault> {
        let Some(keys) = answers.get_mut(node) else { return Ok(()) };
        let is_error = matches!(keys.get(key), Some(Answer::Error(_)));
        if is_error && self.hierad.fails(at.subject(), version, commit, (node, key))? {
            keys.remove(key);
        }
        Ok(())
    }

    /// Returns the differences between the explanations of a few keys.
    fn compare_stories(
        &mut self,
        at: &Layout,
        version: u8,
        (commit, files): (&str, &Path),
        answers: &Answers,
    ) -> Result<Vec<Finding>, Fault> {
        let asked = explain::chosen(answers);
        let puppet = self.puppet(version)?.explain(Subject { repository: files, ..at.subject() }, &asked)?;
        let mut findings = Vec::new();
        for (asked, told) in asked.iter().zip(&puppet) {
            let text = match self.hierad.explain(at.subject(), version, commit, asked) {
                Ok(ours) => explain::difference(asked, told, &ours, at.has_secrets),
                Err(fault) => Some(format!("  {} {:?}: {fault}", asked.node, asked.key)),
            };
            let kind = [asked.key.clone(), "an explanation".to_owned(), String::new()];
            findings.extend(text.map(|text| Finding { kind, text }));
        }
        Ok(findings)
    }

    /// Takes away the differences that are none if Puppet is asked for the key alone: it changes what it has in its
    /// caches (merges with a knock-out prefix empty texts of parsed files, `convert_to` puts types into
    /// `lookup_options`), so that answers depend on what was looked up before. Returns what is left, and nodes and keys
    /// of the others.
    fn excuse(
        &mut self,
        files: &Path,
        at: &Layout,
        version: u8,
        (answers, differences): (&Answers, Vec<Difference>),
    ) -> Result<(Vec<Difference>, BTreeSet<Place>), Fault> {
        let mut left = Vec::new();
        let mut excused = BTreeSet::new();
        for (number, difference) in differences.into_iter().enumerate() {
            let Difference { node, key, hierad, .. } = &difference;
            let subject = Subject { repository: files, ..at.subject() };
            // Where hundreds differ, it is not for this.
            let alone = match version {
                7..=9 if number < MOST_ASKED_ALONE => {
                    Some(self.puppet(version)?.ask_alone(subject, answers.keys().cloned(), (node, key))?)
                }
                _ => None,
            };
            match alone {
                Some(alone) if difference::same(alone.as_ref(), hierad.as_ref()) || in_one_lookup(alone.as_ref()) => {
                    excused.insert((node.clone(), key.clone()));
                }
                _ => left.push(difference),
            }
        }
        Ok((left, excused))
    }

    /// Returns the changes of revision `number`. Both revisions are asked for the keys of either and those that hierad
    /// names.
    fn compare_change(
        &mut self,
        at: &Layout,
        version: u8,
        (told, by_order): (&[(Told, Answers)], &BTreeSet<Place>),
        number: usize,
    ) -> Result<Vec<Finding>, Fault> {
        let range = [at.commits[number - 1].as_str(), at.commits[number].as_str()];
        let mut found = change::printed(&self.hierad.diff(at.subject(), version, range)?)?;
        let [(before, old), (after, new)] = [&told[number - 1], &told[number]];
        let named = found.keys().map(|(_, key)| key);
        let keys: BTreeSet<String> = before.keys.union(&after.keys).chain(named).cloned().collect();
        let mut sides: [Answers; 2] = Default::default();
        for (side, answers) in sides.iter_mut().enumerate() {
            *answers = self.ask(&at.files[number - 1 + side], at, version, &keys)?.answers;
            for (node, key) in by_order {
                answers.get_mut(node).and_then(|node| node.remove(key));
            }
        }
        found.retain(|place, _| !by_order.contains(place));
        for place in (Answered { puppet: [&sides[0], &sides[1]], hierad: [old, new] }).unlisted(&found) {
            for (side, commit) in range.into_iter().enumerate() {
                self.take_unlisted((at, version, commit), &place, &mut sides[side])?;
            }
        }
        let differences = Answered { puppet: [&sides[0], &sides[1]], hierad: [old, new] }.differences(&found);
        let kind = || [String::new(), "a change".to_owned(), String::new()];
        Ok(differences.into_iter().map(|text| Finding { kind: kind(), text }).collect())
    }

    fn ask(&mut self, files: &Path, at: &Layout, version: u8, keys: &BTreeSet<String>) -> Result<Told, Fault> {
        self.puppet(version)?.ask(Subject { repository: files, ..at.subject() }, keys)
    }

    fn puppet(&mut self, version: u8) -> Result<&mut Puppet, Fault> {
        let puppet = self.puppets.iter_mut().find(|(number, _)| *number == version).map(|(_, puppet)| puppet);
        puppet.ok_or_else(|| "no such Puppet".into())
    }
}

/// Returns true if Puppet meets its changed options within the lookup of one key.
fn in_one_lookup(alone: Option<&Answer>) -> bool {
    alone.is_some_and(Answer::depends_on_the_order)
}

/// The paths of everything on disk.
pub(crate) struct Layout {
    /// The git repository.
    git: PathBuf,
    /// Its commits.
    pub(crate) commits: Vec<String>,
    /// The files of each.
    pub(crate) files: Vec<PathBuf>,
    /// The profiles.
    profiles: PathBuf,
    /// The names of the nodes.
    pub(crate) nodes: Vec<String>,
    /// True if something in them is encrypted.
    has_secrets: bool,
    /// The files outside of the repository.
    outside: Outside,
}

/// The subject of a question.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// The git repository, or the files of a commit.
    pub(crate) repository: &'a Path,
    /// The profiles of its nodes.
    pub(crate) profiles: &'a Path,
    /// The files outside of it.
    pub(crate) outside: &'a Outside,
}

/// The files outside of a repository, the same for all its revisions.
#[derive(Debug, Default)]
pub(crate) struct Outside {
    /// The global layer's hiera.yaml, if there is such a layer.
    pub(crate) global: Option<PathBuf>,
    /// The folder that `$basemodulepath` stands for, if there is one.
    pub(crate) basemodulepath: Option<PathBuf>,
    /// The way in which Hiera 3 is to answer.
    pub(crate) resolution: Resolution,
    /// The settings that say so.
    pub(crate) settings: Option<PathBuf>,
}

impl Outside {
    /// The folder of the global layer, which Puppet shows in paths for some versions of hiera.yaml only.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.global.as_ref()?.parent()
    }
}

/// A way in which Hiera 3 answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Resolution {
    /// `hiera`
    #[default]
    Priority,
    /// `hiera -a`
    Array,
    /// `hiera -h`
    Hash,
    /// By the kind of each key's values.
    Mixed,
}

impl Resolution {
    /// Each in turn.
    fn of_seed(seed: u64) -> Resolution {
        match seed % 5 {
            0 => Resolution::Hash,
            1 => Resolution::Priority,
            2 => Resolution::Array,
            _ => Resolution::Mixed,
        }
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Resolution::Priority | Resolution::Mixed => "priority",
            Resolution::Array => "array",
            Resolution::Hash => "hash",
        }
    }

    /// The settings that make hierad answer so.
    fn settings(self) -> String {
        let merge = |pattern: &str, merge: &str| format!("  '{pattern}': {{merge: {merge}}}\n");
        let entries = match self {
            Resolution::Priority => return "lookup_options: {}\n".to_owned(),
            Resolution::Array => merge("^", "unique"),
            Resolution::Hash => merge("^", "hash"),
            Resolution::Mixed => {
                let of = |(keys, name): (Vec<&str>, _)| merge(&format!("^({})$", keys.join("|")), name);
                generator::keys_to_merge().into_iter().zip(["unique", "hash"]).map(of).collect()
            }
        };
        format!("lookup_options:\n{entries}")
    }

    /// The ways of single keys, where those are not all the same.
    pub(crate) fn of_keys(self) -> BTreeMap<&'static str, &'static str> {
        if self != Resolution::Mixed {
            return BTreeMap::new();
        }
        let [arrays, hashes] = generator::keys_to_merge();
        let of = |keys: Vec<&'static str>, name| keys.into_iter().map(move |key| (key, name));
        of(arrays, "array").chain(of(hashes, "hash")).collect()
    }
}

/// Settings that allow every key, as Puppet does.
const ALL_KEYS: &str = "eyaml: {allowed_keys: [/**]}\n";

impl Layout {
    /// The revision that hierad is asked about; Puppet takes the files of a commit.
    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject { repository: &self.git, profiles: &self.profiles, outside: &self.outside }
    }

    /// Writes the revisions below `root`, with more settings.
    pub(crate) fn write(root: &Path, revisions: &[Repository], more: &str) -> Result<Layout, Fault> {
        let git = root.join("git");
        let mut options = git2::RepositoryInitOptions::new();
        let repository = Git::init_opts(&git, options.bare(true).external_template(false).initial_head("main"))?;
        let mut files = Vec::new();
        let mut commits = Vec::new();
        for (number, revision) in revisions.iter().enumerate() {
            let folder = root.join(number.to_string());
            fs::create_dir_all(&folder)?;
            revision.write(&folder)?;
            files.push(folder);
            commits.push(commit(&repository, revision)?);
        }
        let first = revisions.first().ok_or("no revision")?;
        let folder = root.join("outside");
        first.write_outside(&folder)?;
        let resolution = Resolution::of_seed(first.seed);
        let settings = root.join("settings.yaml");
        fs::write(&settings, resolution.settings() + ALL_KEYS)?;
        fs::write(git.join("hierad.yaml"), format!("{ALL_KEYS}{more}"))?;
        let (global, basemodulepath) = (first.global(&folder), first.basemodulepath(&folder));
        let outside = Outside { global, basemodulepath, resolution, settings: Some(settings) };
        let has_secrets = revisions.iter().any(|revision| revision.fixture().contains("ENC["));
        let profiles = first.write_profiles(&root.join("profiles"))?;
        let name = |profile: &serde_json::Value| profile["name"].as_str().map(str::to_owned);
        let nodes = first.profiles.iter().filter_map(name).collect();
        Ok(Layout { git, commits, files, profiles, nodes, has_secrets, outside })
    }
}

/// Commits the files of `revision` on top of what is there.
fn commit(git: &Git, revision: &Repository) -> Result<String, Fault> {
    let mut index = git.index()?;
    index.clear()?;
    for (path, content) in revision.inside() {
        let (mode, text) = match content {
            Content::File(text) => (0o100_644, text),
            Content::Link(target) => (0o120_000, target),
            Content::Nothing => continue,
        };
        index.add_frombuffer(&entry(path, mode), text.as_bytes())?;
    }
    let tree = git.find_tree(index.write_tree()?)?;
    let author = Signature::new("generator", "generator@example.com", &Time::new(1_700_000_000, 0))?;
    let parent = git.head().ok().map(|head| head.peel_to_commit()).transpose()?;
    let parents: Vec<_> = parent.iter().collect();
    Ok(git.commit(Some("HEAD"), &author, &author, "generated", &tree, &parents)?.to_string())
}

fn entry(path: &str, mode: u32) -> IndexEntry {
    let zero = IndexTime::new(0, 0);
    IndexEntry {
        ctime: zero,
        mtime: zero,
        dev: 0,
        ino: 0,
        mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id: git2::Oid::ZERO_SHA1,
        flags: 0,
        flags_extended: 0,
        path: path.into(),
    }
}
