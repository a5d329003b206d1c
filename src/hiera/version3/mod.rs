//! Hiera 3 (and 1): what `hiera`, `hiera -a` and `hiera -h` answer from a hiera.yaml of version 3.
//!
//! An [`Engine`] asks one backend after the other, and each of them one data source after the other. It shares no
//! rules with Hiera 5: keys, interpolation and merges all follow separate ones. Puppet's global layer of version 3 is
//! Hiera 5's search with these sources, see `config`.
//! Source: `hiera/backend.rb`, `hiera/backend/{yaml,json}_backend.rb` of Hiera 3.10; `hiera/backend/eyaml_backend.rb`.

mod global;
mod interpolation;
mod key;
mod merge;
mod sources;

use std::sync::Arc;

use self::interpolation::{Context, Keys, answer, interpolate_text};
use self::merge::Resolution;
use super::LookupError;
use super::backend::eyaml::{self, Decryption};
use super::backend::{Backend, DataFile, DeclaredFunction};
use super::budget::{Budget, LOOKUP_STEPS, PLACE_STEPS, with_stack};
use super::command::{self, FunctionCall};
use super::config::{HashMerge, Hiera3};
use super::explain::{Branch, Event, FoundAt, Recorder};
use super::hierarchy::{Content, Hierarchy, Level, Location};
use super::layer::LayerId;
use super::merge::Strategy;
use super::scope::Scope;
use super::sources::Sources;
use crate::diagnostic::Place;
use crate::value::{Text, Value};

pub use global::{HieraScope, resolve_global};
pub use sources::resolve;

type SearchResult = Result<Option<Value>, LookupError>;

/// Looks up keys for one node.
pub struct Engine<'a> {
    hiera: &'a Hiera3,
    levels: Vec<Arc<Level>>,
    /// The owner of the levels; `None` while they are being resolved: then a key that no earlier level has depends on
    /// itself.
    sources: Option<&'a dyn Sources>,
    scope: &'a dyn Scope,
    keys: &'a eyaml::Keys,
    recorder: Option<&'a Recorder>,
}

impl<'a> Engine<'a> {
    /// Returns an engine for the node with `scope`, whose hierarchy in `sources` is `hierarchy`; `keys` decrypt
    /// values.
    pub fn new(
        hiera: &'a Hiera3,
        (sources, hierarchy): (&'a dyn Sources, &Hierarchy),
        scope: &'a dyn Scope,
        keys: &'a eyaml::Keys,
        recorder: Option<&'a Recorder>,
    ) -> Engine<'a> {
        Engine { hiera, levels: hierarchy.levels.clone(), sources: Some(sources), scope, keys, recorder }
    }

    /// Returns the answer for `key`, merged by `strategy`: the first value, `unique` for an array, `hash` for a hash
    /// merged as in hiera.yaml, `deep` for one with the strategy's own options.
    pub fn get(&self, key: &str, strategy: &Strategy, budget: &Budget) -> SearchResult {
        let configured = match (strategy, &self.hiera.merge) {
            (Strategy::Hash, merge) => merge.clone(),
            _ => HashMerge::Native,
        };
        let context = self.context(budget);
        self.find(key, &Resolution::of(strategy, &configured), &context)
    }

    fn context<'c>(&'c self, budget: &'c Budget) -> Context<'c> {
        Context { scope: self.scope, keys: self, guard: None, budget, depth: 0, notation: self.hiera.notation }
    }

    /// Returns `default`, the answer for a key that is not found, with its interpolations resolved.
    pub fn default_value(&self, default: &str) -> Result<Value, LookupError> {
        let budget = Budget::default();
        interpolate_text(&Text::from(default), &self.context(&budget))
    }

    fn find(&self, key: &str, resolution: &Resolution, context: &Context<'_>) -> SearchResult {
        let segments = key::split(key).ok_or_else(|| LookupError::puppet(format!("Syntax error in key: {key}")))?;
        if segments.len() > 1 && *resolution != Resolution::Priority {
            return Err(LookupError::puppet(format!(
                "Resolution type :{} is illegal when accessing values using dotted keys. Offending key was '{key}'",
                resolution.name()
            )));
        }
        if let Some(sources) = self.sources {
            sources.searched(segments.first().unwrap_or(&""), &LayerId::Environment(None), None);
        }
        self.step(|| Branch::Key(key.into()), || self.backends(key, &segments, resolution, context))
    }

    fn backends(&self, key: &str, segments: &[&str], resolution: &Resolution, context: &Context<'_>) -> SearchResult {
        let root = segments.first().map_or(Value::Undef, |root| Value::from(*root));
        let inner = segments.get(1..).unwrap_or_default();
        let mut found = None;
        let mut is_ended = self.sources.is_some();
        for (number, level) in (1..).zip(&self.levels) {
            let value = self.step(
                || Branch::Level(level.name.clone()),
                || match self.backend(level, &root, resolution, context)? {
                    Some(value) => {
                        // Once the last backend has the root key, it does not try its other sources, even if an inner
                        // key is missing.
                        is_ended |= number == self.hiera.sections.len();
                        if is_lost(level, &value) { Ok(None) } else { key::walk(value, inner, key) }
                    }
                    None => Ok(None),
                },
            )?;
            let Some(value) = value else { continue };
            resolution.check(&value, &format!(" for key '{key}'"))?;
            found = Some(resolution.add(found, value, context.budget)?);
            if *resolution == Resolution::Priority {
                break;
            }
        }
        match (found, context.guard) {
            (Some(value), _) => resolution.finish(value, context.budget).map(Some),
            (None, Some(guard)) if !is_ended => Err(guard.recursion()),
            (None, _) => Ok(None),
        }
    }

    fn backend(&self, level: &Level, root: &Value, resolution: &Resolution, context: &Context<'_>) -> SearchResult {
        match &level.backend {
            Backend::Eyaml(_) => self.eyaml(level, root, resolution, context),
            Backend::Files(_) => {
                let of_key = format!(" for key '{}'", root.to_s());
                self.files(level, root, resolution, context, &of_key)
            }
            Backend::Declared(DeclaredFunction::NotFound) | Backend::Absent => Ok(None),
            Backend::Declared(DeclaredFunction::Values(values)) => Ok(values.get_value(root).cloned()),
            Backend::Declared(DeclaredFunction::Command(command)) => {
                let (key, location, scope) = (root.to_s(), &Location::Whole, self.scope);
                let (module, tree, interpolated) = (None, None, None);
                let asked =
                    FunctionCall { level, location, key: (&key, &[]), scope, module, tree, interpolated, lookups: &[] };
                command::ask_for_value(command, &asked)
            }
            Backend::Fails(error) => Err(error.clone().at(level.place.clone())),
        }
    }

    /// Answers like the backend of hiera-eyaml, which knows only Hiera 1's interface: each text has a separate guard.
    fn eyaml(&self, level: &Level, root: &Value, resolution: &Resolution, context: &Context<'_>) -> SearchResult {
        let resolution = match resolution {
            Resolution::Hash(_) => Resolution::Hash(self.hiera.merge.clone()),
            other => other.clone(),
        };
        self.files(level, root, &resolution, &Context { guard: None, ..*context }, "")
    }

    fn files(
        &self,
        level: &Level,
        root: &Value,
        resolution: &Resolution,
        context: &Context<'_>,
        of_key: &str,
    ) -> SearchResult {
        let mut found = None;
        for location in &level.locations {
            let Location::Path { path, original, content } = location else { continue };
            context.budget.spend(PLACE_STEPS)?;
            let value = self.step(
                || Branch::Path(path.clone(), original.clone()),
                || match content {
                    Content::Unreadable(error) => Err(error.clone()),
                    Content::File(_, file) => self.file(level, file, path, root, context),
                    Content::Absent | Content::Other => {
                        self.event(|| Event::LocationNotFound);
                        Ok(None)
                    }
                },
            )?;
            let Some(value) = value else { continue };
            resolution.check(&value, of_key)?;
            found = Some(resolution.add(found, value, context.budget)?);
            if *resolution == Resolution::Priority {
                break;
            }
        }
        Ok(found)
    }

    fn file(
        &self,
        level: &Level,
        file: &DataFile,
        path: &Arc<str>,
        root: &Value,
        context: &Context<'_>,
    ) -> SearchResult {
        let place = |line: Option<u32>| Place { path: path.clone(), line };
        let is_eyaml = matches!(level.backend, Backend::Eyaml(_));
        let hash = file.hiera3_hash(path).map_err(|error| {
            // The backend takes such a file for `nil`, and calls `empty?` on it.
            let error = if is_eyaml && file.is_no_hash() {
                LookupError::undefined_method("empty?", &Value::Undef)
            } else {
                error
            };
            error.at(place(file.fault().map(|fault| fault.line)))
        })?;
        let name = root.to_s();
        let Some(value) = hash.and_then(|hash| hash.get_value(root)) else {
            self.event(|| Event::NotFound(name.as_str().into()));
            return Ok(None);
        };
        let line = || place(file.line(&name));
        let decryption =
            Decryption { keys: self.keys, options: &level.options, reader: eyaml::Reader::Hiera3 { key: &name } };
        let decryption = is_eyaml.then_some(&decryption);
        let value = answer(value, decryption, context).map_err(|e| e.at(line()))?;
        let at = || FoundAt { place: line(), marks: file.marks(&name).cloned().unwrap_or_default() };
        self.event(|| Event::Found(name.as_str().into(), value.clone(), Some(at())));
        Ok(Some(value))
    }

    fn step<R>(&self, branch: impl FnOnce() -> Branch, work: impl FnOnce() -> R) -> R {
        match self.recorder {
            Some(recorder) => recorder.step(branch(), work),
            None => work(),
        }
    }

    fn event(&self, event: impl FnOnce() -> Event) {
        if let Some(recorder) = self.recorder {
            recorder.event(event());
        }
    }
}

/// Returns true if a value counts as not found although it ended its backend's search: null in Hiera 1's interface.
fn is_lost(level: &Level, value: &Value) -> bool {
    matches!(level.backend, Backend::Eyaml(_)) && value.is_undef()
}

impl Keys for Engine<'_> {
    fn value_of(&self, key: &str, context: &Context<'_>) -> Result<Value, LookupError> {
        self.step(
            || Branch::Interpolation(key.into()),
            || {
                context.budget.spend(LOOKUP_STEPS)?;
                let found = with_stack(|| self.find(key, &Resolution::Priority, context))?;
                Ok(found.unwrap_or_default())
            },
        )
    }
}
