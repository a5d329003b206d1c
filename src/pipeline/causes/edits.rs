//! The edits of a commit: its changed files, the entries of data that differ in them, and their changed lines.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::entries::{Entries, normal};
use super::text_lines::changed_lines;
use crate::diff::{self, Diff};
use crate::fleet::{ReadFile, ReplacedFiles, Revision};
use crate::hiera::backend::DataFile;
use crate::hiera::options::LOOKUP_OPTIONS;
use crate::node::NodeSet;
use crate::pipeline::blind_spots::changed_files::FileKind;
use crate::report::Side;
use crate::tree::{Target, TreeError, follow};
use crate::value::{Segment, Value, ValuePath};

/// A changed file.
pub(super) struct Edit {
    pub(super) path: Arc<str>,
    pub(super) kind: FileKind,
    /// The paths of levels that lead to it.
    pub(super) paths: BTreeSet<Arc<str>>,
    pub(super) file: Diff<Option<Arc<DataFile>>>,
    /// The nodes that read it.
    pub(super) nodes: Diff<NodeSet>,
}

/// An entry of a file that differs: a root key, or an entry of `lookup_options`. It is undone as a whole.
pub(super) struct Group {
    pub(super) edit: usize,
    /// The root key, or `None` for a whole file.
    pub(super) root: Option<Arc<str>>,
    /// The name in `lookup_options`, if it is one of those.
    pub(super) option: Option<Arc<str>>,
    /// The path of the entry in the file.
    path: Vec<Value>,
    /// Its changed lines by the normal form of their paths below the entry.
    pub(super) lines: BTreeMap<String, Vec<usize>>,
}

/// A changed line.
pub(super) struct EditedLine {
    pub(super) edit: usize,
    pub(super) side: Side,
    pub(super) number: u32,
    /// The groups that it belongs to, with its paths in them. A line whose data is the same has none.
    pub(super) entries: Vec<(usize, ValuePath)>,
    /// True for a line that is neither empty nor a comment.
    pub(super) is_text: bool,
}

/// The path of a level and a root key; none for a whole file.
type FileKey = (Arc<str>, Option<Arc<str>>);

/// All edits of a commit.
#[derive(Default)]
pub(super) struct Edits {
    pub(super) all: Vec<Edit>,
    pub(super) groups: Vec<Group>,
    /// The lines, by file, side and number.
    pub(super) lines: Vec<EditedLine>,
    /// The groups by path of a level and root key; those of whole files have no root key.
    by_place: HashMap<FileKey, Vec<usize>>,
}

impl Edits {
    /// Finds the edits in `files`.
    pub(super) fn find(
        revisions: Diff<&Revision>,
        files: impl IntoIterator<Item = (Arc<str>, FileKind)>,
    ) -> Result<Edits, TreeError> {
        let mut edits = Edits::default();
        for (path, kind) in files {
            let edit = Edit { path, kind, paths: BTreeSet::new(), file: Diff::default(), nodes: Diff::default() };
            edits.all.push(edit);
        }
        edits.find_readers(Side::Before, revisions.before);
        edits.find_readers(Side::After, revisions.after);
        for at in 0..edits.all.len() {
            edits.add_groups(at);
            let contents = Diff::new(content(revisions.before, &edits.all[at].path)?, {
                content(revisions.after, &edits.all[at].path)?
            });
            edits.add_lines(at, &contents);
        }
        for (number, group) in edits.groups.iter().enumerate().filter(|(_, group)| group.option.is_none()) {
            for path in &edits.all[group.edit].paths {
                edits.by_place.entry((path.clone(), group.root.clone())).or_default().push(number);
            }
        }
        Ok(edits)
    }

    /// Finds the nodes that read the files, and what is in them.
    fn find_readers(&mut self, side: Side, revision: &Revision) {
        let by_path: HashMap<Arc<str>, usize> = self.all.iter().map(|edit| edit.path.clone()).zip(0..).collect();
        let tree = &*revision.environment.tree;
        // Other paths may lead to them by links; the files there are the same then.
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
            lines: BTreeMap::new(),
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
        let changed = changed_lines(contents.as_ref().map(Vec::as_slice));
        for (side, numbers) in [(Side::Before, changed.before), (Side::After, changed.after)] {
            let entries = Entries::of(side.of(&self.all[at].file).as_deref());
            let texts: Vec<&[u8]> = side.of(contents).split(|byte| *byte == b'\n').collect();
            let groups: Vec<usize> = (0..self.groups.len()).filter(|group| self.groups[*group].edit == at).collect();
            let by_path: HashMap<&[Value], usize> =
                groups.iter().map(|group| (&*self.groups[*group].path, *group)).collect();
            let differing: HashMap<usize, DifferingPaths> =
                groups.iter().map(|group| (*group, self.differing_paths(*group, side))).collect();
            let mut found = Vec::new();
            for number in numbers {
                let is_comment = texts.get(number as usize - 1).is_none_or(|text| is_comment(text));
                let is_text = !is_comment || entries.is_inside_text(number);
                let mut line = EditedLine { edit: at, side, number, entries: Vec::new(), is_text };
                for path in entries.at(number).filter(|_| is_text) {
                    line.entries.extend(of_groups(path, &by_path).filter(|(group, path)| differing[group].has(path)));
                }
                if let Some(whole) = by_path.get(&[][..]).filter(|_| is_text) {
                    line.entries = vec![(*whole, ValuePath::default())];
                }
                found.push(line);
            }
            for line in found {
                for (group, path) in &line.entries {
                    self.groups[*group].lines.entry(normal(&path.0)).or_default().push(self.lines.len());
                }
                self.lines.push(line);
            }
        }
    }

    /// Returns the paths inside of a group at which the data differs on a side.
    fn differing_paths(&self, group: usize, side: Side) -> DifferingPaths {
        let mut paths = DifferingPaths::default();
        for leaf in diff::leaves(Diff::new(self.value(group, Side::Before), self.value(group, Side::After))) {
            if let Some(part) = side.of(&leaf.part) {
                paths.parents.extend((0..part.path.0.len()).map(|length| part.path.0[..length].to_vec()));
                paths.leaves.insert(part.path.0.clone());
            }
        }
        paths
    }

    /// Returns the value of a group on a side.
    pub(super) fn value(&self, group: usize, side: Side) -> Option<&Value> {
        let group = &self.groups[group];
        let file = side.of(&self.all[group.edit].file).as_ref()?;
        group.path.iter().try_fold(file.value(), |value, key| value.as_hash()?.get_value(key))
    }

    /// Returns the groups at a place where a lookup was: the path of a level and a root key.
    pub(super) fn groups_at(&self, path: &Arc<str>, root: &Arc<str>) -> impl Iterator<Item = usize> {
        let of = |root: Option<Arc<str>>| self.by_place.get(&(path.clone(), root)).into_iter().flatten().copied();
        of(Some(root.clone())).chain(of(None))
    }

    /// Returns the files that take the place of others if `groups` are as on the other side than `base`.
    pub(super) fn replaced(&self, groups: &[usize], base: Side) -> ReplacedFiles {
        let mut replaced = ReplacedFiles::default();
        let mut by_edit: BTreeMap<usize, Vec<&Group>> = BTreeMap::new();
        for group in groups.iter().map(|group| &self.groups[*group]) {
            by_edit.entry(group.edit).or_default().push(group);
            replaced.differ_in_options |= group.option.is_some() || group.root.is_none();
        }
        for (edit, groups) in by_edit {
            let edit = &self.all[edit];
            let (own, other) = (base.of(&edit.file), base.other().of(&edit.file));
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

/// Returns the groups that the entry at `path` of a file belongs to, with the path inside of them.
fn of_groups(path: &[Segment], by_path: &HashMap<&[Value], usize>) -> impl Iterator<Item = (usize, ValuePath)> {
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
    let hashes = values.map(|value| value.and_then(Value::as_hash));
    let keys = |hash: Option<&crate::value::Hash>| -> Vec<Value> {
        hash.into_iter().flat_map(|h| h.keys().cloned()).collect()
    };
    let of = |hash: Option<&crate::value::Hash>, key: &Value| hash.and_then(|hash| hash.get_value(key)).cloned();
    let is_same = |key: &Value| match (of(hashes.before, key), of(hashes.after, key)) {
        (Some(before), Some(after)) => before == after && before.is_written_like(&after),
        (before, after) => before.is_none() && after.is_none(),
    };
    let mut found: Vec<Value> = keys(hashes.before).into_iter().filter(|key| !is_same(key)).collect();
    found.extend(keys(hashes.after).into_iter().filter(|key| of(hashes.before, key).is_none()));
    found
}

/// Returns the text of the file at `path`; empty if there is none.
fn content(revision: &Revision, path: &str) -> Result<Vec<u8>, TreeError> {
    let tree = &*revision.environment.tree;
    match follow(tree, path)? {
        Target::File(_, id) => match tree.read(id) {
            Err(error) if error.is_too_large => Ok(Vec::new()),
            content => Ok(content?.clone()),
        },
        _ => Ok(Vec::new()),
    }
}

fn is_comment(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    text.is_empty() || text.starts_with(b"#") || text.starts_with(b"//") || text == b"---" || text == b"..."
}

impl Group {
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
