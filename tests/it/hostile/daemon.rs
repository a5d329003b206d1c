//! A daemon that gets hostile commits among good ones, and is killed meanwhile.
//!
//! `HIERAD_SEED` sets the dice of the long run, `HIERAD_PAIRS` the number of good commits and of hostile ones (200),
//! `HIERAD_KILLS` how often the daemon is killed (20).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::generators::{self, Files};
use super::repositories::{PROFILES, SITE};
use super::{commits, setting};
use crate::daemon::service::Service;
use crate::forge::hooked::Requests;
use crate::support::random::Random;
use crate::support::terminal::{nodes_of, read};
use crate::support::work::{MEMORY, memory};
use crate::support::{Sandbox, git_command};

/// The longest time until a probe of the living daemon is answered.
const PROBE: Duration = Duration::from_secs(5);

/// The longest time without any progress.
const PATIENCE: Duration = Duration::from_mins(10);

/// The ceiling of the daemon's memory in its settings.
const CEILING: &str = "1GiB";

/// A kind of hostile commit.
#[derive(Clone, Copy)]
enum Kind {
    /// Files of a generator.
    Files { generator: usize, kind: usize },
    /// A commit of a script.
    Odd(usize),
}

impl Kind {
    fn all() -> Vec<Kind> {
        let of = |(generator, of): (usize, &generators::Generator)| {
            (0..of.kinds).map(move |kind| Kind::Files { generator, kind })
        };
        let odd = (0..commits::ALL.len()).map(Kind::Odd);
        generators::ALL.iter().enumerate().flat_map(of).chain(odd).collect()
    }

    fn name(self) -> String {
        match self {
            Kind::Files { generator, kind } => format!("{} {kind}", generators::ALL[generator].name),
            Kind::Odd(number) => commits::ALL[number].name.to_owned(),
        }
    }

    /// Returns true if the honest keys have no values in such a commit.
    fn spoils(self) -> bool {
        matches!(self, Kind::Odd(number) if commits::ALL[number].spoils)
    }
}

/// A commit on `main`.
struct Made {
    id: String,
    /// The value that a good commit gives to the key `honest_count`, or the kind of a hostile one.
    what: Result<usize, Kind>,
}

/// Somebody who makes good and hostile commits by turns.
struct Author<'s> {
    site: &'s Sandbox,
    random: Random,
    made: Vec<Made>,
}

impl Author<'_> {
    fn good(&mut self, count: usize) {
        // Files of a hostile commit may stay.
        let stays =
            matches!(self.made.last(), Some(Made { what: Err(Kind::Files { .. }), .. })) && self.random.below(2) == 0;
        let mut files = if stays { Files::new() } else { honest() };
        files.retain(|(path, _)| path != "data/common.yaml");
        files.push(("data/common.yaml".to_owned(), common(count)));
        let id = import(self.site, &files, !stays);
        self.made.push(Made { id, what: Ok(count) });
    }

    fn hostile(&mut self, kind: Kind) {
        let id = self.hostile_on("main", kind);
        self.made.push(Made { id, what: Err(kind) });
    }

    /// Makes a hostile commit on top of `main` on a branch, and returns its id.
    fn hostile_on(&mut self, branch: &str, kind: Kind) -> String {
        match kind {
            Kind::Files { generator, kind } => {
                let size = 1 + self.random.below(2);
                import_to(self.site, branch, &(generators::ALL[generator].make)(&mut self.random, kind, size))
            }
            Kind::Odd(number) => {
                let seed = self.random.next();
                let (prelude, script) = (commits::PRELUDE, commits::ALL[number].script);
                std::fs::write(self.site.beside("message0"), format!("evil: {seed}\n")).unwrap();
                let id = self.site.sh(&format!("SEED={seed}\n{prelude}\n{script}"));
                self.site.git(["update-ref", &format!("refs/heads/{branch}"), &id]);
                id
            }
        }
    }
}

/// The honest files.
fn honest() -> Files {
    let files = SITE.trim_start().split("-- ").skip(1).map(|file| file.split_once('\n').unwrap());
    files.map(|(path, content)| (path.to_owned(), content.as_bytes().to_vec())).collect()
}

fn common(count: usize) -> Vec<u8> {
    let files = honest();
    let (_, content) = files.iter().find(|(path, _)| path == "data/common.yaml").unwrap();
    [content.as_slice(), format!("honest_count: {count}\n").as_bytes()].concat()
}

/// Makes a commit on `branch`, which begins at `main`, with these files beside those of `main` and returns its id.
fn import_to(site: &Sandbox, branch: &str, files: &Files) -> String {
    let reference = format!("refs/heads/{branch}");
    fast_import(site, &reference, "from refs/heads/main^0\n", files);
    site.git(["rev-parse", &reference])
}

/// Makes a commit of `main` with these files in place of all others, or beside them, and returns its id.
fn import(site: &Sandbox, files: &Files, replaces: bool) -> String {
    if !replaces {
        return import_to(site, "main", files);
    }
    fast_import(site, "refs/import/tree", "", files);
    let id = site.git(["commit-tree", "-p", "refs/heads/main", "-m", "good", "refs/import/tree^{tree}"]);
    site.git(["update-ref", "refs/heads/main", &id]);
    site.git(["rev-parse", "refs/heads/main"])
}

fn fast_import(site: &Sandbox, reference: &str, from: &str, files: &Files) {
    let mut command = git_command(site.root());
    command.args(["fast-import", "--quiet", "--force", "--date-format=now"]);
    let mut git = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = std::io::BufWriter::new(git.stdin.take().unwrap());
    write!(input, "commit {reference}\ncommitter Ada <ada@example.com> now\ndata 0\n{from}").unwrap();
    for (path, content) in files {
        let path = path.replace('\\', "\\\\").replace('"', "\\\"");
        write!(input, "M 100644 inline \"{path}\"\ndata {}\n", content.len()).unwrap();
        input.write_all(content).unwrap();
        writeln!(input).unwrap();
    }
    drop(input);
    assert!(git.wait().unwrap().success());
}

/// The daemon, and what was seen of it.
struct Keeper<'s> {
    service: &'s Service,
    kills: usize,
    random: Random,
    is_done: &'s AtomicBool,
    /// The most memory since it was last taken, in KiB.
    most: &'s AtomicU64,
    slowest: Duration,
    probes: usize,
}

impl Keeper<'_> {
    /// Probes the daemon until all is done, and kills it so many times. Returns one that runs.
    fn keep(&mut self, mut daemon: Child) -> Child {
        let mut next = self.pause();
        while !self.is_done.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
            let ended = daemon.try_wait().unwrap();
            assert!(ended.is_none(), "the daemon has ended by itself: {ended:?}\n{}", self.log());
            self.look(&daemon);
            if self.kills > 0 && Instant::now() > next {
                daemon.kill().unwrap();
                daemon.wait().unwrap();
                self.kills -= 1;
                let starts = self.starts();
                daemon = self.service.start();
                self.service.wait("a start", || self.starts() > starts);
                next = self.pause();
            }
        }
        self.look(&daemon);
        daemon
    }

    fn pause(&mut self) -> Instant {
        Instant::now() + Duration::from_millis(50 + self.random.next() % 1500)
    }

    fn starts(&self) -> usize {
        self.service.log().matches("hierad: answering at").count()
    }

    fn log(&self) -> String {
        self.service.log().lines().rev().take(20).collect::<Vec<_>>().join("\n")
    }

    fn look(&mut self, daemon: &Child) {
        let start = Instant::now();
        self.service.get("/health/live").ok();
        self.slowest = self.slowest.max(start.elapsed());
        self.probes += 1;
        assert!(self.slowest < PROBE, "a probe took {:?}\n{}", self.slowest, self.log());
        self.most.fetch_max(memory(daemon).unwrap_or(0), Ordering::Relaxed);
    }
}

/// Has the daemon report so many good commits and hostile ones of these kinds by turns.
fn run(seed: u64, pairs: usize, kills: usize, all: &[Kind]) {
    let site = Sandbox::of(SITE);
    std::fs::write(site.beside("profiles.ndjson"), PROFILES).unwrap();
    let settings = format!("limits: {{memory: {CEILING}}}\nsnapshots: {{history: {{ref: true, branches: main}}}}\n");
    let service = Service::of(site, &settings);
    let daemon = service.start();
    service.wait("the daemon", || service.log().contains("hierad: watching"));
    let mut author = Author { site: &service.site, random: Random::new(seed), made: Vec::new() };
    let (is_done, most) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut keeper = Keeper {
        service: &service,
        kills,
        random: Random::new(seed + 1),
        is_done: &is_done,
        most: &most,
        slowest: Duration::ZERO,
        probes: 0,
    };
    let start = Instant::now();
    let daemon = std::thread::scope(|scope| {
        let keeping = scope.spawn(|| {
            let daemon = keeper.keep(daemon);
            (daemon, keeper)
        });
        let done = Done(&is_done);
        let (mut kinds, mut reports, mut peak) = (Vec::new(), Reports::default(), 0);
        for count in 1..=pairs {
            if kinds.is_empty() {
                kinds = all.to_vec();
            }
            let kind = kinds.swap_remove(author.random.below(kinds.len()));
            author.hostile(kind);
            author.good(count);
            // Some commits come together.
            if author.random.below(4) > 0 {
                let start = Instant::now();
                wait(&mut reports, &service, &author.made, &keeping);
                let memory = most.swap(0, Ordering::Relaxed);
                peak = peak.max(memory);
                eprintln!("{count}: {}, {:?}, {memory} KiB", kind.name(), start.elapsed());
            }
        }
        wait(&mut reports, &service, &author.made, &keeping);
        drop(done);
        let (daemon, keeper) = keeping.join().unwrap();
        peak = peak.max(most.load(Ordering::Relaxed));
        eprintln!(
            "{pairs} good and {pairs} hostile commits with {} kills in {:?}: {peak} KiB at most, {} probes, the slowest {:?}",
            kills - keeper.kills,
            start.elapsed(),
            keeper.probes,
            keeper.slowest
        );
        assert!(peak < MEMORY / 2, "{peak} KiB");
        daemon
    });
    service.end(daemon);
    check(&service, &author.made);
}

/// Work that is done when this goes, or has failed.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Waits until the last good commit is reported.
fn wait<T>(reports: &mut Reports, service: &Service, made: &[Made], keeping: &std::thread::ScopedJoinHandle<'_, T>) {
    let Some(Made { id, what }) = made.last() else { return };
    let end = Instant::now() + PATIENCE;
    while !reports.have(id, service) {
        let log = || service.log().lines().rev().take(30).collect::<Vec<_>>().join("\n");
        assert!(!keeping.is_finished(), "{}", log());
        assert!(Instant::now() < end, "no report of {id}, {:?}:\n{}", what.map_err(Kind::name), log());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The reports in the folder, by path, each of which is read once.
#[derive(Default)]
struct Reports(BTreeMap<PathBuf, Json>);

impl Reports {
    fn update(&mut self, service: &Service) {
        for path in service.paths() {
            self.0.entry(path).or_insert_with_key(|path| read(&std::fs::read_to_string(path).unwrap()));
        }
    }

    /// Returns true if a commit of `main` is reported.
    fn have(&mut self, id: &str, service: &Service) -> bool {
        self.update(service);
        self.of_main().any(|report| report["after"]["commit"] == id)
    }

    /// The reports of `main`, in order.
    fn of_main(&self) -> impl Iterator<Item = &Json> {
        self.0.values().filter(|report| report["branch"] == "main")
    }
}

/// Checks that all good commits are reported once and in order, and that the others are reported or set aside and told.
fn check(service: &Service, made: &[Made]) {
    let mut reports = Reports::default();
    reports.update(service);
    let reports: Vec<&Json> = reports.of_main().collect();
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    let reported: Vec<String> = reports.iter().map(|report| text(&report["after"]["commit"])).collect();
    let distinct: BTreeSet<&String> = reported.iter().collect();
    assert_eq!(reported.len(), distinct.len(), "a commit was reported twice");
    let in_order: Vec<&String> = made.iter().map(|made| &made.id).filter(|id| distinct.contains(id)).collect();
    assert_eq!(reported.iter().collect::<Vec<_>>(), in_order);
    let queue = service.site.hierad("queue list --limit 100000 --format json");
    let rows = queue.ok().lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    let rows: BTreeMap<String, Json> = rows.map(|row| (text(&row["after"]), row)).collect();
    let (mut last, mut aside, mut kinds) = (None, Vec::new(), BTreeMap::<String, usize>::new());
    let mut by_commit =
        reports.iter().map(|report| (text(&report["after"]["commit"]), *report)).collect::<BTreeMap<_, _>>();
    for Made { id, what } in made {
        match (what, by_commit.remove(id)) {
            (Ok(count), None) => panic!("the good commit {count}, {id}, is not reported: {:?}", rows.get(id)),
            (Ok(count), Some(report)) => {
                check_good(&with_all_values(service, report), *count, last.as_ref());
                let told = report["diagnostics"].to_string();
                aside.drain(..).for_each(|id: &String| assert!(told.contains(id), "{id} is not told in {report}"));
                last = Some(what);
            }
            (Err(kind), None) => {
                let row = rows.get(id).unwrap_or_else(|| panic!("{} {id} is lost", kind.name()));
                assert_eq!(row["state"], "failed", "{row}");
                *kinds.entry(format!("{}: {}", kind.name(), row["error"])).or_default() += 1;
                aside.push(id);
            }
            (Err(_), Some(_)) => last = Some(what),
        }
    }
    for (kind, count) in kinds {
        eprintln!("set aside {count} times: {kind:.300}");
    }
}

/// Returns a report, with the values of keys that it has only by the error that they shared before.
fn with_all_values<'r>(service: &Service, report: &'r Json) -> Cow<'r, Json> {
    if report["causes"].as_array().unwrap().is_empty() {
        return Cow::Borrowed(report);
    }
    let [before, after] = ["before", "after"].map(|side| report[side]["commit"].as_str().unwrap());
    let whole = service.site.hierad(&format!("diff --full --format json {before} {after}"));
    Cow::Owned(read(whole.ok()))
}

/// Checks that a report tells of the value of a good commit, whatever came before it.
fn check_good(report: &Json, count: usize, last: Option<&&Result<usize, Kind>>) {
    let changes = report["changes"].as_array().unwrap();
    let mut found = 0;
    for change in changes.iter().filter(|change| change["key"] == "honest_count") {
        assert_eq!(change["after"]["value"], count, "{change}");
        let honest = nodes_of(report, &change["nodes"]).iter().filter(|node| **node != "bad").count();
        found += honest;
        let is_spoilt = matches!(last, Some(Err(kind)) if kind.spoils());
        // The other node reads what the hostile commit made.
        if honest > 0 && count > 1 && !is_spoilt {
            assert_eq!(change["before"]["value"], count - 1, "{change}");
        }
    }
    assert_eq!(found, 2, "the nodes with honest files, in {report}");
}

#[test]
fn good_commits_among_hostile_ones_are_reported() {
    // Those that this build of the program takes seconds for are left to the long run.
    let is_light = |kind: &Kind| match kind {
        Kind::Files { generator, .. } => [0, 2, 3, 6, 9].contains(generator),
        Kind::Odd(number) => (9..commits::ALL.len()).contains(number) && !commits::ALL[*number].spoils,
    };
    run(1, 10, 1, &Kind::all().into_iter().filter(is_light).collect::<Vec<_>>());
}

#[test]
#[ignore = "needs half an hour"]
fn hundreds_of_hostile_commits_harm_no_good_one() {
    let (seed, pairs, kills) = (setting("HIERAD_SEED", 1), setting("HIERAD_PAIRS", 200), setting("HIERAD_KILLS", 20));
    assert!(Kind::all().len() >= 60);
    run(seed, usize::try_from(pairs).unwrap(), usize::try_from(kills).unwrap(), &Kind::all());
}

/// The hostile branches beside `main`.
const BRANCHES: usize = 10;

/// The most times that a good commit may take as long as one without hostile ones beside it.
const SLOWER: u32 = 10;

/// The time that a good commit is taken to need at least: the look at the references and the pauses of this test.
const LEAST: Duration = Duration::from_millis(500);

/// Has the daemon report good commits of `main` while so many hostile ones come to other branches and to a request.
/// None takes longer than `most`, which is given what one takes without them.
fn run_beside(seed: u64, hostile: usize, all: &[Kind], most: impl Fn(Duration) -> Duration) {
    let (site, requests) = Requests::of(SITE);
    std::fs::write(site.beside("profiles.ndjson"), PROFILES).unwrap();
    let reviews = requests.settings(&site);
    let service = Service::of(site, &format!("limits: {{memory: {CEILING}}}\n{reviews}"));
    let daemon = service.start();
    service.wait("the daemon", || service.log().contains("hierad: watching"));
    // It looks for the first time after that.
    service.wait("its first look", || is_ready(&service));
    let mut author = Author { site: &service.site, random: Random::new(seed), made: Vec::new() };
    let mut reports = Reports::default();
    let mut good = |author: &mut Author<'_>, count: usize| {
        let start = Instant::now();
        author.good(count);
        let id = author.made.last().unwrap().id.clone();
        while !reports.have(&id, &service) {
            assert!(start.elapsed() < PATIENCE, "no report of the good commit {count}");
            assert!(is_ready(&service), "the daemon has nothing that it cannot work with");
            std::thread::sleep(Duration::from_millis(10));
        }
        start.elapsed()
    };
    let usual = (1..=5).map(|count| good(&mut author, count)).max().unwrap().max(LEAST);
    let (mut slowest, mut log, mut peak, mut kinds) = (Duration::ZERO, String::new(), 0, Vec::new());
    for count in 0..hostile {
        if kinds.is_empty() {
            kinds = all.to_vec();
        }
        let kind = kinds.swap_remove(author.random.below(kinds.len()));
        let id = author.hostile_on(&format!("evil-{}", count % BRANCHES), kind);
        if count % 3 == 0 {
            requests.push(&service.site, &id, service.address());
        }
        if count % BRANCHES == BRANCHES - 1 {
            let before = service.log().len();
            let took = good(&mut author, 6 + count / BRANCHES);
            if took > slowest {
                (slowest, log) = (took, service.log().split_off(before));
            }
        }
        peak = peak.max(memory(&daemon).unwrap_or(0));
    }
    let disk = service.site.sh("du -sk ../state | cut -f1");
    let comments = requests.comments();
    eprintln!(
        "usual {usual:?}, beside {hostile} hostile commits {slowest:?}, {peak} KiB, {disk} KiB of state, {comments} comments"
    );
    assert!(slowest < most(usual), "{slowest:?} for {usual:?}; the log meanwhile:\n{log:.20000}");
    assert!(peak < MEMORY, "{peak} KiB");
    // A review that is to be made again makes way for other requests, and so for this good one.
    requests.push(&service.site, &author.made.last().unwrap().id, service.address());
    service.wait("the review of a request", || requests.comments() > 0);
    wait_for_hostile_ones(&service);
    tells_what_cannot_be_read(&service);
    service.end(daemon);
}

/// Returns true if the daemon says that it can work.
fn is_ready(service: &Service) -> bool {
    service.get("/health/ready").status == 200
}

/// Waits until no commit waits.
fn wait_for_hostile_ones(service: &Service) {
    let list = || service.site.hierad("queue list --limit 100000 --format json").out;
    // The review of a request whose objects its server does not send is tried again for ever, ever later.
    let is_commit = |line: &&str| line.contains("\"state\":\"waiting\"") && !line.contains("\"review\":");
    let waiting = || list().lines().filter(is_commit).count();
    let (mut left, mut end) = (waiting(), Instant::now() + PATIENCE);
    while left > 0 {
        assert!(Instant::now() < end, "{left} hostile commits still wait:\n{}\n{:.20000}", list(), service.log());
        std::thread::sleep(Duration::from_millis(100));
        let now = waiting();
        if now != left {
            (left, end) = (now, Instant::now() + PATIENCE);
        }
    }
}

/// Checks that the daemon's health has a reason if, and only if, commits were set aside or a branch cannot be read.
fn tells_what_cannot_be_read(service: &Service) {
    let tips = service.site.git(["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
    let is_unreadable = |tip: &&str| {
        let tree = git_command(service.site.root()).args(["ls-tree", "-r", &format!("refs/heads/{tip}")]).output();
        !tree.unwrap().status.success()
    };
    let unreadable: Vec<&str> = tips.lines().filter(is_unreadable).collect();
    let failed = service.site.hierad("queue list --limit 100000 --format json").out.contains("\"state\":\"failed\"");
    let health = service.get("/health/ready");
    assert_eq!(health.status, 200);
    let expected = if failed || !unreadable.is_empty() { "degraded" } else { "ready" };
    assert_eq!(health.json()["status"], expected, "{}, unreadable: {unreadable:?}, failed: {failed}", health.body);
}

#[test]
fn hostile_branches_hold_up_no_good_commit() {
    let is_light = |kind: &Kind| match kind {
        Kind::Files { generator, .. } => [0, 2, 3, 6, 9].contains(generator),
        Kind::Odd(number) => (9..commits::ALL.len()).contains(number),
    };
    run_beside(1, 20, &Kind::all().into_iter().filter(is_light).collect::<Vec<_>>(), |_| PATIENCE);
}

#[test]
#[ignore = "needs minutes"]
fn hundreds_of_hostile_commits_on_branches_hold_up_no_good_one() {
    let pairs = usize::try_from(setting("HIERAD_PAIRS", 200)).unwrap();
    run_beside(setting("HIERAD_SEED", 1), pairs, &Kind::all(), |usual| usual * SLOWER);
}
