//! hierad shows what a commit to a Puppet Hiera data repository really does to every node.
//!
//! The flow: a [`tree`] of files, from [`git`] or the [`disk`], and the facts of a [`node`] give [`hiera`] a
//! hierarchy. Lookups on all nodes give the [`fleet`]'s effective values. Two revisions of these make a [`diff`], and
//! that becomes a [`report`]; a revision's values also become [`snapshot`]s. A [`pipeline`] does all of this for two
//! commits. The [`cli`] runs it once, the [`daemon`] for each new commit, and [`delivery`] sends the reports out; a
//! [`forge`] gets the review of a pull request. The [`app`] puts the parts together for a run of the program.
//!
//! [`puppet`] is the wall around emulation: everything that must behave, byte for byte, like Ruby, its libraries and
//! Puppet's language.
//!
//! Each module may use those above it in the list below, and none below it; a test checks that.
//!
//! # A tour
//!
//! This opens a repository, loads node profiles, compares two commits, renders the snapshots of one and explains a
//! lookup.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let site = tempfile::tempdir()?;
//! # let site = site.path();
//! # let write = |name: &str, text: &str| {
//! #     let path = site.join(name);
//! #     std::fs::create_dir_all(path.parent().unwrap_or(site)).and_then(|()| std::fs::write(path, text))
//! # };
//! # let levels = "- {name: role, path: '%{role}.yaml'}\n- {name: all, path: all.yaml}\n";
//! # write("data/hiera.yaml", &format!("version: 5\nhierarchy:\n{levels}"))?;
//! # write("data/data/all.yaml", "ntp::servers: [a]\n")?;
//! # write("data/data/web.yaml", "motd: web\n")?;
//! # write("profiles/web01.yaml", "name: web01.example.com\nvariables: {role: web}\n")?;
//! # write("profiles/db01.yaml", "name: db01.example.com\nvariables: {role: db}\n")?;
//! # let scratch = hierad::git::Scratch::init(&site.join("data"))?;
//! # scratch.commit("Add data", 0)?;
//! # write("data/data/web.yaml", "motd: web\nntp::servers: [b]\n")?;
//! # scratch.commit("Give the web servers an NTP server of their own", 1)?;
//! # let (path, profiles) = (site.join("data"), site.join("profiles"));
//! use std::sync::Arc;
//!
//! use hierad::disclosure::{Disclosure, Key};
//! use hierad::fleet::Fleet;
//! use hierad::git::Repository;
//! use hierad::hiera::Outcome;
//! use hierad::hiera::explain::Recorder;
//! use hierad::hiera::layer::EnvironmentOptions;
//! use hierad::inventory::files::{EnvironmentOfNodes, ProfileFiles};
//! use hierad::pipeline::{DiffFilter, Pipeline, RevisionId, Revisions};
//! use hierad::report::writers::text;
//! use hierad::snapshot::Format;
//! use hierad::workers::Workers;
//!
//! // Open the repository and name two of its commits.
//! let repository = Arc::new(Repository::discover(&path)?);
//! let [before, after] = repository.resolve_all(["HEAD~1", "HEAD"])?.map(RevisionId::Commit);
//!
//! // Load the node profiles, with the variables that the commits refer to.
//! let workers = Workers::of(2);
//! let revisions = Revisions::new(repository, EnvironmentOptions::default(), Arc::default());
//! let variables = revisions.referenced_variables(&[before, after], &workers);
//! let environment = EnvironmentOfNodes::Declared("production".into());
//! let files = ProfileFiles::find(&[profiles], environment, workers.clone(), None)?;
//! let (fleet, errors) = Fleet::load(Arc::new(files), &variables, &|_name| true);
//! assert!(errors.is_empty());
//!
//! // Compare the commits on all nodes. Secrets would be shown as fingerprints.
//! let key = Key::random()?;
//! let disclosure = Arc::new(Disclosure::masked(move || key));
//! let pipeline = Pipeline::new(revisions, Arc::new(fleet), workers, disclosure);
//! let report = pipeline.diff(before, after, &DiffFilter::ALL)?.report;
//! assert_eq!(report.headline(), "1 key changes on 1 of 2 nodes");
//! let mut page = Vec::new();
//! text::write(&report, text::Options::default(), &mut page)?;
//!
//! // Render the snapshots of the later commit.
//! let revision = pipeline.cached_revision(after)?;
//! let rendered = pipeline.snapshots(after, &revision, &revision.keys, Format::Json);
//! let mut snapshots = Vec::new();
//! rendered.snapshots.write(&mut snapshots)?;
//!
//! // Look up one key on one node, and record why it has its value.
//! let node = pipeline.fleet.find("web01.example.com").ok_or("no such node")?;
//! let recorder = Recorder::default();
//! let outcome = revision.explain("ntp::servers", node, &recorder);
//! assert!(matches!(outcome, Outcome::Found(_)));
//! let steps = recorder.finish();
//! # assert!(String::from_utf8(page)?.contains("ntp::servers"));
//! # assert!(String::from_utf8(snapshots)?.contains("motd"));
//! # drop(steps);
//! # Ok(())
//! # }
//! ```

pub mod hex;

pub mod visible;

pub mod value;

pub mod diagnostic;

pub mod workers;

pub mod tree;

pub mod puppet;

pub mod disk;

pub mod git;

pub mod event;

pub mod pattern;

pub mod node;

pub mod hiera;

pub mod disclosure;

pub mod fleet;

pub mod diff;

pub mod report;

pub mod policy;

pub mod snapshot;

pub mod schedule;

pub mod process;

pub mod functions;

pub mod blind_spots;

pub mod causes;

pub mod pipeline;

pub mod history;

#[cfg(feature = "tables")]
pub mod tables;

pub mod checks;

pub mod delivery;

pub mod forge;

pub mod settings;

pub mod setup;

pub mod inventory;

pub mod page;

pub mod daemon;

pub mod app;

pub mod verify;

pub mod cli;
