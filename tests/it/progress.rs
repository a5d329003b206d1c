//! Progress: every stage is reported up to its end.

use std::sync::{Arc, Mutex};

use hierad::disclosure::Disclosure;
use hierad::disk::FileMode;
use hierad::fleet::Fleet;
use hierad::hiera::layer::EnvironmentOptions;
use hierad::inventory::files::{EnvironmentOfNodes, ProfileFiles};
use hierad::pipeline::{Pipeline, RevisionId, Revisions};
use hierad::snapshot::{Format, Manifest, Snapshots, write_folder};
use hierad::workers::{Progress, Stage, Workers};

use crate::support::Sandbox;
use crate::support::terminal::SITE;

/// All stages that began.
#[derive(Default)]
struct Stages(Mutex<Vec<Arc<Stage>>>);

impl Progress for Stages {
    fn begin(&self, stage: &Arc<Stage>) {
        self.0.lock().unwrap().push(stage.clone());
    }
}

impl Stages {
    /// Returns the stages since the last call, and the number of their steps. Each must have ended at its total.
    #[track_caller]
    fn told(&self) -> Vec<(&'static str, usize)> {
        let ended = |stage: Arc<Stage>| {
            assert_eq!(Arc::strong_count(&stage), 1, "{stage:?}");
            assert_eq!(stage.total.unwrap_or(stage.done()), stage.done(), "{stage:?}");
            (stage.what, stage.done())
        };
        std::mem::take(&mut *self.0.lock().unwrap()).into_iter().map(ended).collect()
    }
}

/// Two commits, and 101 nodes, most of them in one file.
fn site() -> Sandbox {
    let site = Sandbox::of(SITE);
    let node = |number: usize| format!("{{\"name\": \"n{number:03}\", \"variables\": {{\"role\": \"web\"}}}}\n");
    site.write("profiles/all.ndjson", (0..99).map(node).collect::<String>());
    site.write("data/common.yaml", "motd: bye\nntp: [a, b]\n");
    site.commit("second");
    site
}

#[test]
fn stages_are_reported_to_their_end() {
    let site = site();
    for threads in [1, 2, 5, 64] {
        let stages = Arc::new(Stages::default());
        let workers = Workers { progress: stages.clone(), ..Workers::of(threads) };
        let own_files = ["hierad.yaml", "profiles"].map(str::to_owned).into();
        let options = EnvironmentOptions { own_files, ..EnvironmentOptions::default() };
        let revisions = Revisions::new(Arc::new(site.open()), options, Arc::default());
        let [before, after] = ["HEAD~1", "HEAD"].map(|revision| RevisionId::Commit(site.id(revision)));
        let mentioned = revisions.referenced_variables(&[before, after], &workers);
        let data = "reading data files";
        // The one that changes, of the second.
        assert_eq!(stages.told(), [(data, 3), (data, 1)]);

        let environment = EnvironmentOfNodes::Declared("production".into());
        let files = ProfileFiles::find(&[site.root().join("profiles")], environment, workers.clone(), None).unwrap();
        let (fleet, errors) = Fleet::load(Arc::new(files), &mentioned, &|_| true);
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(stages.told(), [("reading node profiles", 101)]);

        let disclosure = Arc::new(Disclosure::shown());
        let pipeline = Pipeline::new(revisions, Arc::new(fleet), workers.clone(), disclosure.clone());
        let report = pipeline.diff(before, after, &hierad::pipeline::DiffFilter::ALL).unwrap().report;
        assert_eq!(report.changes.len(), 1);
        let hierarchies = ("resolving hierarchies", 3);
        // The level whose file changes, and the key that does, in both commits.
        let again = ("resolving hierarchies", 1);
        assert_eq!(
            stages.told(),
            [
                (data, 0),
                hierarchies,
                again,
                ("resolving keys", 2),
                ("gathering answers", 2),
                ("comparing answers", 1),
                ("tracing changes", 1)
            ]
        );

        let revision = pipeline.revision(after).unwrap();
        let effective = pipeline.effective(&revision, revision.keys.iter());
        assert_eq!(stages.told(), [(data, 0), hierarchies, ("resolving keys", 3), ("gathering answers", 3)]);

        let snapshots =
            Snapshots::new(effective, &pipeline.fleet, &pipeline.fleet.all(), Format::Json, &disclosure, &workers);
        let folder = site.beside(&format!("out{threads}"));
        write_folder(&snapshots, Manifest::new(None, 101, 3, 8), &folder, FileMode::PRIVATE, &workers).unwrap();
        assert_eq!(stages.told(), [("preparing snapshots", 3), ("writing snapshots", 101)]);
    }
}
