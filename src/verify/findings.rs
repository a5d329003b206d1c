//! The findings of a comparison with the Puppet of the machine.

use std::sync::Arc;

use serde::Serialize;

use super::compare::Answer;
use super::puppet::Reference;
use crate::puppet::Puppet;

/// The findings of a run.
#[derive(Default)]
pub struct Findings {
    /// The reference.
    pub reference: Reference,
    /// Its version.
    pub version: String,
    /// The version of its Ruby, if it reports one.
    pub ruby: Option<String>,
    /// The seed of the sample, or `None` if all was compared.
    pub seed: Option<u64>,
    /// All answers at the revision.
    pub total_answers: usize,
    /// Answers chosen for the comparison.
    pub asked: usize,
    /// Node profiles that cannot be read, or do not count.
    pub left_out: usize,
    /// Nodes that were asked about.
    pub nodes: usize,
    /// The number of distinct keys.
    pub keys: usize,
    /// Answers that were compared.
    pub answers: usize,
    /// Failures on both sides.
    pub errors: usize,
    /// The answers that hierad does not know.
    pub unknown: usize,
    /// The answers that need code of the repository, which may not run, or files that hierad does not read.
    pub code: usize,
    /// The answers that the settings declare, which Puppet does not know.
    pub declared: usize,
    /// The answers on which the two differ.
    pub disagreements: Vec<Disagreement>,
}

/// A key on a node on which the two disagree.
pub struct Disagreement {
    /// The node.
    pub node: Arc<str>,
    /// The key.
    pub key: Arc<str>,
    /// The answer of the reference.
    pub puppet: Answer,
    /// The answer of hierad.
    pub hierad: Answer,
    /// Both explanations, or `None` if there are too many disagreements.
    pub explained: Option<Explained>,
}

/// Both explanations of a lookup.
#[derive(Serialize)]
pub struct Explained {
    /// The explanation of the reference.
    pub puppet: String,
    /// The explanation of hierad.
    pub hierad: String,
}

impl Explained {
    /// Returns stand-ins for explanations that are withheld, since the lookup meets secrets.
    pub(super) fn hidden() -> Explained {
        let hidden = "not shown: the lookup meets secrets\n";
        Explained { puppet: hidden.into(), hierad: hidden.into() }
    }
}

impl Findings {
    /// Returns the name of the reference: that of OpenVox for its versions.
    pub fn name(&self) -> &'static str {
        match self.reference {
            Reference::Puppet => Puppet::of_version(&self.version).name(),
            Reference::Hiera3 => "Hiera",
        }
    }

    /// Returns the name and the version of the reference, and those of its Ruby.
    pub fn reference(&self) -> String {
        let ruby = self.ruby.as_ref().map_or_else(String::new, |ruby| format!(" on Ruby {ruby}"));
        format!("{} {}{ruby}", self.name(), self.version)
    }

    /// Counts the answers that were chosen, but lost because the profiles of their nodes were gone.
    pub fn missing(&self) -> usize {
        self.asked.saturating_sub(self.answers + self.unknown + self.code + self.declared)
    }

    /// Returns true if something was compared and nothing was left out.
    pub fn is_complete(&self) -> bool {
        self.answers > 0 && self.missing() == 0 && self.left_out == 0
    }

    /// Returns the reason why nothing was compared.
    pub fn why_nothing(&self) -> &'static str {
        match self {
            Findings { total_answers: 0, .. } => "no data file gives a value to any key",
            Findings { asked: 0, .. } => "the sample is empty",
            _ if self.missing() > 0 => "no profile could be read again",
            _ => "hierad knows none of the answers by itself",
        }
    }

    /// Counts an answer on which both agree.
    pub(super) fn count(&mut self, answer: &Answer) {
        self.answers += 1;
        self.errors += usize::from(matches!(answer, Answer::Failed(_)));
    }
}
