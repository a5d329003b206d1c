//! The steps as data: the output of `--render-as json` and `yaml` with `--explain`. It differs from Puppet's only in
//! the `:line` that follows the `:path` of a found value.

use super::text::Places;
use super::{Branch, Event, LayerStep, Step};
use crate::value::{Hash, Value};

impl Step {
    /// Returns the data of `puppet lookup --explain`, with symbols as keys. If there is only one step, returns that
    /// step's data.
    pub fn data(&self, places: Places) -> Value {
        match &*self.steps {
            [only] => only.entry(places),
            [] => Value::hash(Hash::new()),
            steps => Value::hash(Hash::from_iter([(symbol("branches"), entries(steps, places))])),
        }
    }

    fn entry(&self, places: Places) -> Value {
        match (&self.branch, &*self.steps) {
            (Some(Branch::MergeSource(key)), _) => {
                let entries = [(symbol("type"), symbol("merge_source")), (symbol("merge_source"), (*key).into())];
                Value::hash(Hash::from_iter(entries))
            }
            (Some(Branch::MergeInManifest(place)), _) => {
                let entries =
                    [(symbol("type"), symbol("merge_source")), (symbol("merge_source"), place.to_string().into())];
                Value::hash(Hash::from_iter(entries))
            }
            (Some(Branch::Merge(..)), [only]) => only.entry(places),
            _ => Value::hash(self.hash(places)),
        }
    }

    fn hash(&self, places: Places) -> Hash {
        let mut hash = Hash::new();
        if !self.steps.is_empty() {
            hash.insert(symbol("branches"), entries(&self.steps, places));
        }
        self.add_outcome(&mut hash);
        if !self.texts.is_empty() {
            hash.insert(symbol("texts"), self.texts.iter().cloned().map(Value::String).collect());
        }
        self.add_type(&mut hash);
        if let (Places::Shown, Some(Event::Found(_, _, Some(at)))) = (places, &self.event)
            && let Some(line) = at.place.line
        {
            hash.insert(symbol("line"), i64::from(line).into());
        }
        hash
    }

    fn add_outcome(&self, hash: &mut Hash) {
        let (key, value, event) = match &self.event {
            Some(Event::Found(key, value, _)) => (Some(key), Some(value), Some("found")),
            Some(Event::NotFound(key)) => (Some(key), None, Some("not_found")),
            Some(Event::LocationNotFound) => (None, None, Some("location_not_found")),
            Some(Event::Result(value)) => (None, Some(value), Some("result")),
            None => (None, None, None),
        };
        let branch_key = match &self.branch {
            Some(Branch::Key(key) | Branch::InvalidKey(key)) => Some(key),
            _ => None,
        };
        let event = match &self.branch {
            Some(Branch::NoModule(_)) => Some("module_not_found"),
            Some(Branch::NoModuleData(_)) => Some("module_provider_not_found"),
            _ => event,
        };
        hash.extend(key.or(branch_key).map(|key| (symbol("key"), Value::from(&**key))));
        hash.extend(value.map(|value| (symbol("value"), value.clone())));
        hash.extend(event.map(|event| (symbol("event"), symbol(event))));
    }

    /// Adds the type of the step, and the fields that belong to it.
    fn add_type(&self, hash: &mut Hash) {
        let text = |text: &str| Value::from(text);
        let (kind, fields) = match &self.branch {
            None | Some(Branch::Key(_) | Branch::MergeSource(_) | Branch::MergeInManifest(_)) => ("root", vec![]),
            Some(Branch::InvalidKey(_)) => ("invalid_key", vec![]),
            Some(Branch::NoModule(_) | Branch::NoModuleData(_)) => ("module", vec![]),
            Some(Branch::Layer(layer)) => ("data_provider", layer_fields(layer)),
            Some(Branch::Level(name)) => {
                ("data_provider", vec![("name", format!("Hierarchy entry \"{name}\"").into())])
            }
            Some(Branch::Merge(strategy, options)) => {
                let options = Some(options).filter(|options| !options.is_empty());
                let options = options.map(|options| ("options", Value::hash(options.clone())));
                ("merge", [("merge", symbol(strategy))].into_iter().chain(options).collect())
            }
            Some(Branch::Path(path, original)) => {
                ("path", vec![("original_path", text(original)), ("path", text(path))])
            }
            Some(Branch::Uri(uri, original)) => ("uri", vec![("original_uri", text(original)), ("uri", text(uri))]),
            Some(Branch::Interpolation(expression)) => {
                ("interpolate", vec![("expression", Value::String(expression.clone()))])
            }
            Some(Branch::SubKey(_)) => ("sub_key", vec![]),
            Some(Branch::Segment) => ("segment", vec![]),
            Some(Branch::Scope(name)) => ("scope", vec![("name", text(name))]),
        };
        hash.insert(symbol("type"), symbol(kind));
        hash.extend(fields.into_iter().map(|(name, value)| (symbol(name), value)));
    }
}

fn layer_fields(layer: &LayerStep) -> Vec<(&'static str, Value)> {
    let mut fields = vec![("name", Value::from(layer.name()))];
    fields.extend(layer.config.as_ref().map(|path| ("configuration_path", Value::from(&**path))));
    fields.extend(layer.module.as_ref().map(|module| ("module", Value::from(&**module))));
    fields
}

fn entries(steps: &[Step], places: Places) -> Value {
    steps.iter().map(|step| step.entry(places)).collect()
}

fn symbol(name: &str) -> Value {
    Value::Symbol(name.into())
}
