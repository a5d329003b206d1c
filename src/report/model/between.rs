//! The two sides of a report.

use std::fmt;
use std::sync::Arc;

use crate::diff::Diff;
use crate::visible::visible;

/// The two sides that a report compares.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Between {
    /// Two revisions, on the same nodes.
    #[default]
    Revisions,
    /// Two sets of profiles of the same nodes, at one revision.
    Facts,
    /// Two nodes, or one in two environments, at one revision.
    Nodes(Diff<ComparedNode>),
}

/// A node that is compared with another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedNode {
    /// Its name.
    pub name: Arc<str>,
    /// Its environment, if that is not the one of its profile.
    pub environment: Option<Arc<str>>,
}

impl fmt::Display for ComparedNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible(&self.name))?;
        match &self.environment {
            Some(environment) => write!(f, " in {}", visible(environment)),
            None => Ok(()),
        }
    }
}

impl Diff<ComparedNode> {
    /// Returns both with the direction in which values are compared: `web01 -> web02`.
    pub(crate) fn arrow(&self) -> String {
        format!("{} -> {}", self.before, self.after)
    }
}
