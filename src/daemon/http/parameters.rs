//! The parameters in a request's address.

use std::str::FromStr;

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;

use super::problem::Problem;

/// The parameters that may be given several times.
const REPEATED: [&str; 6] = ["environment", "key", "node", "set", "variable", "value"];

/// The name in a path.
pub(super) struct Name(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Name, Problem> {
        let Path(name) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|error| Problem::wrong(error.body_text()))?;
        Ok(Name(name))
    }
}

/// The parameters after the question mark.
pub(super) struct Parameters(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Parameters {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Parameters, Problem> {
        let Query(parameters) = Query::try_from_uri(&parts.uri).map_err(|error| Problem::wrong(error.body_text()))?;
        Ok(Parameters(parameters))
    }
}

impl Parameters {
    /// Checks that there are no parameters except `names`, and that each is given at most once, except for those of
    /// [`REPEATED`].
    pub(super) fn only(self, names: &[&str]) -> Result<Parameters, Problem> {
        for (at, (name, _)) in self.0.iter().enumerate() {
            if !names.contains(&name.as_str()) {
                let known = if names.is_empty() { "none at all in this address".to_owned() } else { names.join(", ") };
                return Err(Problem::wrong(format!("there is no parameter '{name}', only {known}")));
            }
            if !REPEATED.contains(&name.as_str()) && self.0[..at].iter().any(|(earlier, _)| earlier == name) {
                return Err(Problem::wrong(format!("the parameter '{name}' is given twice")));
            }
        }
        Ok(self)
    }

    /// Leaves out the fields of a form that nobody filled in.
    pub(super) fn without_empty(&self) -> Parameters {
        Parameters(self.0.iter().filter(|(_, text)| !text.trim().is_empty()).cloned().collect())
    }

    /// Returns a parameter, or `None` if it is missing.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Returns a number from `range`, or `None` if the parameter is missing.
    pub(super) fn number<N>(&self, name: &str, range: (N, N)) -> Result<Option<N>, Problem>
    where
        N: FromStr + PartialOrd + std::fmt::Display,
    {
        let Some(text) = self.text(name) else { return Ok(None) };
        let (least, most) = range;
        let number = text.parse().ok().filter(|number| *number >= least && *number <= most);
        number.map(Some).ok_or_else(|| Problem::wrong(format!("'{name}' must be a number from {least} to {most}")))
    }

    /// Returns all parameters with their names.
    pub(super) fn pairs(&self) -> Vec<(&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    /// Returns all values of a parameter.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(given, _)| given == name).map(|(_, value)| value.as_str())
    }
}
