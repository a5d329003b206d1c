//! A year of the daemon: reloads, kills, clocks that are wrong, receivers that are dead for days, branches and
//! repositories that come and go, and schedules over both changes of daylight saving time.
//!
//! `HIERAD_YEAR_COMMITS` sets the number of commits of the long test (50,000), `HIERAD_SEED` the dice.

mod clock;
mod daemon;
mod ledger;
mod plan;
mod queue;
mod team;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use clock::{Expected, HOUR, hourly, nightly, show};
use daemon::{Daemon, LOOK, listed};
use ledger::{Arrival, Ledger, RECEIVERS};
use plan::Day;
use queue::Rows;
use serde_json::Value as Json;
use team::{Site, Team};

use super::receiver::Mood;
use super::service::PROFILES;
use super::sizes::{Sizes, check, sizes};
use crate::support::git_in;
use crate::support::random::Random;

/// The repositories: two that stay, one that leaves the settings at times, and the source of a mirror.
const SITES: [&str; 4] = ["a", "b", "c", "m"];

/// The days between two looks at the sizes.
const ROUND: usize = 10;

struct Year {
    daemon: Daemon,
    team: Team,
    ledger: Ledger,
    rows: Rows,
    random: Random,
    nightly: Expected,
    hourly: Expected,
    /// The runs of both that were looked at.
    seen_runs: [usize; 2],
    today: Day,
    /// The repositories that the daemon may not have looked at since their last commits.
    unseen: Vec<&'static str>,
    /// The commits whose snapshots were never written, as their repository had left the settings.
    skipped: BTreeSet<String>,
    /// The number of the last report in the list.
    last: i64,
    figures: Figures,
}

/// Removes a folder into which a git process that has outlived its daemon may still write.
fn remove_for_good(folder: &Path) {
    let end = Instant::now() + Duration::from_secs(20);
    while let Err(error) = fs::remove_dir_all(folder) {
        assert!(Instant::now() < end, "{}: {error}", folder.display());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The number of things that have happened.
#[derive(Debug, Default)]
struct Figures {
    kills: usize,
    reloads: usize,
    wrong_clocks: usize,
    deleted_branches: usize,
    reports: usize,
}

impl Year {
    /// Begins before the first day, or returns `None` where the clock cannot be set.
    fn start(first: Day, seed: u64) -> Option<Year> {
        let mut daemon = Daemon::new()?;
        let team = Team::new(&SITES, seed);
        fs::write(daemon.path("profiles.ndjson"), PROFILES).unwrap();
        let start = first.morning - 2 * HOUR;
        daemon.clock.set(start);
        let today = Day { morning: start, commits: 0, ..first };
        daemon.settings(&lines(&team, &[]));
        daemon.start();
        let rows = Rows::open(&daemon.path("state"));
        let (nightly, hourly) = (Expected::new(nightly, start), Expected::new(hourly, start));
        let (ledger, random, figures) = (Ledger::default(), Random::new(seed), Figures::default());
        let mut year = Year {
            daemon,
            team,
            ledger,
            rows,
            random,
            nightly,
            hourly,
            seen_runs: [0; 2],
            today,
            unseen: Vec::new(),
            skipped: BTreeSet::new(),
            last: 0,
            figures,
        };
        year.settle();
        Some(year)
    }

    fn day(&mut self, day: Day) {
        self.weather(day);
        let mut left = day.commits;
        if let Some(wrong) = day.wrong {
            self.figures.wrong_clocks += 1;
            self.reload_at(day.morning + wrong);
            self.scheduled();
            self.push(day.commits / 3);
            left -= day.commits / 3;
            self.settle();
            self.harvest();
        }
        self.night(day);
        if day.is_killed {
            self.push(left / 2);
            left -= left / 2;
            std::thread::sleep(Duration::from_millis(self.random.next() % 400));
            self.kill_until(day.morning, day.loses_mirror);
        } else {
            self.reload_at(day.morning);
        }
        self.scheduled();
        self.push(left);
        self.settle();
        self.harvest();
        self.check_tips("tips", &[]);
        self.end_branches();
        self.no_more_runs();
    }

    /// Has receivers and repositories fail, and come back.
    fn weather(&mut self, day: Day) {
        let before = std::mem::replace(&mut self.today, day);
        self.unseen = if day.is_killed { SITES.to_vec() } else { [before.without, day.without].concat() };
        self.daemon.receiver.set(day.web);
        let dead = self.daemon.path("dead");
        match (before.is_told_dead, day.is_told_dead) {
            (_, true) => fs::write(dead, "").unwrap(),
            (true, false) => {
                fs::remove_file(dead).unwrap();
                self.daemon.queue("retry --all");
            }
            (false, false) => {}
        }
        let source = self.team.site("m");
        match (before.without.contains(&"m"), day.without.contains(&"m")) {
            (false, true) => fs::rename(source.root(), source.elsewhere()).unwrap(),
            (true, false) => fs::rename(source.elsewhere(), source.root()).unwrap(),
            _ => {}
        }
        self.daemon.settings(&lines(&self.team, day.without));
    }

    /// Sets the clock, and has the daemon look at it.
    fn reload_at(&mut self, time: i64) {
        self.daemon.clock.set(time);
        self.reloaded();
        self.looked();
    }

    fn reloaded(&mut self) {
        self.figures.reloads += 1;
        self.daemon.reload();
    }

    /// Kills the daemon, and starts it at this time.
    fn kill_until(&mut self, time: i64, loses_mirror: bool) {
        self.daemon.kill();
        self.figures.kills += 1;
        let gone = names(self.today.without);
        let waiting = format!(
            "SELECT after FROM delivery JOIN job ON number = job \
             WHERE sink = 'history' AND delivery.state = 'waiting' AND job.repository IN ({gone})"
        );
        self.skipped.extend(self.rows.get(&waiting).unwrap());
        if loses_mirror {
            remove_for_good(&self.daemon.path("state/mirrors/m.git"));
        }
        self.daemon.clock.set(time);
        self.daemon.start();
        self.looked();
    }

    /// The daemon has looked at the clock.
    fn looked(&mut self) {
        let now = self.daemon.clock.now();
        self.nightly.at(now);
        self.hourly.at(now);
    }

    /// Waits for the runs that are due, and checks what they have written.
    fn scheduled(&mut self) {
        let runs =
            [("nightly", "name=\"nightly\"", self.nightly.runs), ("hourly", "name=\"hourly\"", self.hourly.runs)];
        for (at, (name, words, expected)) in runs.into_iter().enumerate() {
            self.daemon.wait("scheduled work", |daemon| daemon.count(words) >= expected);
            if expected > std::mem::replace(&mut self.seen_runs[at], expected) {
                // The mirror may not have been fetched.
                self.check_tips(name, &["m"]);
            }
        }
        self.no_more_runs();
    }

    /// Checks that no run was one too many.
    fn no_more_runs(&mut self) {
        let runs = (self.daemon.count("name=\"nightly\""), self.daemon.count("name=\"hourly\""));
        let now = show(self.daemon.clock.now());
        assert_eq!(runs, (self.nightly.runs, self.hourly.runs), "runs, {now}, in {}", self.daemon.place());
    }

    /// Goes through the night in which the clocks may be changed: to a second before some times, and over them.
    fn night(&mut self, day: Day) {
        let midnight = day.morning - 10 * HOUR - 10 * 60;
        for minutes in day.night {
            let time = midnight + minutes * 60;
            // However long it takes to look at the clock.
            self.daemon.clock.stop(time - 1);
            let looks = self.daemon.count(LOOK) + 2;
            self.reloaded();
            self.daemon.wait("a look at the clock", |daemon| daemon.count(LOOK) >= looks);
            self.nightly.at(time - 1);
            self.hourly.at(time - 1);
            self.daemon.clock.set(time - 1);
            while self.daemon.clock.now() <= time {
                std::thread::sleep(Duration::from_millis(50));
            }
            self.looked();
            self.scheduled();
        }
    }

    fn push(&mut self, commits: usize) {
        // Nobody can push to a repository that is not there.
        let without: &[&str] = if self.today.without.contains(&"m") { &["m"] } else { &[] };
        self.team.push(commits, &mut self.ledger, without, &self.unseen);
    }

    /// Waits until all is done that can be.
    fn settle(&mut self) {
        let without = self.today.without;
        let mut dead = Vec::new();
        if self.today.web != Mood::Good {
            dead.push("web");
        }
        if self.today.is_told_dead {
            dead.push("told");
        }
        let branches = format!(
            "SELECT repository || ' ' || name || ' ' || tip FROM branch WHERE repository NOT IN ({}) ORDER BY 1",
            names(without)
        );
        let waiting = format!(
            "SELECT 'job ' || number FROM job WHERE state = 'waiting' AND repository NOT IN ({}) UNION ALL \
             SELECT sink || ' ' || job FROM delivery WHERE state = 'waiting' AND sink NOT IN ({}) LIMIT 1",
            names(without),
            names(&dead)
        );
        let sites = self.team.sites.iter().filter(|site| !without.contains(&site.name));
        let of_site = |site: &Site| {
            let line = |(name, live): (&String, &team::Live)| format!("{} {name} {}", site.name, live.tip);
            site.branches.iter().map(line).collect::<Vec<_>>()
        };
        let mut tips: Vec<String> = sites.flat_map(of_site).collect();
        tips.sort();
        let rows = &mut self.rows;
        self.daemon.wait("an end", |_| {
            rows.get(&branches).is_some_and(|rows| rows == tips)
                && rows.get(&waiting).is_some_and(|rows| rows.is_empty())
        });
    }

    /// Takes what has come to the receivers, and checks that nothing is missing.
    fn harvest(&mut self) {
        for path in listed(&self.daemon.path("files")) {
            let report: Json = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            self.ledger.arrived(0, Arrival::of(&report));
            self.figures.reports += 1;
            fs::remove_file(path).unwrap();
        }
        for report in self.daemon.receiver.reports() {
            self.ledger.arrived(1, Arrival::of(&report));
        }
        let told = self.daemon.path("told");
        let lines = fs::read_to_string(&told).unwrap_or_default();
        _ = fs::remove_file(told);
        lines.lines().for_each(|line| self.ledger.arrived(2, Arrival::of_line(line)));
        self.poll();
        let dead = [false, self.today.web != Mood::Good, self.today.is_told_dead, false];
        for receiver in (0..RECEIVERS.len()).filter(|at| !dead[*at]) {
            let missing = self.ledger.missing(receiver, self.today.without);
            assert!(missing.is_empty(), "{} lacks {missing:?} in {}", RECEIVERS[receiver], self.daemon.place());
        }
    }

    /// Reads the list of reports from where it was read last.
    fn poll(&mut self) {
        loop {
            let page: Json = self.daemon.get(&format!("/v1/reports?limit=1000&after={}", self.last)).json();
            let rows = page["reports"].as_array().unwrap();
            for row in rows {
                self.ledger.arrived(3, Arrival::of_row(row));
                self.last = row["number"].as_i64().unwrap();
            }
            if page["next"].is_null() {
                return;
            }
        }
    }

    /// Checks that a folder has the snapshots of the tips of the branches main, but for some.
    fn check_tips(&self, folder: &str, but: &[&'static str]) {
        let without = [self.today.without, but].concat();
        for site in self.team.sites.iter().filter(|site| !without.contains(&site.name)) {
            let read = |file: &str| -> Json {
                let path = self.daemon.path(&format!("{folder}/{}/{file}.json", site.name));
                serde_json::from_slice(&fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
                    .unwrap()
            };
            let main = &site.branches["main"];
            if main.number > 0 {
                let found = (read("manifest")["commit"].clone(), read("a")["values"]["number"].clone());
                assert_eq!(found, (main.tip.to_string().into(), main.number.into()), "{folder} of {}", site.name);
            }
        }
    }

    /// Deletes some branches whose snapshots are right.
    fn end_branches(&mut self) {
        let without = self.today.without;
        let (ledger, skipped, daemon) = (&self.ledger, &self.skipped, &self.daemon);
        let deleted = self.team.delete(without, |site, branch| check_history(ledger, skipped, daemon, site, branch));
        self.figures.deleted_branches += deleted;
        self.settle();
    }

    fn sizes(&self) -> Sizes {
        let count = |site: &Site| {
            let folder = folder(&self.daemon, site);
            if folder.exists() { git_in(&folder, ["for-each-ref", "refs/hierad"]).lines().count() } else { 0 }
        };
        let references = self.team.sites.iter().map(count).sum();
        self.rows.run(sizes(self.daemon.child(), &self.daemon.path("state"), references))
    }
}

/// A list of names for a query.
fn names(of: &[&str]) -> String {
    of.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(",")
}

/// The lines of `repositories`.
fn lines(team: &Team, without: &[&str]) -> Vec<String> {
    let line = |site: &Site| match site.name {
        "m" => format!("m: {{url: 'file://{}', fetch: 0.2}}", site.root().display()),
        name => format!("{name}: {{path: '{}'}}", site.root().display()),
    };
    team.sites.iter().filter(|site| site.name == "m" || !without.contains(&site.name)).map(line).collect()
}

/// The repository with the snapshots of a site.
fn folder(daemon: &Daemon, site: &Site) -> std::path::PathBuf {
    if site.name == "m" { daemon.path("state/mirrors/m.git") } else { site.root().to_owned() }
}

/// Checks that the snapshots of a branch are in the order of its commits and, where the repository was always there,
/// those of each of them.
fn check_history(ledger: &Ledger, skipped: &BTreeSet<String>, daemon: &Daemon, site: &Site, branch: &str) {
    let name = (site.name.to_owned(), branch.to_owned());
    let (folder, reference) = (folder(daemon, site), format!("refs/hierad/snapshots/{branch}"));
    let mut expected = ledger.commits(&name, site.branches[branch].since);
    // What waits for a repository that leaves the settings is skipped; a kill may have come behind its snapshot, and
    // before that was noted.
    expected.retain(|commit| !skipped.contains(*commit));
    let is_lost = site.name == "m" || site.name == "c" && expected.is_empty();
    if is_lost && git_in(&folder, ["for-each-ref", &reference]).is_empty() {
        // A mirror that was lost has taken them with it.
        return;
    }
    let format = "--format=%(trailers:key=Hierad-Commit,valueonly,separator=)";
    let log = git_in(&folder, ["log", "--reverse", format, &reference]);
    let mut commits: Vec<&str> = log.lines().collect();
    let places: Vec<usize> = commits.iter().map(|commit| ledger.place(&name, commit).unwrap()).collect();
    assert!(places.is_sorted_by(|a, b| a < b), "the snapshots of {name:?}: {places:?}");
    commits.retain(|commit| !skipped.contains(*commit));
    if !matches!(site.name, "c" | "m") {
        assert!(commits.ends_with(&expected), "{name:?}: {commits:?}, {expected:?}");
    }
    assert_eq!(commits.last(), expected.last(), "{name:?}");
}

/// Lives through these days. Returns the sizes after each round.
fn live(days: &[Day], seed: u64, round: usize) -> Vec<Sizes> {
    let Some(mut year) = Year::start(days[0], seed) else {
        println!("not tested: there is no C compiler");
        return Vec::new();
    };
    let (start, mut rounds) = (Instant::now(), Vec::new());
    for (at, day) in days.iter().enumerate() {
        year.day(*day);
        if (at + 1).is_multiple_of(round) {
            let sizes = year.sizes();
            let (date, count, figures) = (show(day.morning), year.team.count, &year.figures);
            let (took, repeated) = (start.elapsed().as_secs(), year.ledger.repeated);
            println!("{took} s, {date}: {count} commits, {figures:?}, {repeated} came again, {sizes:?}");
            rounds.push(sizes);
        }
    }
    // A quiet day, so that all is known everywhere.
    let last = days.last().unwrap();
    year.day(plan::quiet(last.morning / clock::DAY + 1, SITES.len()));
    for site in &year.team.sites {
        check_history(&year.ledger, &year.skipped, &year.daemon, site, "main");
    }
    assert_eq!(year.daemon.queue(""), "nothing is waiting\n");
    year.daemon.queue("check");
    year.daemon.end();
    assert!(year.daemon.errors().is_empty(), "{:#?}", year.daemon.errors());
    println!(
        "{} commits: {:?}, nightly {}, hourly {}",
        year.team.count, year.figures, year.nightly.runs, year.hourly.runs
    );
    rounds
}

#[test]
fn days_with_kills_and_wrong_clocks_lose_nothing() {
    live(&plan::days(12), 1, 1);
}

#[test]
#[ignore = "takes long"]
fn a_year_loses_and_doubles_nothing() {
    let setting = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let commits = setting("HIERAD_YEAR_COMMITS").unwrap_or(50_000);
    let seed = setting("HIERAD_SEED").unwrap_or(1);
    let rounds = live(&plan::year(usize::try_from(commits).unwrap()), seed, ROUND);
    let some = commits / 365 * 5;
    check(
        &rounds,
        &[
            ("memory in kB", 40_000),
            ("bytes of the state", 4 << 20),
            ("descriptors", 10),
            ("mappings", 60),
            ("deleted files", 4),
            ("references", 12),
            ("branch", 12),
            ("job", some),
            ("report", some),
            ("delivery", 5 * some),
            ("resolution", some),
        ],
    );
}
