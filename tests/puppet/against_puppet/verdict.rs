//! Verdicts: hierad is given less than Puppet has, and must not call a commit harmless that changes something for
//! Puppet.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::answers::{Answer, Answers};
use super::change::{self, Place};
use super::generator::Repository;
use super::hierad::Hierad;
use super::json::Json;
use super::process::NoAnswer;
use super::puppet::Puppet;
use super::shrink;
use super::stage::{Layout, Subject};
use super::world::World;
use super::{Args, Fault};

/// The most changes of one case to print, and to ask Puppet about again.
const SHOWN: usize = 5;

/// The outcome of one case.
enum Outcome {
    /// Nothing changes for Puppet, and this is what hierad says.
    Unchanged(Said),
    /// Something changes, and hierad does not deny it.
    Told(Said),
    /// Something changes on nodes that hierad does not know of, and on no other.
    Unknowable,
    /// Something changes, and hierad says that nothing does.
    FalseCalm(Vec<String>),
}

/// hierad's verdict, or that it refuses to look, with the codes of its blind spots.
struct Said {
    verdict: String,
    codes: Vec<String>,
}

impl Said {
    fn of(report: Option<&Json>) -> Said {
        let Some(report) = report else { return Said { verdict: "refused".to_owned(), codes: Vec::new() } };
        let spots = report.get("blind_spots").map(Json::items).unwrap_or_default();
        let codes = spots.iter().filter_map(|spot| spot.get("code")).map(|code| code.text().to_owned()).collect();
        Said { verdict: report.get("verdict").map(Json::text).unwrap_or_default().to_owned(), codes }
    }
}

/// The findings of all threads so far.
#[derive(Default)]
struct Found {
    cases: u64,
    /// hierad's verdicts where something changes, and where nothing does.
    verdicts: [BTreeMap<String, u64>; 2],
    /// Codes of blind spots where nothing changes.
    cries: BTreeMap<String, u64>,
    unknowable: u64,
    unanswered: Vec<u64>,
    calm: Vec<u64>,
    faults: Vec<String>,
}

impl Found {
    fn add(&mut self, seed: u64, outcome: &Outcome) {
        self.cases += 1;
        match outcome {
            Outcome::Unchanged(said) => {
                *self.verdicts[1].entry(said.verdict.clone()).or_default() += 1;
                for code in said.codes.iter().collect::<BTreeSet<_>>() {
                    *self.cries.entry(code.clone()).or_default() += 1;
                }
            }
            Outcome::Told(said) => *self.verdicts[0].entry(said.verdict.clone()).or_default() += 1,
            Outcome::Unknowable => self.unknowable += 1,
            Outcome::FalseCalm(_) => self.calm.push(seed),
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [changed, unchanged] = &self.verdicts;
        writeln!(f, "{} cases", self.cases)?;
        writeln!(f, "  something changes for Puppet, hierad says: {changed:?}")?;
        writeln!(f, "  only on nodes that hierad has no profiles of: {}", self.unknowable)?;
        writeln!(f, "  nothing changes for Puppet, hierad says: {unchanged:?}")?;
        writeln!(f, "    with blind spots: {:?}", self.cries)?;
        if !self.unanswered.is_empty() {
            writeln!(f, "  Puppet itself gives no answer: seeds {:?}", self.unanswered)?;
        }
        match self.calm.len() {
            0 => write!(f, "  no false calm"),
            count => write!(f, "  {count} false calms: seeds {:?}", self.calm),
        }
    }
}

/// Looks at the cases of all seeds; whether there is no false calm.
pub(crate) fn run(args: &Args) -> Result<bool, Fault> {
    let next = AtomicU64::new(0);
    let found = Mutex::new(Found::default());
    thread::scope(|scope| {
        for _ in 0..args.jobs.max(1) {
            scope.spawn(|| {
                if let Err(fault) = work(args, &next, &found) {
                    lock(&found).faults.push(fault.to_string());
                }
            });
        }
    });
    let found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    println!("{found}");
    match found.faults.first() {
        Some(fault) => Err(fault.clone().into()),
        None => Ok(found.calm.is_empty()),
    }
}

fn lock(found: &Mutex<Found>) -> std::sync::MutexGuard<'_, Found> {
    found.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn work(args: &Args, next: &AtomicU64, found: &Mutex<Found>) -> Result<(), Fault> {
    let mut judge = None;
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= args.repos {
            return Ok(());
        }
        let seed = args.seed + number;
        let version = args.puppet.of_seed(seed);
        let world = World::of_seed(seed);
        let judge = match &mut judge {
            Some(judge) => judge,
            none => none.insert(Judge::new(args)?),
        };
        match judge.outcome(&world, version) {
            Ok(outcome) => {
                lock(found).add(seed, &outcome);
                if let Outcome::FalseCalm(lines) = outcome {
                    let small = if args.shrink { judge.shrunk(&world, version) } else { String::new() };
                    println!("seed {seed}, Puppet {version}: {:?}\n{}\n{small}", world.misled, lines.join("\n"));
                }
            }
            Err(fault) if fault.is::<NoAnswer>() => {
                *judge = Judge::new(args)?; // a Puppet that died is no use for the next
                lock(found).unanswered.push(seed);
            }
            Err(fault) => return Err(format!("seed {seed}: {fault}").into()),
        }
    }
}

/// Both programs, and a folder to work in.
struct Judge {
    folder: tempfile::TempDir,
    puppets: Vec<(u8, Puppet)>,
    hierad: Hierad,
}

impl Judge {
    fn new(args: &Args) -> Result<Judge, Fault> {
        let puppets: Result<_, Fault> =
            args.puppet.list().iter().map(|version| Ok((*version, Puppet::start(args, *version)?))).collect();
        Ok(Judge { folder: tempfile::tempdir()?, puppets: puppets?, hierad: Hierad::find(args)? })
    }

    fn outcome(&mut self, world: &World, version: u8) -> Result<Outcome, Fault> {
        let root = self.folder.path().join("one");
        let outcome = self.outcome_in(&root, world, version);
        _ = fs::remove_dir_all(&root);
        outcome
    }

    fn outcome_in(&mut self, root: &Path, world: &World, version: u8) -> Result<Outcome, Fault> {
        let current = root.join("current");
        let layout = Layout::write(root, &world.placed(&current), "")?;
        let profiles = root.join("given");
        world.write_profiles(&profiles)?;
        let arguments = world.write_settings(&root.join("given.yaml"), &current)?;
        let range = [layout.commits[0].as_str(), layout.commits[1].as_str()];
        let subject = Subject { profiles: &profiles, ..layout.subject() };
        let said = Said::of(self.hierad.judge(subject, version, range, &arguments)?.as_ref());
        let changed = self.changed(&layout, &current, version)?;
        let lost = world.lost();
        let is_known = |(node, _): &&Place| !lost.contains(node);
        Ok(match changed.iter().find(is_known) {
            None if changed.is_empty() => Outcome::Unchanged(said),
            _ if said.verdict != "no_change" => Outcome::Told(said),
            None => Outcome::Unknowable,
            Some(_) => {
                let lines = self.confirmed(&layout, &current, version, changed.iter().filter(is_known))?;
                if lines.is_empty() { Outcome::Unchanged(said) } else { Outcome::FalseCalm(lines) }
            }
        })
    }

    /// The nodes and keys whose answers by Puppet are not the same at both commits.
    fn changed(&mut self, layout: &Layout, current: &Path, version: u8) -> Result<Vec<Place>, Fault> {
        let mut keys = BTreeSet::new();
        let mut sides: [Answers; 2] = Default::default();
        let mut asked: [BTreeSet<String>; 2] = Default::default();
        // The keys of each side are known only when it has been asked.
        for side in [0, 1, 0] {
            if side == 1 || asked[side] != keys || keys.is_empty() {
                let files = placed(layout, current, side)?;
                let told = self.puppet(version)?.ask(Subject { repository: files, ..layout.subject() }, &keys)?;
                keys.extend(told.keys.iter().cloned());
                asked[side] = told.keys;
                sides[side] = told.answers;
            }
        }
        let by_order = |place: &Place| {
            let of = |side: &Answers| side.get(&place.0).and_then(|node| node.get(&place.1)).cloned();
            sides.iter().filter_map(of).any(|answer| answer.depends_on_the_order())
        };
        let changed: BTreeSet<Place> = change::changed([&sides[0], &sides[1]]).into_iter().collect();
        Ok(changed.into_iter().filter(|place| !by_order(place)).collect())
    }

    /// Asks again about some of the changes, each by itself: answers may depend on what was looked up before. Returns
    /// those that are left, in words.
    fn confirmed<'p>(
        &mut self,
        layout: &Layout,
        current: &Path,
        version: u8,
        places: impl Iterator<Item = &'p Place>,
    ) -> Result<Vec<String>, Fault> {
        let mut lines = Vec::new();
        for place in places.take(SHOWN) {
            let mut sides: [Option<Answer>; 2] = Default::default();
            for (side, answer) in sides.iter_mut().enumerate() {
                let subject = Subject { repository: placed(layout, current, side)?, ..layout.subject() };
                let nodes = layout.nodes.iter().cloned();
                *answer = self.puppet(version)?.ask_alone(subject, nodes, (&place.0, &place.1))?;
            }
            if !change::is_unchanged(&sides) {
                lines.push(format!("  {} {:?}: {}", place.0, place.1, change::words(&sides)));
            }
        }
        Ok(lines)
    }

    fn puppet(&mut self, version: u8) -> Result<&mut Puppet, Fault> {
        let puppet = self.puppets.iter_mut().find(|(number, _)| *number == version).map(|(_, puppet)| puppet);
        puppet.ok_or_else(|| "no such Puppet".into())
    }

    /// The least of a world that still has a false calm.
    fn shrunk(&mut self, world: &World, version: u8) -> String {
        let of = |revisions: &[Repository]| World { revisions: revisions.to_vec(), misled: world.misled.clone() };
        let small = shrink::shrink(&world.revisions, |candidate| {
            matches!(self.outcome(&of(candidate), version), Ok(Outcome::FalseCalm(_)))
        });
        let left = match self.outcome(&of(&small), version) {
            Ok(Outcome::FalseCalm(lines)) => lines.join("\n"),
            _ => String::new(),
        };
        let fixtures: Vec<String> = small.iter().map(Repository::fixture).collect();
        let profiles = small.first().map(Repository::ndjson).unwrap_or_default();
        format!("shrunk:\n{left}\n{}==== profiles\n{profiles}", fixtures.join("==== then\n"))
    }
}

/// Puts the files of a commit where absolute datadirs look for them; returns where they are.
fn placed<'l>(layout: &'l Layout, current: &Path, side: usize) -> Result<&'l Path, Fault> {
    _ = fs::remove_file(current);
    symlink(&layout.files[side], current)?;
    Ok(&layout.files[side])
}
