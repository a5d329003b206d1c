//! `hierad compare`: how the values of two nodes differ at one revision, and where each comes from.

use clap::Args;

use super::arguments::as_of::AsOf;
use super::arguments::filter::Chosen;
use super::diff::ReportOutput;
use super::lookup::unknown_node;
use super::{Global, Result};
use crate::app::{NodePair, Workspace};
use crate::diff::Diff;
use crate::pattern::Pattern;
use crate::pipeline::{Comparison, RevisionId};
use crate::report::{Between, ComparedNode};

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The revision; '.' is the checked-out files
    #[arg(value_name = "REV", default_value = "HEAD")]
    revision: String,
    /// The nodes to compare, by their names: the first, then the second; or one node, for two environments
    #[arg(long, value_name = "NAME", required = true)]
    node: Vec<String>,
    /// The environments in which to compare the one node: the first, then the second
    #[arg(long, value_name = "ENV")]
    environment: Vec<String>,
    /// Only these keys: a name, a glob or re:EXPRESSION; may be repeated
    #[arg(long, value_name = "PATTERN")]
    key: Vec<Pattern>,
    #[command(flatten)]
    as_of: AsOf,
    #[command(flatten)]
    output: ReportOutput,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result {
    let nodes = compared_nodes(arguments)?;
    let (workspace, point) = arguments.as_of.at(global, global.open()?, &arguments.revision)?;
    let progress = global.show_progress(&workspace);
    let Comparison { report, effective: _effective } = compare(global, &workspace, arguments, (nodes, point))?;
    drop(progress);
    arguments.output.write(&report, global, &workspace, false)
}

/// Returns the nodes that the flags name. Fails unless they are two.
fn compared_nodes(Arguments { node: names, environment: environments, .. }: &Arguments) -> Result<Diff<ComparedNode>> {
    let node = |name: &str, environment: Option<&str>| ComparedNode {
        name: name.into(),
        environment: environment.map(Into::into),
    };
    let nodes = match (&names[..], &environments[..]) {
        ([first, second], []) => Diff::new(node(first, None), node(second, None)),
        ([name], [first, second]) => Diff::new(node(name, Some(first)), node(name, Some(second))),
        _ => return Err("name two nodes with --node, or one node and two environments with --environment".into()),
    };
    if nodes.before == nodes.after {
        return Err(format!("both are {}: there is nothing to compare", nodes.before).into());
    }
    Ok(nodes)
}

fn compare(
    global: &Global,
    workspace: &Workspace,
    arguments: &Arguments,
    (nodes, point): (Diff<ComparedNode>, RevisionId),
) -> Result<Comparison> {
    let workspaces = nodes.as_ref().map(|node| workspace.in_environment(node.environment.as_deref()));
    let Diff { before: first, after: second } = Diff::new(workspaces.before?, workspaces.after?);
    let branch = second.branch(&arguments.revision)?;
    let report = |error: &_| global.print_profile_error(error);
    let fleet = workspace.fleet(&workspace.revisions(), branch.as_ref(), &[point], &|_| true, &report)?;
    second.unread(&fleet.known_variables()).iter().for_each(report);
    if let Some(node) = [&nodes.before, &nodes.after].into_iter().find(|node| fleet.find(&node.name).is_none()) {
        return Err(unknown_node(&node.name, &fleet));
    }
    let pair = NodePair::within(&fleet, [(&first, &*nodes.before.name), (&second, &*nodes.after.name)])?;
    let chosen = Chosen { node: Vec::new(), key: arguments.key.clone() };
    chosen.compare_nodes(&pair, point, Between::Nodes(nodes))
}
