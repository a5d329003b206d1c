//! Lookups that other keys cause. Many keys may refer to the same one, whose answer is then found once for many
//! nodes.

use std::collections::HashSet;

use super::{Lookup, LookupKey, PROVIDERS, SearchResult};
use crate::hiera::budget::with_stack;
use crate::hiera::interpolation::NameStack;
use crate::hiera::options::LOOKUP_OPTIONS;
use crate::hiera::sources::SharedAnswer;

impl Lookup<'_> {
    /// Does the same as [`Lookup::find`], or reuses an equal answer that was found before.
    pub(super) fn find_shared(&self, key: &str, stack: &NameStack<'_>) -> SearchResult {
        let find = || with_stack(|| self.find(key, None, stack));
        if !self.may_share(stack) {
            return find();
        }
        let budget = stack.budget();
        let mut found_here = None;
        let shared = self.sources.shared(key, &|answer| fits(answer, stack), &mut || {
            let (before, inside) = (budget.spent(), [stack.depth(), budget.nesting()]);
            let found = found_here.insert(find());
            // Earlier answers of functions affect later calls of them.
            let value = found.as_ref().ok().filter(|_| stack.function_answers().is_empty())?;
            let cost = budget.spent().minus(before);
            Some(SharedAnswer { value: value.clone(), cost, inside, roots: HashSet::default() })
        });
        match (found_here, shared) {
            (None, Some(answer)) => {
                budget.spend_cost(answer.cost)?;
                Ok(answer.value.clone())
            }
            (Some(found), _) => found,
            (None, None) => find(),
        }
    }

    /// Returns true if the answer depends only on the key, the node and the names that are being resolved.
    fn may_share(&self, stack: &NameStack<'_>) -> bool {
        // The options that Puppet finds for the keys of modules depend on those that it has found before.
        let has_modules = || !self.environment.modules.is_empty();
        let is_odd = |name: &str| name.starts_with("scope:") || name.starts_with(LOOKUP_OPTIONS);
        self.recorder.is_none()
            && !self.only_options
            && self.providers.len() == PROVIDERS.len()
            && stack.function_answers().is_empty()
            && !stack.names().any(is_odd)
            && !has_modules()
    }
}

/// Returns true if a search would find the same answer while the names of `stack` are being resolved.
fn fits(answer: &SharedAnswer, stack: &NameStack<'_>) -> bool {
    let is_apart = |name: &str| LookupKey::parse(name).is_ok_and(|key| !answer.roots.contains(&*key.root));
    let [depth, nesting] = answer.inside;
    stack.depth() <= depth
        && stack.budget().nesting() <= nesting
        && answer.cost.is_within(stack.budget().left())
        && stack.names().all(is_apart)
}
