//! The edits of a commit: its changed files, the entries of data that differ in them, and their changed lines.

mod ends;
pub(super) mod entries;
mod group_index;
mod levels;
mod text_lines;
mod unread;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::blind_spots::files::changed::FileKind;
use crate::diagnostic::Place;
use crate::diff::{self, Diff};
use crate::fleet::{LevelNames, NodeRevision, ReadFile, Replaced, Revision};
use crate::hiera::backend::DataFile;
use crate::hiera::options::LOOKUP_OPTIONS;
use crate::node::NodeSet;
use crate::report::{FileChange, Side};
use crate::tree::{Target, TreeError, follow};
use crate::value::{Hash, Segment, Value, ValuePath};

use ends::CommonEnds;
use entries::{Entries, normal};
use group_index::GroupIndex;
use levels::Levels;
use text_lines::{changed_lines, lines};
use unread::Unread;

/// A changed file.
pub(super) struct Edit {
    pub(super) path: Arc<str>,
    pub(super) kind: FileKind,
    pub(super) change: FileChange,
    /// The paths of levels that lead to it.
    pub(super) paths: BTreeSet<Arc<str>>,
    pub(super) file: Diff<Option<Arc<DataFile>>>,
    /// The nodes that read it.
    pub(super) nodes: Diff<NodeSet>,
}

/// An entry of a file that differs: a root key, an entry of `lookup_options`, or a level. It is undone as a whole.
#[derive(Default)]
pub(super) struct Group {
    pub(super) edit: usize,
    /// The root key, or `None` for a whole file.
    pub(super) root: Option<Arc<str>>,
    /// The name in `lookup_options`, if it is one of those.
    pub(super) option: Option<Arc<str>>,
    /// The part of the configuration, if it is one.
    pub(super) config: Option<ConfigPart>,
    /// The path of the entry in the file.
    path: Vec<Value>,
    /// Its changed lines by the normal form of their paths below the entry.
    pub(super) lines: BTreeMap<String, Vec<usize>>,
}

/// A part of the configuration that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConfigPart {
    /// A level of a `hiera.yaml`.
    Level(Arc<str>),
    /// Everything that cannot be divided into levels, of all files together.
    Whole,
}

/// A changed line.
pub(super) struct EditedLine {
    pub(super) edit: usize,
    pub(super) side: Side,
    pub(super) number: u32,
    /// The groups that it belongs to, with its paths in them. A line whose data is the same has none.
    pub(super) entries: Vec<(usize, ValuePath)>,
    /// The root key that it is below.
    pub(super) root: Option<Arc<str>>,
    /// The number of unchanged lines above it: lines with the same number stand together.
    pub(super) hunk: u32,
    /// True for a line that is neither empty nor a comment.
    pub(super) is_text: bool,
    /// The line as it is written, if no known node reads the file and it may be shown.
    pub(super) shown: Option<String>,
}

/// All edits of a commit.
#[derive(Default)]
pub(super) struct Edits {
    pub(super) all: Vec<Edit>,
    pub(super) groups: Vec<Group>,
    /// The lines, by file, side and number.
    pub(super) lines: Vec<EditedLine>,
    /// The index of the groups.
    pub(super) index: GroupIndex,
    /// The groups of the configuration: those of levels by file and name, and the one of everything else by `None`.
    config_groups: HashMap<Option<(usize, Arc<str>)>, usize>,
}

impl Edits {
    /// Finds the edits in `files`.
    pub(super) fn find(
        revisions: Diff<&Revision>,
        files: impl IntoIterator<Item = (Arc<str>, FileKind)>,
    ) -> Result<Edits, TreeError> {
        let mut edits = Edits::default();
        for (path, kind) in files {
            let change = FileChange::Edited;
            let (paths, file, nodes) = (BTreeSet::new(), Diff::default(), Diff::default());
            edits.all.push(Edit { path, kind, change, paths, file, nodes });
        }
        let mut unread = Unread::new(revisions);
        edits.find_readers(Side::Before, revisions.before);
        edits.find_readers(Side::After, revisions.after);
        for at in 0..edits.all.len() {
            edits.read_unreached(at, revisions)?;
            edits.add_groups(at);
            let path = &edits.all[at].path;
            let contents = Diff::new(content(revisions.before, path)?, content(revisions.after, path)?);
            edits.all[at].change = match (&contents.before, &contents.after) {
                (None, Some(_)) => FileChange::New,
                (Some(_), None) => FileChange::Deleted,
                _ => FileChange::Edited,
            };
            let contents = contents.map(Option::unwrap_or_default);
            match edits.all[at].kind {
                FileKind::Config => edits.add_config(at, revisions, &contents),
                FileKind::Data | FileKind::Opaque => edits.add_lines(at, &contents),
                FileKind::Unreached => {
                    let first = edits.lines.len();
                    edits.add_lines(at, &contents);
                    let mut file = unread.file(&edits.all[at].file, &contents)?;
                    for line in edits.lines[first..].iter_mut().filter(|line| line.is_text) {
                        line.shown = line.root.as_ref().and_then(|root| file.line(line.side, line.number, root));
                    }
                }
            }
        }
        edits.index = GroupIndex::of(&edits.all, &edits.groups);
        Ok(edits)
    }

    /// Finds the nodes that read the files, and the data in them.
    fn find_readers(&mut self, side: Side, revision: &Revision) {
        let by_path: HashMap<Arc<str>, usize> = self.all.iter().map(|edit| edit.path.clone()).zip(0..).collect();
        let tree = &*revision.environment.tree;
        // Other paths may lead to the same files through links.
        let same = revision.files_read(&|path, _| by_path.contains_key(path));
        let files: HashSet<usize> = same.values().map(|read| Arc::as_ptr(&read.file).addr()).collect();
        let linked =
            revision.files_read(&|path, file| files.contains(&Arc::as_ptr(file).addr()) && !by_path.contains_key(path));
        let target = |path: &Arc<str>| match follow(tree, path) {
            Ok(Target::File(path, _)) => by_path.get(&*path).copied(),
            _ => None,
        };
        let linked = linked.into_iter().filter_map(|(path, read)| Some((target(&path)?, path, read)));
        let all = same.into_iter().map(|(path, read)| (by_path[&path], path, read)).chain(linked);
        for (at, path, ReadFile { file, nodes }) in all {
            let edit = &mut self.all[at];
            edit.paths.insert(path);
            *side.of_mut(&mut edit.file) = Some(file);
            side.of_mut(&mut edit.nodes).union_with(&nodes);
        }
    }

    /// Reads a file that no node reads, so that its lines have keys.
    fn read_unreached(&mut self, at: usize, revisions: Diff<&Revision>) -> Result<(), TreeError> {
        let edit = &mut self.all[at];
        if edit.kind != FileKind::Unreached {
            return Ok(());
        }
        for side in [Side::Before, Side::After] {
            let environment = &side.pick(&revisions).environment;
            if let Target::File(_, id) = follow(&*environment.tree, &edit.path)? {
                let file = environment.data_file(&edit.path, id)?;
                *side.of_mut(&mut edit.file) = Some(file);
            }
        }
        Ok(())
    }

    fn add_groups(&mut self, at: usize) {
        let edit = &self.all[at];
        if edit.kind != FileKind::Data {
            return;
        }
        let group = |root: Option<Arc<str>>, option: Option<Arc<str>>, path: Vec<Value>| Group {
            edit: at,
            root,
            option,
            path,
            ..Group::default()
        };
        let is_whole = |file: &Arc<DataFile>| file.concerns_all_keys();
        if [&edit.file.before, &edit.file.after].into_iter().flatten().any(is_whole) {
            self.groups.push(group(None, None, Vec::new()));
            return;
        }
        let name = |key: &Value| -> Arc<str> { key.to_s().into() };
        for root in differing(edit.file.as_ref().map(|file| file.as_ref().map(|file| file.value()))) {
            if root.as_str() != Some(LOOKUP_OPTIONS) {
                self.groups.push(group(Some(name(&root)), None, vec![root]));
                continue;
            }
            let options = edit.file.as_ref().map(|file| file.as_ref()?.value().as_hash()?.get_value(&root));
            for option in differing(options) {
                self.groups.push(group(Some(name(&root)), Some(name(&option)), vec![root.clone(), option]));
            }
        }
    }

    fn add_lines(&mut self, at: usize, contents: &Diff<Vec<u8>>) {
        let file = self.all[at].file.clone();
        let entries = file.as_ref().map(|file| Entries::of(file.as_deref()));
        let texts = contents.as_ref().map(|content| lines(content));
        let ends = CommonEnds::of(texts.as_ref().map(Vec::as_slice), &entries);
        let between = texts.as_ref().map(|texts| ends.between(texts));
        let mut names: HashMap<String, usize> = HashMap::new();
        let changed = changed_lines(between, ends.head, &mut |side, number, text| {
            let entries = side.pick(&entries);
            if !has_content(text) && !entries.is_inside_text(number) {
                return None;
            }
            let (name, next) = (normal(entries.first_at(number)?), names.len());
            Some(*names.entry(name).or_insert(next))
        });
        // The groups of this file were added last.
        let is_other = |group: &Group| group.edit != at;
        let first = self.groups.iter().rposition(is_other).map_or(0, |last| last + 1);
        let groups: Vec<usize> = (first..self.groups.len()).collect();
        for (side, numbers) in [(Side::Before, changed.before), (Side::After, changed.after)] {
            let entries = side.pick(&entries);
            let texts = side.pick(&texts);
            let by_path: HashMap<&[Value], usize> =
                groups.iter().map(|group| (&*self.groups[*group].path, *group)).collect();
            let differing: HashMap<usize, DifferingPaths> =
                groups.iter().map(|group| (*group, self.differing_paths(*group, side))).collect();
            let other = side.other().pick(&self.all[at].file).as_ref().and_then(|file| file.content());
            let is_new_options = other.is_none_or(|hash| hash.get(LOOKUP_OPTIONS).is_none());
            let mut found = Vec::new();
            for (number, above) in numbers.into_iter().zip(1..) {
                let is_comment = texts.get(number as usize - 1).is_none_or(|text| is_comment(text));
                let is_text = !is_comment || entries.is_inside_text(number);
                let root = entries.first_at(number).and_then(|path| match path.first()? {
                    Segment::Key(key) => Some(key.to_s().into()),
                    Segment::Index(_) => None,
                });
                let (hunk, shown) = (number - above, None);
                let mut line = EditedLine { edit: at, side, number, entries: Vec::new(), root, hunk, is_text, shown };
                for path in entries.at(number).filter(|_| is_text) {
                    line.entries
                        .extend(groups_of_entry(path, &by_path).filter(|(group, path)| differing[group].has(path)));
                    if is_new_options && is_options(path) {
                        let options = groups.iter().filter(|group| self.groups[**group].option.is_some());
                        line.entries.extend(options.map(|group| (*group, ValuePath::default())));
                    }
                }
                if let Some(whole) = by_path.get(&[][..]).filter(|_| is_text) {
                    line.entries = vec![(*whole, ValuePath::default())];
                }
                found.push(line);
            }
            for line in found {
                self.add_line(line);
            }
        }
    }

    /// Adds the groups and lines of a file of configuration.
    fn add_config(&mut self, at: usize, revisions: Diff<&Revision>, contents: &Diff<Vec<u8>>) {
        let path = self.all[at].path.clone();
        let levels_of = |revision, content| Levels::of(revision, &path, content);
        let levels =
            Diff::new(levels_of(revisions.before, &contents.before), levels_of(revisions.after, &contents.after));
        let texts = contents.as_ref().map(|content| lines(content));
        let mut names: HashMap<&Arc<str>, usize> = HashMap::new();
        let changed = changed_lines(texts.as_ref().map(Vec::as_slice), 0, &mut |side, number, text| {
            let name = side.pick(&levels).as_ref().filter(|_| !is_comment(text))?.at(number)?;
            let next = names.len();
            Some(*names.entry(name).or_insert(next))
        });
        let is_text =
            |side: Side, number: u32| side.pick(&texts).get(number as usize - 1).is_some_and(|text| !is_comment(text));
        let changed_texts =
            |side: Side| side.pick(&changed).iter().copied().filter(|line| is_text(side, *line)).collect();
        let changed_text = Diff::new(changed_texts(Side::Before), changed_texts(Side::After));
        let levels = match levels {
            Diff { before: Some(before), after: Some(after) } => Some(Diff::new(before, after)),
            _ => None,
        };
        let differing = levels.as_ref().and_then(|levels| levels::differing(levels, &changed_text));
        for (side, numbers) in [(Side::Before, changed.before), (Side::After, changed.after)] {
            for (number, above) in numbers.into_iter().zip(1..) {
                let is_text = is_text(side, number);
                let (entries, hunk) = (Vec::new(), number - above);
                let (root, shown) = (None, None);
                let mut line = EditedLine { edit: at, side, number, entries, root, hunk, is_text, shown };
                if is_text {
                    let level = levels.as_ref().filter(|_| differing.is_some());
                    let level = level.and_then(|levels| side.pick(levels).at(number)).cloned();
                    let part = level.map_or(ConfigPart::Whole, ConfigPart::Level);
                    line.entries.push((self.config_group(at, &part), ValuePath::default()));
                }
                self.add_line(line);
            }
        }
    }

    /// Returns the group of a part of the configuration.
    fn config_group(&mut self, edit: usize, part: &ConfigPart) -> usize {
        let name = match part {
            ConfigPart::Level(name) => Some((edit, name.clone())),
            ConfigPart::Whole => None,
        };
        *self.config_groups.entry(name).or_insert_with(|| {
            self.groups.push(Group { edit, config: Some(part.clone()), ..Group::default() });
            self.groups.len() - 1
        })
    }

    fn add_line(&mut self, line: EditedLine) {
        for (group, path) in &line.entries {
            self.groups[*group].lines.entry(normal(&path.0)).or_default().push(self.lines.len());
        }
        self.lines.push(line);
    }

    /// Returns the paths inside a group at which the data of a side differs.
    fn differing_paths(&self, group: usize, side: Side) -> DifferingPaths {
        let mut paths = DifferingPaths::default();
        for leaf in diff::leaves(Diff::new(self.value(group, Side::Before), self.value(group, Side::After))) {
            if let Some(part) = side.pick(&leaf.part) {
                paths.parents.extend((0..part.path.0.len()).map(|length| part.path.0[..length].to_vec()));
                paths.leaves.insert(part.path.0.clone());
            }
        }
        paths
    }

    /// Returns the value of a group on a side.
    pub(super) fn value(&self, group: usize, side: Side) -> Option<&Value> {
        let group = &self.groups[group];
        let file = side.pick(&self.all[group.edit].file).as_ref()?;
        group.path.iter().try_fold(file.value(), |value, key| value.as_hash()?.get_value(key))
    }

    /// Returns the groups of the configuration, in order.
    pub(super) fn config_groups(&self) -> BTreeSet<usize> {
        self.config_groups.values().copied().collect()
    }

    /// Returns true if a place is a changed line of a side.
    pub(super) fn is_changed(&self, side: Side, place: &Place) -> bool {
        let Some(number) = place.line else { return false };
        let at = |edit| self.lines.binary_search_by_key(&(edit, side, number), |l| (l.edit, l.side, l.number));
        (0..self.all.len()).any(|edit| self.all[edit].paths.contains(&place.path) && at(edit).is_ok())
    }

    /// Returns true if a group is the part of the configuration that cannot be divided.
    pub(super) fn is_whole_config(&self, group: usize) -> bool {
        self.groups[group].config == Some(ConfigPart::Whole)
    }

    /// Returns the replacements for files and levels of the side `base` of `revisions` that make `groups` as they are
    /// on the other side.
    pub(super) fn replaced<'r>(
        &self,
        groups: &[usize],
        base: Side,
        revisions: &'r Diff<NodeRevision<'r>>,
    ) -> Replaced<'r> {
        let mut replaced = Replaced::default();
        let mut by_edit: BTreeMap<usize, Vec<&Group>> = BTreeMap::new();
        let mut levels = LevelNames::default();
        for group in groups.iter().map(|group| &self.groups[*group]) {
            match &group.config {
                Some(ConfigPart::Level(name)) => {
                    levels.entry(self.all[group.edit].path.clone()).or_default().insert(name.clone());
                }
                Some(ConfigPart::Whole) => {}
                None => by_edit.entry(group.edit).or_default().push(group),
            }
            replaced.differ_in_options |= group.option.is_some() || group.root.is_none();
        }
        if !levels.is_empty() {
            // Levels of the other side come with its files.
            let data = self.all.iter().enumerate().filter(|(_, edit)| edit.kind == FileKind::Data);
            data.for_each(|(at, _)| _ = by_edit.entry(at).or_default());
            replaced.levels = Some((base.other().pick(revisions), levels));
        }
        for (edit, groups) in by_edit {
            let edit = &self.all[edit];
            let (own, other) = (base.pick(&edit.file), base.other().pick(&edit.file));
            let Some(format) = own.as_ref().or(other.as_ref()).map(|file| file.format()) else { continue };
            let nothing = || Arc::new(DataFile::parse(b"", format));
            let mut file = own.clone().unwrap_or_else(nothing);
            for group in groups {
                file = match group.root {
                    None => other.clone().unwrap_or_else(nothing),
                    Some(_) => Arc::new(file.with_entry_of(other.as_deref(), &group.path)),
                };
            }
            replaced.files.extend(edit.paths.iter().map(|path| (path.clone(), file.clone())));
        }
        replaced
    }
}

/// The paths at which data differs, and all paths above them.
#[derive(Default)]
struct DifferingPaths {
    leaves: HashSet<Vec<Segment>>,
    parents: HashSet<Vec<Segment>>,
}

impl DifferingPaths {
    fn has(&self, path: &ValuePath) -> bool {
        let path = &path.0;
        self.parents.contains(path) || (0..=path.len()).any(|length| self.leaves.contains(&path[..length]))
    }
}

fn is_options(path: &[Segment]) -> bool {
    matches!(path, [Segment::Key(key)] if key.as_str() == Some(LOOKUP_OPTIONS))
}

/// Returns the groups that the entry at `path` of a file belongs to, with its path inside each.
fn groups_of_entry(path: &[Segment], by_path: &HashMap<&[Value], usize>) -> impl Iterator<Item = (usize, ValuePath)> {
    let keys: Vec<Value> = path
        .iter()
        .map_while(|segment| match segment {
            Segment::Key(key) => Some(key.clone()),
            Segment::Index(_) => None,
        })
        .take(2)
        .collect();
    let group = |length: usize| {
        let group = by_path.get(keys.get(..length)?)?;
        Some((*group, ValuePath(path[length..].to_vec())))
    };
    [group(1), group(2)].into_iter().flatten().collect::<Vec<_>>().into_iter()
}

/// Returns the keys of two hashes whose values differ.
fn differing(values: Diff<Option<&Value>>) -> Vec<Value> {
    let nothing = Hash::default();
    let Diff { before, after } = values.map(|value| value.and_then(Value::as_hash).unwrap_or(&nothing));
    let is_same = |before: &Value, after: &Value| before == after && before.is_written_like(after);
    let changed = before.beside(after).filter(|((_, old), new)| new.is_none_or(|new| !is_same(old, new)));
    let added = after.beside(before).filter(|(_, old)| old.is_none());
    changed.chain(added).map(|((key, _), _)| key.clone()).collect()
}

/// Returns the text of the file at `path`, empty if it is too large; `None` if there is no file.
fn content(revision: &Revision, path: &str) -> Result<Option<Vec<u8>>, TreeError> {
    let tree = &*revision.environment.tree;
    match follow(tree, path)? {
        Target::File(_, id) => match tree.read(id) {
            Err(error) if error.is_too_large => Ok(Some(Vec::new())),
            content => Ok(Some(content?.clone())),
        },
        _ => Ok(None),
    }
}

fn is_comment(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    text.is_empty() || text.starts_with(b"#") || text.starts_with(b"//") || text == b"---" || text == b"..."
}

/// Returns true if a line has more than brackets: equal lines with only brackets mean the same wherever they are.
fn has_content(line: &[u8]) -> bool {
    !is_comment(line) && line.trim_ascii().iter().any(|byte| !b"{}[](),-".contains(byte))
}

impl Group {
    /// Returns all changed lines.
    pub(super) fn all_lines(&self) -> impl Iterator<Item = usize> {
        self.lines.values().flatten().copied()
    }

    /// Returns the changed lines at the path with this normal form, above it and below it.
    pub(super) fn lines_at(&self, path: &str) -> Vec<usize> {
        let ends = path.match_indices('\u{1}').map(|(at, _)| at).chain([path.len()]);
        let above = ends.filter_map(|end| self.lines.get(&path[..end])).flatten();
        let below = self.lines.range(format!("{path}\u{1}")..format!("{path}\u{2}")).flat_map(|(_, lines)| lines);
        let mut lines: Vec<usize> = above.chain(below).copied().collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }
}
