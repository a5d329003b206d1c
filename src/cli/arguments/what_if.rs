//! `--set`: other facts and variables on all nodes.

use clap::Args;

use crate::app::Workspace;
use crate::cli::{Global, Result};
use crate::node::{Assignment, NodeProfile};

/// The flags that change all nodes for one run.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct WhatIf {
    /// Another value for all nodes: `facts.os.family=Debian`, `trusted.extensions.pp_role=web`, `role=web`,
    /// `environment=test`; or `NAME:=JSON`; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<Assignment>,
}

impl WhatIf {
    /// Puts the values into a profile.
    pub(in crate::cli) fn put_into(&self, profile: &mut NodeProfile) {
        self.set.iter().for_each(|assignment| assignment.put_into(profile));
    }

    /// Opens the workspace that the flags name, with these values on all nodes.
    pub(in crate::cli) fn open(&self, global: &Global) -> Result<Workspace> {
        let mut workspace = global.open()?;
        if !self.set.is_empty() {
            let all: Vec<String> = self.set.iter().map(Assignment::to_string).collect();
            global.progress.print(&format_args!("hierad: what if: {} on all nodes", all.join(", ")));
        }
        workspace.what_if.clone_from(&self.set);
        Ok(workspace)
    }
}
