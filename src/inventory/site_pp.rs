//! Variables from the node blocks of a manifest, laid over the nodes of other entries.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::disk;
use crate::node::{NodeProfile, ProfileError};
use crate::puppet::manifest::{Assignment, NodeBlocks};
use crate::settings::SitePpSetting;
use crate::value::Value;

/// The node blocks of a manifest, and their place among the entries.
pub(super) struct SitePp {
    /// The number of entries before the manifest.
    pub(super) entries_before: usize,
    setting: SitePpSetting,
    text: String,
    blocks: NodeBlocks,
}

/// The maximum size, in bytes, of a manifest.
const MAX_SIZE: u64 = 8 << 20;

fn read(path: &Path) -> io::Result<String> {
    String::from_utf8(disk::read_regular(path, MAX_SIZE)?).map_err(io::Error::other)
}

impl SitePp {
    /// Reads a manifest, which must lie below `within`, if that is given.
    pub(super) fn read(
        setting: &SitePpSetting,
        within: Option<&Path>,
        entries_before: usize,
    ) -> Result<SitePp, ProfileError> {
        let failed = |text: String| ProfileError { path: setting.file.display().to_string(), line: None, text };
        if within.is_some_and(|root| setting.file.exists() && disk::real_below(root, &setting.file).is_err()) {
            return Err(failed("it leads out of the tree, whose own settings name it: it is not read".to_owned()));
        }
        let text = read(&setting.file).map_err(|error| failed(format!("cannot be read: {error}")))?;
        let blocks = NodeBlocks::parse(&text, setting.call.as_ref());
        Ok(SitePp { entries_before, setting: setting.clone(), text, blocks })
    }

    /// Returns notices about assignments that are not understood.
    pub(super) fn notices(&self) -> Vec<ProfileError> {
        let unknown =
            self.blocks.blocks().iter().flat_map(|block| &block.assignments).filter(|set| set.value.is_none());
        let notice = |set: &Assignment| ProfileError {
            path: self.setting.file.display().to_string(),
            line: Some(set.line),
            text: format!("'{}' is not understood here, so it is unknown on nodes of this block", set.name),
        };
        unknown.map(notice).collect()
    }

    /// Returns true if the manifest is unchanged since it was read.
    pub(super) fn is_current(&self) -> bool {
        read(&self.setting.file).is_ok_and(|text| text == self.text)
    }

    /// Returns the name for messages.
    pub(super) fn label(&self) -> String {
        format!("the node blocks of {}", self.setting.file.display())
    }

    /// Returns the place of a node's block, and the variables that it sets. For a node without a block, returns the
    /// manifest and all its variables, which are then unknown.
    pub(super) fn place_and_variables(&self, node: &str) -> (String, BTreeSet<&str>) {
        let path = self.setting.file.display();
        let (place, blocks) = match self.blocks.block_for(node) {
            Ok(Some(block)) => (format!("{path}:{}", block.line), std::slice::from_ref(block)),
            _ => (path.to_string(), self.blocks.blocks()),
        };
        (place, blocks.iter().flat_map(|block| &block.assignments).map(|set| &*set.name).collect())
    }

    /// Sets the variables of a node.
    pub(super) fn lay_over(&self, profile: &mut NodeProfile) {
        match self.blocks.block_for(&profile.name) {
            Ok(Some(block)) => block.assignments.iter().for_each(|set| self.set(profile, set)),
            Ok(None) => self.mark_all_unknown(profile, "no node block is the node's, so Puppet would not compile it"),
            Err(line) => self.mark_all_unknown(profile, &format!("the pattern on line {line} cannot be tried")),
        }
    }

    fn set(&self, profile: &mut NodeProfile, set: &Assignment) {
        let path = self.setting.file.display();
        let unknown = || format!("the variable '{}' is not known: {path}:{} is not understood", set.name, set.line);
        let is_of_call = self.setting.call.as_ref().is_some_and(|call| call.variable == set.name);
        let value = match &set.value {
            Some(Value::String(class)) if is_of_call => {
                Ok(class.replace("::", &self.setting.separator).as_str().into())
            }
            Some(value) => Ok(value.clone()),
            None => Err(unknown().into()),
        };
        profile.unresolved.remove(&*set.name);
        profile.set_variable(&Arc::from(&*set.name), value);
    }

    /// Marks all variables that some block sets as unknown.
    fn mark_all_unknown(&self, profile: &mut NodeProfile, reason: &str) {
        let path = self.setting.file.display();
        for set in self.blocks.blocks().iter().flat_map(|block| &block.assignments) {
            let reason = format!("the variable '{}' is not known: in {path} {reason}", set.name);
            profile.set_variable(&Arc::from(&*set.name), Err(reason.into()));
        }
    }
}
