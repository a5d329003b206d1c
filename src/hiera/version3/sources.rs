//! The data sources of one node: which files a backend reads, in which order.
//!
//! Hiera 3 interpolates a source only when it reaches it, so an error in one is raised only then. `%{hiera('key')}`
//! in `:hierarchy:` sees the sources before its own.
//! Source: `datasources`, `datafile` and `interpolate_config` in `hiera/backend.rb`.

use std::sync::Arc;

use super::Engine;
use super::interpolation::{Context, Guard, interpolate_text};
use crate::diagnostic::Place;
use crate::hiera::LookupError;
use crate::hiera::backend::eyaml::Keys;
use crate::hiera::backend::{Backend, Format};
use crate::hiera::budget::Budget;
use crate::hiera::config::{Config, Hiera3, LevelConfig, PlacedText, Section, Source};
use crate::hiera::hierarchy::{self, Content, HierarchyPart, Level, Location, Resolver};
use crate::hiera::scope::Scope;
use crate::puppet::pathname::join;
use crate::value::Value;

/// Returns the sources of `config`, which is in the folder `root`, for the node with `scope`.
pub fn resolve(
    config: &Config,
    hiera: &Hiera3,
    root: &str,
    scope: &dyn Scope,
    source: hierarchy::Source<'_>,
) -> HierarchyPart {
    let files = Resolver::new(config, root, scope, source);
    let mut sources = Sources { hiera, root, scope, keys: source.keys, files, levels: Vec::new() };
    for (level, section) in config.levels.iter().zip(&hiera.sections) {
        sources.add(level, section, source);
    }
    HierarchyPart { levels: Ok(sources.levels), diagnostics: sources.files.into_diagnostics() }
}

struct Sources<'a> {
    hiera: &'a Hiera3,
    root: &'a str,
    scope: &'a dyn Scope,
    keys: &'a Keys,
    files: Resolver<'a>,
    levels: Vec<Arc<Level>>,
}

impl Sources<'_> {
    fn add(&mut self, level: &LevelConfig, section: &Section, source: hierarchy::Source<'_>) {
        let backend = match (source.backends.get(&*level.name), &*level.name) {
            (Some(declared), _) => Backend::Declared(declared.clone()),
            (None, "yaml") => Backend::Files(Format::hiera3_yaml(self.hiera.takes_aliases)),
            (None, "eyaml") => Backend::Eyaml(Format::hiera3_yaml(self.hiera.takes_aliases)),
            (None, "json") => Backend::Files(Format::Hiera3Json),
            (None, other) => Backend::Fails(LookupError::unknown(format!(
                "the backend '{other}' of Hiera 3 is not supported; declare what it finds under 'backends' in hierad.yaml"
            ))),
        };
        let reads_files = matches!(backend, Backend::Files(_) | Backend::Eyaml(_));
        self.levels.push(Arc::new(Level {
            name: level.name.clone(),
            place: level.place.clone(),
            kind: level.function.kind,
            function: level.function.name.clone(),
            backend,
            locations: if reads_files { Vec::new() } else { vec![Location::Whole] },
            options: level.options.clone(),
            reads: None,
        }));
        if reads_files {
            // A backend with an extension reads it when it is created.
            if let Err(error) = &section.extension {
                self.add_failure(level, error.clone());
            }
            self.read_options(level, section);
            self.locate(level, section);
        }
    }

    /// Reads the options of the last level, as its backend does before all else.
    fn read_options(&mut self, level: &LevelConfig, section: &Section) {
        let options = section.options.clone().and_then(|written| {
            let option = |(key, value): (&Value, &Value)| Ok((key.clone(), self.interpolate(value, &level.place)?));
            written.iter().map(option).collect::<Result<_, LookupError>>().map(Value::hash)
        });
        match (options, self.levels.last_mut()) {
            (Ok(options), Some(last)) => Arc::make_mut(last).options = options,
            (Err(error), _) => self.add_failure(level, error),
            _ => {}
        }
    }

    /// Finds the files of the last level.
    fn locate(&mut self, level: &LevelConfig, section: &Section) {
        let datadir =
            section.datadir.clone().and_then(|datadir| self.interpolate(&Value::from(&*datadir), &level.place));
        let parts = section.extension.clone().and_then(|extension| Ok((datadir?.to_s(), extension)));
        // The other backends read their datadir at each source.
        if let (Err(error), "yaml") = (&parts, &*level.name) {
            self.add_failure(level, error.clone());
        }
        for source in &self.hiera.hierarchy {
            let location = self.locate_source(source, &parts);
            self.push(location.unwrap_or_else(|error| Some(unreadable(&source.declared, error))));
        }
    }

    /// Returns the location of a source's file, or `None` if Hiera ignores its name. `parts` are folder and
    /// extension.
    fn locate_source(
        &mut self,
        source: &Source,
        parts: &Result<(String, Arc<str>), LookupError>,
    ) -> Result<Option<Location>, LookupError> {
        let name = self.interpolate(&source.value, &source.declared.place)?;
        self.files.warn_undefined(&source.declared, self.scope);
        let is_text = matches!(name, Value::String(_) | Value::Symbol(_));
        let name = name.to_s();
        if is_text && (name.is_empty() || is_ignored_name(&name)) {
            return Ok(None);
        }
        let (datadir, extension) = parts.as_ref().map_err(Clone::clone)?;
        let path = join(self.root, &format!("{}/{name}.{extension}", datadir.trim_end_matches('/')));
        let Some(level) = self.levels.last() else { return Ok(None) };
        self.files.location_at(&source.declared, &path, &level.backend).map(Some)
    }

    /// Makes every lookup that reaches this place fail.
    fn add_failure(&mut self, level: &LevelConfig, error: LookupError) {
        let declared = PlacedText { text: level.datadir.clone(), place: level.place.clone() };
        self.push(Some(unreadable(&declared, error)));
    }

    fn push(&mut self, location: Option<Location>) {
        if let Some(level) = self.levels.last_mut() {
            Arc::make_mut(level).locations.extend(location);
        }
    }

    fn interpolate(&self, value: &Value, place: &Place) -> Result<Value, LookupError> {
        let Value::String(written) = value else { return Ok(value.clone()) };
        let Sources { hiera, levels, scope, keys, .. } = self;
        let engine = Engine { hiera, levels: levels.clone(), sources: None, scope: *scope, keys, recorder: None };
        let (guard, budget) = (Guard::default(), Budget::default());
        interpolate_text(written, &Context { guard: Some(&guard), ..engine.context(&budget) })
            .map_err(|error| error.at(place.clone()))
    }
}

fn unreadable(declared: &PlacedText, error: LookupError) -> Location {
    Location::Path { original: declared.text.clone(), path: declared.text.clone(), content: Content::Unreadable(error) }
}

/// Returns true if a line of a source's name starts or ends with a slash, or has an empty name between two slashes:
/// Hiera ignores it.
fn is_ignored_name(name: &str) -> bool {
    name.contains("//") || name.split('\n').any(|line| line.starts_with('/') || line.ends_with('/'))
}
