//! Setting a repository up: what it reveals about itself, and what Puppet's own files on the machine say about its
//! nodes.
//!
//! - [`hierarchies()`] finds the files that may be the environment's hiera.yaml, the likeliest first.
//! - [`of_environments()`] tells if there are several environments.
//! - [`datadirs()`] finds the folders of the repository that correspond to a hiera.yaml's datadirs elsewhere.
//! - [`functions()`] finds the functions in Ruby that Puppet could run.
//! - [`site_pp()`] finds the manifest whose node blocks set variables that levels depend on.
//! - [`variables()`] finds the variables that a manifest looks up in the data.
//! - [`profiles()`] finds files of node profiles.
//! - [`guessed()`] guesses nodes from the names of data files.
//! - [`overlays()`] finds folders of data that are in the work tree but in no commit.
//! - [`Machine`] knows of the `PuppetDB`, the node classifier and the caches that Puppet on the machine uses.
//! - [`Found`] writes what was found as settings.
//!
//! This module decides nothing: callers report what was found and what was guessed, and ask.

mod datadirs;
mod functions;
mod guessed;
mod hierarchies;
mod machine;
mod overlays;
mod profiles;
mod site_pp;
mod variables;
mod written;

pub use datadirs::{Mapped, datadirs};
pub use functions::functions;
pub use guessed::{Guessed, guessed};
pub use hierarchies::{Hierarchy, hierarchies, hierarchy_of, of_environments};
pub use machine::Machine;
pub use overlays::overlays;
pub use profiles::{ProfilesFound, profiles};
pub use site_pp::{CallFound, SitePpFound, site_pp};
pub use variables::{VariableFound, variables};
pub use written::{Found, Functions, PuppetDbFound, Source};

/// The maximum number of comparisons of files with the paths of levels. Further ones are skipped: the result is a
/// guess.
const MAX_COMPARISONS: usize = 10_000_000;

/// The maximum number of paths of levels that are compared, and the maximum length of one.
const MAX_PATHS: usize = 1000;
const MAX_PATH_LENGTH: usize = 4096;

/// The folders whose files are for tests or examples.
const SKIPPED_FOLDERS: [&str; 7] = ["spec", "test", "tests", "fixtures", "examples", "acceptance", ".git"];
