//! Two builds of hierad: what each prints about random repositories or a real history, to the byte. Asks no Puppet.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use git2::Repository as Git;

use super::generator;
use super::hierad::{AS_SET, Hierad};
use super::json::Json;
use super::stage::{Layout, Outside, Subject};
use super::{Args, Fault, wolf};

/// The most differences to print.
const SHOWN: usize = 20;

/// The number of lookups to explain for each pair of commits.
const LOOKUPS: usize = 3;

/// A key of fingerprints that both builds use.
const FINGERPRINT_KEY: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Outputs that were compared, and descriptions of those that differ.
#[derive(Default)]
struct Compared {
    cases: u64,
    outputs: u64,
    different: Vec<String>,
}

/// Both builds.
struct Builds {
    former: Hierad,
    present: Hierad,
}

/// Compares all outputs of the former build with those of the present one. Returns true if none differs.
pub(crate) fn run(args: &Args, former: &Path) -> Result<bool, Fault> {
    let builds = Builds { former: Hierad::at(former)?, present: Hierad::find(args)? };
    let compared = match (&args.corpus, &args.profiles) {
        (Some(repository), Some(profiles)) => {
            let changes = wolf::changes(&Git::open(repository)?, args.commits)?;
            let outside = Outside::default();
            let subject = Subject { repository, profiles, outside: &outside };
            each(args.jobs, changes.len() as u64, |number| {
                let [before, after] = &changes[usize::try_from(number)?].range;
                builds.compare(subject, AS_SET, [before, after])
            })?
        }
        _ => each(args.jobs, args.repos, |number| builds.compare_random(args, args.seed + number))?,
    };
    compared.different.iter().take(SHOWN).for_each(|text| println!("{text}\n"));
    let Compared { cases, outputs, different } = &compared;
    println!("{cases} pairs of revisions, {outputs} outputs: {} differ", different.len());
    Ok(different.is_empty())
}

/// Runs `compare` for each number below `count`, on several threads.
fn each(jobs: usize, count: u64, compare: impl Fn(u64) -> Result<Compared, Fault> + Sync) -> Result<Compared, Fault> {
    let next = AtomicU64::new(0);
    let all = Mutex::new((Compared::default(), None));
    thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    let outcome = compare(number);
                    let mut all = all.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    match outcome {
                        Ok(compared) => {
                            all.0.cases += 1;
                            all.0.outputs += compared.outputs;
                            all.0.different.extend(compared.different);
                        }
                        Err(fault) => all.1 = Some(fault),
                    }
                }
            });
        }
    });
    let (compared, fault) = all.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    fault.map_or(Ok(compared), Err)
}

impl Builds {
    /// Compares the outputs about a random repository and some edits of it; each fourth one has a broken hiera.yaml.
    fn compare_random(&self, args: &Args, seed: u64) -> Result<Compared, Fault> {
        let first = if seed.is_multiple_of(4) { generator::generate_broken(seed) } else { args.repository(seed) };
        let second = generator::edited(&first, 0);
        let folder = tempfile::tempdir()?;
        let layout = Layout::write(&folder.path().join("one"), &[first, second], "")?;
        let mut compared =
            self.compare(layout.subject(), args.puppet.of_seed(seed), [&layout.commits[0], &layout.commits[1]])?;
        compared.different.iter_mut().for_each(|text| text.insert_str(0, &format!("seed {seed}: ")));
        Ok(compared)
    }

    fn compare(&self, subject: Subject<'_>, version: u8, [before, after]: [&str; 2]) -> Result<Compared, Fault> {
        let mut compared = Compared::default();
        let diff = |format| vec!["diff", "--format", format, "--exit-code", before, after];
        let blind = |format| vec!["diff", "--format", format, "--allow-blind", before, after];
        let full = vec!["diff", "--format", "json", "--full", "--allow-blind", "--show-secrets", before, after];
        for arguments in [
            diff("text"),
            diff("json"),
            blind("markdown"),
            full,
            vec!["check", after],
            vec!["check", "--format", "json", after],
        ] {
            self.outputs(subject, version, &arguments, &mut compared)?;
        }
        let rendered = ["render", "--format", "ndjson", "--allow-blind", after];
        let rendered = self.outputs(subject, version, &rendered, &mut compared)?;
        for (node, key) in some_keys(&rendered)? {
            for flag in ["--explain", "--explain-options"] {
                let arguments = ["lookup", flag, "--rev", after, "--node", &node, "--", &key];
                self.outputs(subject, version, &arguments, &mut compared)?;
            }
        }
        Ok(compared)
    }

    /// Runs both builds. Returns what the former one wrote to standard output.
    fn outputs(
        &self,
        subject: Subject<'_>,
        version: u8,
        arguments: &[&str],
        compared: &mut Compared,
    ) -> Result<String, Fault> {
        let outputs = [&self.former, &self.present].map(|hierad| {
            let mut command = hierad.plain_command(arguments[0], subject, version);
            output(command.arg("--no-cache").args(&arguments[1..]))
        });
        let [former, present] = outputs;
        let ([former, written], [present, _]) = (former?, present?);
        compared.outputs += 1;
        if former != present {
            let lines = former.lines().zip(present.lines()).find(|(one, other)| one != other);
            let (one, other) = lines.unwrap_or(("", "more or fewer lines"));
            compared.different.push(format!("{}\n  - {one}\n  + {other}", arguments.join(" ")));
        }
        Ok(written)
    }
}

/// Returns all that a command writes, with its exit status, and by itself its standard output.
fn output(command: &mut Command) -> Result<[String; 2], Fault> {
    let output = command.env("HIERAD_FINGERPRINT_KEY", FINGERPRINT_KEY).stdin(Stdio::null()).output()?;
    let written = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok([format!("{written}{errors}{}", output.status), written])
}

/// Some nodes and keys of a rendered fleet, evenly.
fn some_keys(rendered: &str) -> Result<Vec<(String, String)>, Fault> {
    let mut pairs = Vec::new();
    for line in rendered.lines() {
        let node = Json::read(line)?;
        let name = node.get("node").map(|name| name.text().to_owned()).unwrap_or_default();
        for kind in ["values", "errors"] {
            let keys = node.get(kind).map(Json::entries).unwrap_or_default();
            pairs.extend(keys.iter().map(|(key, _)| (name.clone(), key.clone())));
        }
    }
    let step = pairs.len().div_ceil(LOOKUPS).max(1);
    Ok(pairs.into_iter().step_by(step).collect())
}
