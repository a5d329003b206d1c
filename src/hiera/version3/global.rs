//! Version 3 in Puppet's global layer: one level per backend, searched by Hiera 5 with its own rules.
//!
//! Hiera 3 itself is not involved: `:merge_behavior:` applies only to the old `hiera_hash` function.
//! Source: `HieraConfigV3` in `pops/lookup/hiera_config.rb`, `hiera/scope.rb`.

use std::sync::Arc;

use crate::diagnostic::Place;
use crate::hiera::LookupError;
use crate::hiera::backend::Backend;
use crate::hiera::config::{Config, LevelConfig, PlacedText};
use crate::hiera::hierarchy::{HierarchyPart, Level, Location, Resolver, Source};
use crate::hiera::interpolation::{Context, NameStack, Undefined, interpolate, interpolate_text};
use crate::hiera::scope::{Scope, Variable};
use crate::puppet::pathname::join;
use crate::value::{Hash, Value};

/// The default datadir, relative to the environment's folder.
const DEFAULT_DATADIR: &str = "hieradata";

/// The variables as version 3 sees them: those of the caller, which a plain lookup lacks, are undef, and so are empty
/// texts.
pub struct HieraScope<'a>(pub &'a dyn Scope);

impl Scope for HieraScope<'_> {
    fn variable(&self, name: &str) -> Variable {
        self.variable_at(name, &[])
    }

    fn variable_at(&self, name: &str, segments: &[Value]) -> Variable {
        if matches!(name, "calling_class" | "calling_class_path" | "calling_module") {
            return Variable::Value(Value::Undef);
        }
        match self.0.variable_at(name, segments) {
            Variable::Value(Value::String(text)) if text.is_empty() => Variable::Value(Value::Undef),
            other => other,
        }
    }

    fn within<'s>(&self, name: &str, segments: &'s [Value]) -> (Variable, &'s [Value]) {
        (self.variable_at(name, segments), segments)
    }
}

/// Resolves `config`, which is in the folder `root`, for the node with `scope`.
pub fn resolve_global(config: &Config, root: &str, scope: &dyn Scope, source: Source<'_>) -> HierarchyPart {
    let scope = HieraScope(scope);
    let undefined = Undefined::in_data(source.puppet);
    let mut global =
        Global { root, scope: &scope, source, undefined, files: Resolver::new(config, root, &scope, source) };
    let levels = config.levels.iter().map(|level| global.level(level).map(Arc::new)).collect();
    HierarchyPart { levels, diagnostics: global.files.into_diagnostics() }
}

struct Global<'a> {
    root: &'a str,
    scope: &'a dyn Scope,
    source: Source<'a>,
    undefined: Undefined,
    files: Resolver<'a>,
}

impl Global<'_> {
    fn level(&mut self, level: &LevelConfig) -> Result<Level, LookupError> {
        let section = self.interpolated(&level.options, &level.place)?;
        let datadir = match section.get("datadir") {
            // The environment's folder of data, wherever the global layer is.
            None | Some(Value::Undef | Value::Boolean(false)) => join(self.source.environment, DEFAULT_DATADIR),
            Some(Value::String(text)) => join(self.root, text),
            Some(other) => {
                let text = format!("no implicit conversion of {} into String", other.class_name());
                return Err(LookupError::bare(text).at(level.place.clone()));
            }
        };
        let extension = match section.get("extension") {
            None | Some(Value::Undef) if *level.name == *"hocon" => ".conf".to_owned(),
            None | Some(Value::Undef) => format!(".{}", level.name),
            Some(extension) => format!(".{}", extension.to_s()),
        };
        let backend = self.files.backend(level, true);
        let paths = level.locations.declared().iter();
        let locations =
            paths.map(|path| self.location(path, &datadir, &extension, &backend)).collect::<Result<_, _>>()?;
        Ok(Level {
            name: level.name.clone(),
            place: level.place.clone(),
            kind: level.function.kind,
            function: level.function.name.clone(),
            options: options(&backend, &section),
            backend,
            locations,
            reads: None,
        })
    }

    fn location(
        &mut self,
        declared: &PlacedText,
        datadir: &str,
        extension: &str,
        backend: &Backend,
    ) -> Result<Location, LookupError> {
        let mut path = self.text(&declared.text, &declared.place)?;
        if !path.ends_with(extension) {
            path += extension;
        }
        self.files.warn_undefined(declared, self.scope);
        self.files.location_at(declared, &join(datadir, &path), backend)
    }

    fn text(&self, text: &str, place: &Place) -> Result<String, LookupError> {
        let stack = NameStack::default();
        interpolate_text(text, &self.context(&stack)).map_err(|error| self.files.blame(error, place))
    }

    fn interpolated(&self, value: &Value, place: &Place) -> Result<Value, LookupError> {
        let stack = NameStack::default();
        interpolate(value, &self.context(&stack)).map_err(|error| self.files.blame(error, place))
    }

    fn context<'c>(&'c self, stack: &'c NameStack<'c>) -> Context<'c> {
        let notation = self.files.notation();
        Context { scope: self.scope, resolver: None, stack, undefined: self.undefined, notation }
    }
}

/// Returns the part of a backend's section that is passed to its function. Only eyaml's needs any.
fn options(backend: &Backend, section: &Value) -> Value {
    let mut options = Hash::new();
    if let (Backend::Eyaml(_), Some(section)) = (backend, section.as_hash()) {
        options = section.clone();
        options.remove(&Value::from("datadir"));
    }
    Value::hash(options)
}
