//! Finds the places that contribute to a value, and how each does.

use std::sync::Arc;

use super::edits::Edits;
use super::trace::Trace;
use crate::blind_spots::files::changed::FileKind;
use crate::diagnostic::Place;
use crate::diff::{Diff, LeafChange, PlacedValue};
use crate::fleet::Revision;
use crate::hiera::LookupKey;
use crate::hiera::backend::DataFile;
use crate::hiera::config::LevelConfig;
use crate::hiera::explain::{Branch, Event, FoundAt, Step};
use crate::hiera::interpolation::Template;
use crate::hiera::key::root_of;
use crate::hiera::layer::path_patterns::{PathPattern, patterns};
use crate::hiera::options::LOOKUP_OPTIONS;
use crate::node::NodeId;
use crate::report::{How, Origin, Side, Source};
use crate::value::{Hash, Segment, Value};

/// The maximum number of places that are reported for one side of a difference.
const MAX_SOURCES: usize = 12;

/// The lookups of a key, whose sources are reported.
pub(super) struct Sources<'a> {
    revisions: Diff<&'a Revision>,
    key: &'a Arc<str>,
    node: NodeId,
    edits: &'a Edits,
    trace: &'a Diff<Trace>,
    /// The files that the node reads, if one of the lookups needs them: path, level and content.
    files: Diff<Vec<ReadFile>>,
    options: Diff<Option<Source>>,
}

/// A file that a node reads: path, level and content.
type ReadFile = (Arc<str>, Arc<str>, Arc<DataFile>);

impl<'a> Sources<'a> {
    /// Returns the sources of `key` on a node.
    pub(super) fn new(
        revisions: Diff<&'a Revision>,
        edits: &'a Edits,
        (key, node, trace): (&'a Arc<str>, NodeId, &'a Diff<Trace>),
    ) -> Sources<'a> {
        let files = |revision: &Revision, trace: &Trace| {
            let needs = interpolates(&trace.steps) || how_of_options(trace).is_some();
            if needs { revision.files_of(node) } else { Vec::new() }
        };
        let files = Diff::new(files(revisions.before, &trace.before), files(revisions.after, &trace.after));
        let mut sources = Sources { revisions, key, node, edits, trace, files, options: Diff::default() };
        sources.options = Diff::new(sources.options_of(Side::Before), sources.options_of(Side::After));
        sources
    }

    /// Returns the origins of a difference, and the other places that contribute to each side.
    pub(super) fn trace_leaf(&self, leaf: &LeafChange) -> (Diff<Option<Origin>>, Diff<Vec<Source>>) {
        let (before, others_before) = self.trace_side(Side::Before, &self.trace.before, &leaf.part);
        let (after, others_after) = self.trace_side(Side::After, &self.trace.after, &leaf.part);
        (Diff::new(before, after), Diff::new(others_before, others_after))
    }

    fn trace_side(
        &self,
        side: Side,
        trace: &Trace,
        parts: &Diff<Option<PlacedValue>>,
    ) -> (Option<Origin>, Vec<Source>) {
        let mut sources = Vec::new();
        let mut origin = None;
        match (side.pick(parts), side.other().pick(parts)) {
            (Some(part), _) => {
                origin = trace.origin(&part.path);
                if let Some(origin) = &mut origin {
                    add_emptying_source(trace, part, origin, &mut sources);
                    self.add_merged(trace, part, origin, &mut sources);
                    self.add_referred(side, trace, part, origin, &mut sources);
                }
            }
            (None, Some(other)) => sources.extend(knock_out_source(trace, other)),
            (None, None) => {}
        }
        sources.extend(side.pick(&self.options).clone());
        sources.extend(self.manifest_source(side));
        sources.extend(origin.as_ref().and_then(|origin| self.level(side, origin)));
        sources.sort();
        sources.dedup();
        sources.truncate(MAX_SOURCES);
        (origin, sources)
    }

    /// Adds the other places that a collection is merged from.
    fn add_merged(&self, trace: &Trace, part: &PlacedValue, origin: &mut Origin, sources: &mut Vec<Source>) {
        if !matches!(part.value, Value::Array(_) | Value::Hash(_)) || merge_options(&trace.steps, self.key).is_none() {
            return;
        }
        let all: Vec<_> = trace.contributions.iter().filter_map(|one| one.origin_of(&part.path)).collect();
        if all.len() > 1 {
            origin.how = How::Merge;
            let others = all.into_iter().filter(|other| other.place != origin.place);
            sources.extend(others.map(|o| Source { place: o.place, level: Some(o.level), how: How::Merge }));
        }
    }

    /// Adds the places of the keys that the text at the origin refers to, and of those that they refer to.
    fn add_referred(
        &self,
        side: Side,
        trace: &Trace,
        part: &PlacedValue,
        origin: &mut Origin,
        sources: &mut Vec<Source>,
    ) {
        if !interpolates(&trace.steps) {
            return;
        }
        let file = side.pick(&self.files).iter().find(|(path, ..)| *path == origin.place.path).map(|(.., file)| file);
        let Some((text, rest)) = file.and_then(|file| text_at(file, &root_of(self.key), &part.path.0)) else { return };
        let Some(template) = Template::parse(text) else { return };
        let is_alias = text.trim_start().starts_with("%{alias");
        let how = if is_alias { How::Alias } else { How::Lookup };
        let mut is_reference = false;
        for key in template.keys() {
            is_reference = true;
            let rest = if is_alias { rest } else { &[] };
            visit_interpolated(&trace.steps, key, rest, &mut |place, level| {
                sources.push(Source { place, level: level.cloned(), how });
            });
        }
        origin.how = if is_reference { how } else { How::Variable };
    }

    /// Returns the place of the `lookup_options` of the key, if it has any.
    fn options_of(&self, side: Side) -> Option<Source> {
        let how = how_of_options(side.pick(self.trace))?;
        let root = root_of(self.key);
        let regexes = &side.pick(&self.revisions).environment.store.regexes;
        let matches = |name: &str| {
            let is_pattern = name.starts_with('^');
            name == &*root
                || is_pattern && regexes.get(&name.into()).is_ok_and(|regex| regex.is_match(&root).unwrap_or(false))
        };
        side.pick(&self.files).iter().find_map(|(path, level, file)| {
            let options = file.content()?.get(LOOKUP_OPTIONS)?.as_hash()?;
            let name = options.keys().find(|name| name.as_str().is_some_and(&matches))?;
            let marks = file.marks(LOOKUP_OPTIONS)?;
            let line = marks.children.get(options.index_of(name)?).map(|marks| marks.line);
            Some(Source { place: Place { path: path.clone(), line }, level: Some(level.clone()), how })
        })
    }

    /// Returns the place of the manifest's lookup that decides how the key is merged, if there is one.
    fn manifest_source(&self, side: Side) -> Option<Source> {
        let revision = side.pick(&self.revisions);
        let merge = revision.environment.for_scope(&revision.fleet.scope(self.node)).asked_by_manifests(self.key)?;
        Some(Source { place: merge.place.clone(), level: None, how: How::Manifest })
    }

    /// Returns the place of the origin's level, if some hiera.yaml differs.
    fn level(&self, side: Side, origin: &Origin) -> Option<Source> {
        self.edits.all.iter().find(|edit| edit.kind == FileKind::Config)?;
        let revision = side.pick(&self.revisions);
        let environment = revision.environment.for_scope(&revision.fleet.scope(self.node));
        let configs = environment.layers().filter_map(|layer| layer.config.as_ref().ok());
        let levels = configs.flat_map(|config| config.all_levels()).filter(|level| level.name == origin.level);
        let levels: Vec<&LevelConfig> = levels.collect();
        // Modules name their levels alike, but each reads its own files.
        let reads =
            |pattern: &PathPattern<'_>| pattern.level.name == origin.level && pattern.matches(&origin.place.path);
        let own_patterns = if levels.len() > 1 { patterns(environment) } else { Vec::new() };
        let level = own_patterns
            .iter()
            .find(|pattern| reads(pattern))
            .map_or(levels.first().copied(), |pattern| Some(pattern.level))?;
        Some(Source { place: level.place.clone(), level: Some(level.name.clone()), how: How::Hierarchy })
    }
}

/// Returns how `lookup_options` contribute to an answer, if they do.
fn how_of_options(trace: &Trace) -> Option<How> {
    let merges = trace.steps.steps.iter().any(|step| matches!(step.branch, Some(Branch::MergeSource(_))));
    let converts = trace.steps.texts.iter().any(|text| text.visible().starts_with("Applying convert_to"));
    match (merges, converts) {
        (true, _) => Some(How::LookupOptions),
        (false, true) => Some(How::Conversion),
        (false, false) => None,
    }
}

/// Returns the options of the merge of a key's values, if they are merged.
fn merge_options<'s>(step: &'s Step, key: &str) -> Option<&'s Hash> {
    fn merge(step: &Step) -> Option<&Hash> {
        match &step.branch {
            Some(Branch::Merge(_, options)) => Some(options),
            Some(Branch::Interpolation(_)) => None,
            _ => step.steps.iter().find_map(merge),
        }
    }
    let mut of_key = step.steps.iter().filter(|step| matches!(&step.branch, Some(Branch::Key(name)) if **name == *key));
    of_key.find_map(merge)
}

fn interpolates(step: &Step) -> bool {
    matches!(step.branch, Some(Branch::Interpolation(_))) || step.steps.iter().any(interpolates)
}

/// Returns the text at `path` of a root key, or the text around it and the rest of the path below it.
fn text_at<'f, 'p>(file: &'f Arc<DataFile>, root: &str, path: &'p [Segment]) -> Option<(&'f str, &'p [Segment])> {
    let mut value = file.content()?.get(root)?;
    let mut rest = path;
    loop {
        value = match (value, rest.split_first()) {
            (Value::String(text), _) => return text.secrecy().is_none().then(|| (&**text, rest)),
            (Value::Hash(hash), Some((Segment::Key(key), _))) => hash.get_value(key)?,
            (Value::Array(items), Some((Segment::Index(at), _))) => items.get(*at)?,
            _ => return None,
        };
        rest = &rest[1..];
    }
}

/// Passes to `visit` the places of values that interpolations found for `key`: the line of its part at `rest`, and
/// the lines of the values that it refers to itself.
fn visit_interpolated(step: &Step, key: &str, rest: &[Segment], visit: &mut dyn FnMut(Place, Option<&Arc<str>>)) {
    for inner in &step.steps {
        match &inner.branch {
            Some(Branch::Interpolation(_)) => {
                for of_key in &inner.steps {
                    if matches!(&of_key.branch, Some(Branch::Key(name)) if **name == *key) {
                        let segments = LookupKey::parse(key).map(|key| key.segments.clone()).unwrap_or_default();
                        let dig: Vec<Segment> = segments.into_iter().map(segment).chain(rest.iter().cloned()).collect();
                        visit_found(of_key, None, &dig, visit);
                    } else {
                        visit_interpolated(of_key, key, rest, visit);
                    }
                }
            }
            _ => visit_interpolated(inner, key, rest, visit),
        }
    }
}

fn segment(key: Value) -> Segment {
    match key {
        Value::Integer(at) => Segment::Index(usize::try_from(at).unwrap_or(usize::MAX)),
        key => Segment::Key(key),
    }
}

fn visit_found(
    step: &Step,
    level: Option<&Arc<str>>,
    path: &[Segment],
    visit: &mut dyn FnMut(Place, Option<&Arc<str>>),
) {
    let level = match &step.branch {
        Some(Branch::Level(name)) => Some(name),
        _ => level,
    };
    let inner = if matches!(step.branch, Some(Branch::Interpolation(_))) { &[] } else { path };
    step.steps.iter().for_each(|step| visit_found(step, level, inner, visit));
    if let Some(Event::Found(_, value, Some(FoundAt { place, marks }))) = &step.event {
        let line = marks.line_of(value, path).or(place.line);
        visit(Place { path: place.path.clone(), line }, level);
    }
}

/// Returns the place that knocks out an array item which exists on the other side: by the prefix before its text, or
/// by the prefix alone, which knocks out all items. Puppet knocks out no keys of hashes.
fn knock_out_source(trace: &Trace, other: &PlacedValue) -> Option<Source> {
    let options = merge_options_of_any(&trace.steps)?;
    let prefix = options.get("knockout_prefix")?.as_str()?;
    let (Segment::Index(_), parent) = other.path.0.split_last()? else { return None };
    let of_item = other.value.as_str().map(|text| format!("{prefix}{text}"));
    of_item.into_iter().chain([prefix.to_owned()]).find_map(|name| {
        let found = trace.contributions.iter().find_map(|one| one.origin_of_item(parent, &name))?;
        Some(Source { place: found.place, level: Some(found.level), how: How::KnockOut })
    })
}

/// Adds the place that makes a text empty: one whose own text has a line that begins with the knockout prefix.
fn add_emptying_source(trace: &Trace, part: &PlacedValue, origin: &mut Origin, sources: &mut Vec<Source>) {
    let prefix = merge_options_of_any(&trace.steps).and_then(|options| options.get("knockout_prefix")?.as_str());
    let (Some(prefix), Some("")) = (prefix, part.value.as_str()) else { return };
    let knocks = |text: &str| text.lines().any(|line| line.starts_with(prefix));
    for one in &trace.contributions {
        match one.text_at(&part.path) {
            // It is empty by itself.
            Some("") => return,
            Some(text) if knocks(text) => {
                let Some(found) = one.origin_of(&part.path) else { return };
                if found.place == origin.place {
                    origin.how = How::KnockOut;
                } else {
                    sources.push(Source { place: found.place, level: Some(found.level), how: How::KnockOut });
                }
                return;
            }
            _ => {}
        }
    }
}

fn merge_options_of_any(step: &Step) -> Option<&Hash> {
    match &step.branch {
        Some(Branch::Merge(_, options)) => Some(options),
        Some(Branch::Interpolation(_)) => None,
        _ => step.steps.iter().find_map(merge_options_of_any),
    }
}
