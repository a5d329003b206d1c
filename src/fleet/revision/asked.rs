//! Splits nodes by the answers of functions in Ruby for a key: most nodes whose levels differ get the same answer, so
//! one lookup is enough for all of them.

use std::collections::{BTreeSet, HashMap};

use foldhash::fast::RandomState;

use crate::fleet::levels::ResolvedLevels;
use crate::fleet::levels::class_levels::ClassLevels;
use crate::fleet::revision::Revision;
use crate::hiera::hierarchy::Level;
use crate::hiera::layer::LayerId;
use crate::hiera::{Outcome, bridged_answers};
use crate::node::{NodeId, NodeSet, Partition};

/// Numbers of classes.
type Classes = Vec<usize>;

impl Revision {
    /// Splits sets of nodes by the answers for `root` of those classes of `levels` that are `apart`. `partition` has
    /// the classes of the levels.
    pub(super) fn split_by_answers(
        &self,
        (levels, partition): (&ResolvedLevels, &Partition),
        (root, layer): (&str, &LayerId),
        apart: &[usize],
        split: &[NodeSet],
    ) -> Vec<NodeSet> {
        let present_classes: BTreeSet<usize> = match split {
            [all] if all.len() == self.fleet.len() => apart.iter().copied().collect(),
            _ => split.iter().flat_map(NodeSet::iter).map(|node| partition.class_of(node)).collect(),
        };
        let asked_classes: Classes = apart.iter().copied().filter(|class| present_classes.contains(class)).collect();
        let answers = self.answers(levels, &asked_classes, (root, layer));
        // Classes with the same answers get the number of the first of them.
        let mut numbers: Classes = (0..levels.classes.len()).collect();
        let mut firsts: HashMap<Vec<Outcome>, usize, RandomState> = HashMap::default();
        for (class, answers) in asked_classes.iter().zip(answers) {
            if let Some(answers) = answers {
                numbers[*class] = *firsts.entry(answers).or_insert(*class);
            }
        }
        let apart: BTreeSet<usize> = apart.iter().map(|class| numbers[*class]).collect();
        let apart: Classes = apart.into_iter().collect();
        let joined = partition.coarsened(&numbers, levels.classes.len());
        split.iter().flat_map(|nodes| joined.split_off(nodes, &apart)).collect()
    }

    /// Returns the answers of the functions of some classes at all of their locations; `None` if they may depend on
    /// more than the class.
    fn answers(
        &self,
        levels: &ResolvedLevels,
        classes: &[usize],
        (root, layer): (&str, &LayerId),
    ) -> Vec<Option<Vec<Outcome>>> {
        let Some(layer) = self.environment.layer_of(layer) else { return classes.iter().map(|_| None).collect() };
        let functions: Vec<Option<&Level>> = classes.iter().map(|class| levels.classes[*class].function()).collect();
        let calls: Vec<(&Level, &str)> = functions.iter().flatten().map(|level| (*level, root)).collect();
        let scope = self.fleet.scope(NodeId(0));
        let mut answers = bridged_answers(&calls, (&self.environment, layer, &scope)).into_iter();
        functions.into_iter().map(|function| function.and_then(|_| answers.next().flatten())).collect()
    }
}

impl ResolvedLevels {
    /// Returns true if some class has a function that a command or Puppet answers for.
    pub(super) fn has_functions(&self) -> bool {
        self.any_key_classes.iter().any(|class| self.classes[*class].function().is_some())
    }
}

impl ClassLevels {
    /// Returns the level if there is only one, and a command or Puppet answers for its function.
    pub(in crate::fleet) fn function(&self) -> Option<&Level> {
        let [level] = &self.part.levels.as_ref().ok()?[..] else { return None };
        level.asks_command().then_some(level)
    }
}
