//! Findings about variables in paths that are not set.

use super::Resolver;
use crate::diagnostic::{Diagnostic, Subject};
use crate::hiera::config::PlacedText;
use crate::hiera::interpolation::Template;
use crate::hiera::key;
use crate::hiera::scope::{Scope, Variable};
use crate::value::Value;

/// The maximum number of characters of a path that are shown with each of its variables.
const MAX_SHOWN_CHARACTERS: usize = 500;

/// The code of these findings.
const UNDEFINED: &str = "undefined-variable";

impl Resolver<'_> {
    /// Warns about variables in `declared` that are not set.
    pub(in crate::hiera) fn warn_undefined(&mut self, declared: &PlacedText, scope: &dyn Scope) {
        let Some(template) = Template::parse(&declared.text) else { return };
        let undefined = |name: &&str| {
            let segments = key::split(name).unwrap_or_default();
            let Some((Value::String(root), segments)) = segments.split_first() else { return false };
            matches!(scope.variable_at(root, segments), Variable::Undefined { .. })
        };
        let path = shortened(&declared.text);
        for name in template.variables().filter(undefined) {
            let text = format!(
                "the variable '{name}' is undefined: '{path}' is resolved with an empty text in its \
                                place"
            );
            let warning = Diagnostic::warning(UNDEFINED, Some(declared.place.clone()), text);
            self.diagnostics.push(warning.about(Subject::Variable(name.into())));
        }
    }

    /// Returns true if a path is absolute only because the variables at its beginning are empty, and reports that.
    pub(super) fn begins_with_empty_variables(&mut self, declared: &PlacedText, path: &str) -> bool {
        let length_after_variable = |text: &str| Some(text.strip_prefix("%{")?.split_once('}')?.1.len());
        let mut rest = &*declared.text;
        while let Some(length) = length_after_variable(rest) {
            rest = &rest[rest.len() - length..];
        }
        let literal = rest.split("%{").next().unwrap_or(rest);
        if rest.len() == declared.text.len() || !literal.starts_with('/') || !path.starts_with(literal) {
            return false;
        }
        let is_reported = |diagnostic: &Diagnostic| {
            diagnostic.code == UNDEFINED && diagnostic.place.as_ref() == Some(&declared.place)
        };
        let template = Template::parse(&declared.text).filter(|_| !self.diagnostics.iter().any(is_reported));
        if let Some(name) = template.iter().flat_map(Template::variables).next() {
            let path = shortened(&declared.text);
            let text = format!("the variable '{name}' is empty: without it '{path}' is an absolute path");
            let warning = Diagnostic::warning(UNDEFINED, Some(declared.place.clone()), text);
            self.diagnostics.push(warning.about(Subject::Variable(name.into())));
        }
        true
    }
}

/// Returns a path as it is shown, cut off if it is long.
fn shortened(path: &str) -> String {
    match path.char_indices().nth(MAX_SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{} ...", &path[..end]),
        None => path.to_owned(),
    }
}
