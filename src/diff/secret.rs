//! Differences of secrets without a change of meaning: in ciphertext, or in secrecy.

use std::sync::Arc;

use super::{Change, Changes, Diff, LeafChange, LeafKind, PlacedValue, value};
use crate::hiera::Outcome;
use crate::node::NodeSet;
use crate::value::{Secrecy, Value, ValuePath};

/// A secret that was re-encrypted without a change of meaning, on all nodes that have it.
#[derive(Debug, Clone, PartialEq)]
pub struct Reencrypted {
    /// The key.
    pub key: Arc<str>,
    /// The place of the secret in the new value.
    pub path: ValuePath,
    /// The new answer of the first of the nodes.
    pub outcome: Arc<Outcome>,
    /// The nodes.
    pub nodes: NodeSet,
}

impl Changes {
    pub(super) fn add_reencrypted(&mut self, key: &Arc<str>, path: ValuePath, outcome: &Arc<Outcome>, nodes: &NodeSet) {
        let mut of_key = self.reencrypted.iter_mut().rev().take_while(|known| known.key == *key);
        match of_key.find(|known| known.path == path) {
            Some(known) => known.nodes.union_with(nodes),
            None => self.reencrypted.push(Reencrypted {
                key: key.clone(),
                path,
                outcome: outcome.clone(),
                nodes: nodes.clone(),
            }),
        }
    }
}

impl Change {
    /// Seals parts that are secret on only one side on the other side as well, so that neither side shows them.
    pub(super) fn seal(&mut self) {
        let mut sealed = self.outcome.as_ref().map(|outcome| value(outcome.as_ref()).cloned());
        for leaf in &self.leaves {
            match leaf.kind {
                LeafKind::Sealed => seal_part(leaf.part.before.as_ref(), &mut sealed.before, secrecy(leaf)),
                LeafKind::Unsealed => seal_part(leaf.part.after.as_ref(), &mut sealed.after, secrecy(leaf)),
                _ => {}
            }
        }
        if self.leaves.iter().all(|leaf| secrecy(leaf).is_none()) {
            return;
        }
        for leaf in self.leaves.iter_mut().map(Arc::make_mut) {
            read_again(leaf.part.before.as_mut(), sealed.before.as_ref());
            read_again(leaf.part.after.as_mut(), sealed.after.as_ref());
        }
        self.outcome = sealed.map(|value| value.map(|value| Arc::new(Outcome::Found(value))));
    }
}

/// Returns the secrecy that a difference adds or removes, or `None` for other differences.
fn secrecy(leaf: &LeafChange) -> Option<Secrecy> {
    let secrecy_of = |part: &Option<PlacedValue>| {
        let name = part.as_ref()?.path.secrecy();
        Secrecy::join(part.as_ref()?.value.secrecy(), name)
    };
    let Diff { before, after } = &leaf.part;
    matches!(leaf.kind, LeafKind::Sealed | LeafKind::Unsealed)
        .then(|| Secrecy::join(secrecy_of(before), secrecy_of(after)))
        .flatten()
}

/// Seals one part of `root`.
fn seal_part(part: Option<&PlacedValue>, root: &mut Option<Value>, secrecy: Option<Secrecy>) {
    if let (Some(part), Some(value)) = (part, root.as_ref()) {
        *root = Some(part.path.seal(value, secrecy));
    }
}

/// Reads the value of a part from `root` again.
fn read_again(part: Option<&mut PlacedValue>, root: Option<&Value>) {
    if let (Some(part), Some(root)) = (part, root) {
        part.value = part.path.value_in(root).cloned().unwrap_or_default();
    }
}
