//! The locations of a level on one node.

use super::{Backend, Location, Resolver};
use crate::hiera::LookupError;
use crate::hiera::config::{Finder, Form, LevelConfig, PlacedText};
use crate::hiera::interpolation::{Context, NameStack, Undefined, interpolate_text, variable};
use crate::hiera::scope::{LocalScope, Scope};
use crate::puppet::pathname::join;
use crate::puppet::uri;
use crate::value::Value;

/// Collects the locations of one level.
struct LevelFinder<'r, 'a> {
    resolver: &'r mut Resolver<'a>,
    level: &'r LevelConfig,
    datadir: &'r str,
    backend: &'r Backend,
    found: Vec<Location>,
}

impl Resolver<'_> {
    /// Returns the locations of a level whose paths are relative to `datadir`.
    pub(super) fn locations(
        &mut self,
        level: &LevelConfig,
        datadir: &str,
        backend: &Backend,
    ) -> Result<Vec<Location>, LookupError> {
        let mut finder = LevelFinder { resolver: self, level, datadir, backend, found: Vec::new() };
        level.locations.resolve(&mut finder)?;
        Ok(if level.locations.are_none() { vec![Location::Whole] } else { finder.found })
    }
}

impl Finder for LevelFinder<'_, '_> {
    fn variable(&self, declared: &PlacedText, role: &str) -> Result<Value, LookupError> {
        let stack = NameStack::default();
        let context = self.resolver.context(&stack, Undefined::Empty);
        variable(&declared.text, role, &context).map_err(|e| self.resolver.blame(e, &declared.place))
    }

    fn add(&mut self, declared: &PlacedText, form: Form, local: Option<(&str, Value)>) -> Result<(), LookupError> {
        let text = self.text(declared, local)?;
        match form {
            Form::Path => {
                self.found.push(self.resolver.location_at(declared, &join(self.datadir, &text), self.backend)?);
            }
            Form::Glob => {
                self.found.extend(self.resolver.expand(declared, &join(self.datadir, &text), self.backend)?);
            }
            Form::Uri => {
                let parsed = uri::parse(&text).map_err(LookupError::bare);
                let uri = parsed.map_err(|error| error.at(declared.place.clone()))?.to_string().into();
                self.found.push(Location::Uri { original: declared.text.clone(), uri });
            }
        }
        Ok(())
    }
}

impl LevelFinder<'_, '_> {
    /// Returns the interpolated text. An undefined variable is replaced by an empty text, with a warning. In version
    /// 4 it may be an error, and the extension is added.
    fn text(&mut self, declared: &PlacedText, local: Option<(&str, Value)>) -> Result<String, LookupError> {
        let (outer, notation) = (self.resolver.scope, self.resolver.notation());
        let local = local.map(|(name, value)| LocalScope { outer, name, value });
        let scope = local.as_ref().map_or(outer, |local| local as &dyn Scope);
        let evaluate = |undefined| {
            let stack = NameStack::default();
            let context = Context { scope, resolver: None, stack: &stack, undefined, notation };
            interpolate_text(&declared.text, &context)
        };
        if let Some(version4) = self.level.version4 {
            let undefined = Undefined::in_data(self.resolver.source.puppet);
            let path = evaluate(undefined).map_err(|e| self.resolver.blame(e, &declared.place))?;
            self.resolver.warn_undefined(declared, scope);
            return Ok(if path.ends_with(version4.extension) { path } else { path + version4.extension });
        }
        // Usually all variables are defined, and there is no need to look for undefined ones.
        if let Ok(text) = evaluate(Undefined::Error) {
            return Ok(text);
        }
        let text = evaluate(Undefined::Empty).map_err(|e| self.resolver.blame(e, &declared.place))?;
        self.resolver.warn_undefined(declared, scope);
        Ok(text)
    }
}
