//! What the service counts, and whether it is well: for Prometheus, and for whoever asks if it is ready.
//!
//! Labels are repositories, sinks and other names of the settings: no node and no key, of which there is no end.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use super::queue::{Count, Stage};

/// A number that goes up and down.
type Level = Gauge<f64, AtomicU64>;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfRepository {
    repository: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfSink {
    sink: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfDelivery {
    sink: String,
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfName {
    name: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfSchedule {
    name: String,
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfStage {
    stage: &'static str,
    /// Empty for commits that are not resolved.
    sink: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfRequest {
    method: String,
    /// As it stands in the API's description.
    route: String,
    code: u16,
}

/// What came of giving a report to a sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivered {
    /// It has it.
    Taken,
    /// It is tried again.
    Refused,
    /// It is set aside.
    Dead,
}

impl Delivered {
    const ALL: [Delivered; 3] = [Delivered::Taken, Delivered::Refused, Delivered::Dead];

    fn as_str(self) -> &'static str {
        match self {
            Delivered::Taken => "taken",
            Delivered::Refused => "refused",
            Delivered::Dead => "dead",
        }
    }
}

/// The last look of a watch, or fetch of a mirror, that went well.
#[derive(Debug)]
struct Look {
    last: Option<Instant>,
    /// How long ago it may be.
    patience: Duration,
}

impl Look {
    fn is_late(&self) -> bool {
        self.last.is_none_or(|last| last.elapsed() > self.patience)
    }
}

/// Looks by the names of repositories.
type Looks = Mutex<BTreeMap<String, Look>>;

/// The counts of a service.
pub(super) struct Meters {
    registry: Registry,
    found: Family<OfRepository, Counter>,
    looks_failed: Family<OfRepository, Counter>,
    fetches: Family<OfRepository, Counter>,
    fetches_failed: Family<OfRepository, Counter>,
    last_fetch: Family<OfRepository, Level>,
    last_look: Family<OfRepository, Level>,
    resolved: Family<OfRepository, Counter>,
    not_resolved: Family<OfRepository, Counter>,
    last_resolved: Family<OfRepository, Level>,
    resolving: Family<OfRepository, Histogram>,
    deliveries: Family<OfDelivery, Counter>,
    last_delivery: Family<OfSink, Level>,
    scheduled: Family<OfSchedule, Counter>,
    last_done: Family<OfName, Level>,
    depth: Family<OfStage, Gauge>,
    queue_failed: Counter,
    blind: Family<OfRepository, Gauge>,
    requests: Family<OfRequest, Counter>,
    /// Clients that listen to the stream of reports.
    pub(super) listeners: Gauge,
    memory: Gauge,
    looks: Looks,
    /// Those of mirrors at what they follow.
    mirrors: Looks,
    sinks: Mutex<BTreeSet<String>>,
    blind_branches: Mutex<BlindBranches>,
    /// Steps in the queue that are tried again.
    stuck: Arc<AtomicUsize>,
}

/// Why nothing can be read of a branch, by its repository and its name.
type BlindBranches = BTreeMap<(String, String), String>;

/// A step in the queue that is tried again, as long as this is held.
pub(super) struct Stuck(Arc<AtomicUsize>);

impl Drop for Stuck {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Meters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Meters")
    }
}

/// A millisecond to four minutes.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 4.0, 10))
}

impl Meters {
    /// Nothing is counted yet.
    pub(super) fn new() -> Meters {
        let mut meters = Meters {
            registry: Registry::default(),
            found: Family::default(),
            looks_failed: Family::default(),
            fetches: Family::default(),
            fetches_failed: Family::default(),
            last_fetch: Family::default(),
            last_look: Family::default(),
            resolved: Family::default(),
            not_resolved: Family::default(),
            last_resolved: Family::default(),
            resolving: Family::new_with_constructor(seconds),
            deliveries: Family::default(),
            last_delivery: Family::default(),
            scheduled: Family::default(),
            last_done: Family::default(),
            depth: Family::default(),
            queue_failed: Counter::default(),
            blind: Family::default(),
            blind_branches: Mutex::default(),
            requests: Family::default(),
            listeners: Gauge::default(),
            memory: Gauge::default(),
            looks: Mutex::default(),
            mirrors: Mutex::default(),
            sinks: Mutex::default(),
            stuck: Arc::default(),
        };
        meters.register_process();
        meters.register();
        meters
    }

    /// Under the names that all processes have.
    fn register_process(&mut self) {
        let start = Level::default();
        start.set(now());
        let help = "Start of the process, in seconds since 1970";
        self.registry.register_with_unit("process_start_time", help, Unit::Seconds, start);
        if resident().is_some() {
            let (help, memory) = ("Memory in use", self.memory.clone());
            self.registry.register_with_unit("process_resident_memory", help, Unit::Bytes, memory);
        }
    }

    fn register(&mut self) {
        let registry = self.registry.sub_registry_with_prefix("hierad");
        let info = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The program", info);
        registry.register("commits_found", "Commits that have come to watched branches", self.found.clone());
        registry.register("watch_failures", "Looks for commits that failed", self.looks_failed.clone());
        registry.register("fetches", "Times that a mirror was fetched, or should have been", self.fetches.clone());
        registry.register("fetch_failures", "Times that a mirror could not be fetched", self.fetches_failed.clone());
        let help = "The last fetch of a mirror that went well";
        registry.register_with_unit("fetch_last_success_timestamp", help, Unit::Seconds, self.last_fetch.clone());
        let help = "The last look for commits that went well";
        registry.register_with_unit("watch_last_success_timestamp", help, Unit::Seconds, self.last_look.clone());
        registry.register("jobs_resolved", "Commits that were resolved", self.resolved.clone());
        registry.register("job_failures", "Times that a commit could not be resolved", self.not_resolved.clone());
        let help = "The last commit that was resolved";
        registry.register_with_unit("jobs_last_success_timestamp", help, Unit::Seconds, self.last_resolved.clone());
        let help = "How long it took to resolve a commit, or to fail";
        registry.register_with_unit("resolve_duration", help, Unit::Seconds, self.resolving.clone());
        registry.register("deliveries", "Times that a report was given to a sink", self.deliveries.clone());
        let help = "The last report that the sink has taken";
        registry.register_with_unit("delivery_last_success_timestamp", help, Unit::Seconds, self.last_delivery.clone());
        registry.register("scheduled_runs", "Times that snapshots were written by schedule", self.scheduled.clone());
        let help = "The last snapshots that were written by schedule";
        registry.register_with_unit("scheduled_last_success_timestamp", help, Unit::Seconds, self.last_done.clone());
        registry.register("queue_items", "What is in the queue and not done", self.depth.clone());
        registry.register("queue_failures", "Times that the queue could not be used", self.queue_failed.clone());
        registry.register("blind_branches", "Branches of which no data can be read", self.blind.clone());
        registry.register("http_requests", "Requests that were answered", self.requests.clone());
        registry.register("http_stream_clients", "Clients of the stream of reports", self.listeners.clone());
    }

    /// There is such a watch, which looks at least once in each `poll`.
    pub(super) fn watch(&self, repository: &str, poll: Duration) {
        let label = of(repository);
        for family in [&self.found, &self.looks_failed, &self.resolved, &self.not_resolved] {
            drop(family.get_or_create(&label));
        }
        drop(self.resolving.get_or_create(&label));
        drop(self.blind.get_or_create(&label));
        let look = Look { last: None, patience: LATELY + 2 * poll };
        locked(&self.looks).insert(repository.to_owned(), look);
    }

    /// There is such a sink.
    pub(super) fn sink(&self, sink: &str) {
        self.sinks.lock().unwrap_or_else(PoisonError::into_inner).insert(sink.to_owned());
        for result in Delivered::ALL {
            drop(self.deliveries.get_or_create(&OfDelivery { sink: sink.to_owned(), result: result.as_str() }));
        }
    }

    /// There is such scheduled work.
    pub(super) fn scheduled(&self, name: &str) {
        for result in [true, false].map(came_of_it) {
            drop(self.scheduled.get_or_create(&OfSchedule { name: name.to_owned(), result }));
        }
    }

    /// Scheduled work was done; whether that went well.
    pub(super) fn done(&self, name: &str, is_good: bool) {
        self.scheduled.get_or_create(&OfSchedule { name: name.to_owned(), result: came_of_it(is_good) }).inc();
        if is_good {
            self.last_done.get_or_create(&OfName { name: name.to_owned() }).set(now());
        }
    }

    /// There is such a mirror, which is fetched once in each `period` if all is well. As yet it counts as up to date: until its
    /// first fetch there is no watch of it.
    pub(super) fn mirror(&self, repository: &str, period: Duration) {
        for family in [&self.fetches, &self.fetches_failed] {
            drop(family.get_or_create(&of(repository)));
        }
        let look = Look { last: Some(Instant::now()), patience: LATELY + 2 * period };
        locked(&self.mirrors).insert(repository.to_owned(), look);
    }

    /// A mirror was fetched; whether that went well.
    pub(super) fn fetched(&self, repository: &str, is_good: bool) {
        self.fetches.get_or_create(&of(repository)).inc();
        if is_good {
            self.last_fetch.get_or_create(&of(repository)).set(now());
            went_well(&self.mirrors, repository);
        } else {
            self.fetches_failed.get_or_create(&of(repository)).inc();
        }
    }

    /// A watch has looked; whether it went well.
    pub(super) fn looked(&self, repository: &str, is_good: bool) {
        if is_good {
            self.last_look.get_or_create(&of(repository)).set(now());
            went_well(&self.looks, repository);
        } else {
            self.looks_failed.get_or_create(&of(repository)).inc();
        }
    }

    /// A watch has found commits.
    pub(super) fn found(&self, repository: &str, commits: usize) {
        self.found.get_or_create(&of(repository)).inc_by(commits as u64);
    }

    /// A commit was resolved, or not.
    pub(super) fn resolved(&self, repository: &str, time: Duration, is_good: bool) {
        let label = of(repository);
        self.resolving.get_or_create(&label).observe(time.as_secs_f64());
        if is_good {
            self.resolved.get_or_create(&label).inc();
            self.last_resolved.get_or_create(&label).set(now());
        } else {
            self.not_resolved.get_or_create(&label).inc();
        }
    }

    /// Takes note of whether data of a branch can be read, or why it cannot. Returns true if it was otherwise before.
    pub(super) fn sight(&self, repository: &str, branch: &str, blind: Option<&str>) -> bool {
        let place = (repository.to_owned(), branch.to_owned());
        let mut branches = self.blind_branches();
        let was_blind = match blind {
            Some(why) => branches.insert(place, why.to_owned()).is_some(),
            None => branches.remove(&place).is_some(),
        };
        self.count_blind(repository, &branches);
        was_blind != blind.is_some()
    }

    /// Forgets branches of a repository that are not there any more.
    pub(super) fn only_branches(&self, repository: &str, is_there: impl Fn(&str) -> bool) {
        let mut branches = self.blind_branches();
        branches.retain(|(of, branch), _| of != repository || is_there(branch));
        self.count_blind(repository, &branches);
    }

    /// Returns the branches of which nothing can be read, and why.
    pub(super) fn blind(&self) -> Vec<String> {
        let branches = self.blind_branches();
        branches.iter().map(|((repository, branch), why)| format!("{branch} of {repository}: {why}")).collect()
    }

    fn blind_branches(&self) -> MutexGuard<'_, BlindBranches> {
        self.blind_branches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count_blind(&self, repository: &str, branches: &BlindBranches) {
        let count = branches.keys().filter(|(of, _)| of == repository).count();
        self.blind.get_or_create(&of(repository)).set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// A report was given to a sink.
    pub(super) fn delivered(&self, sink: &str, result: Delivered) {
        self.deliveries.get_or_create(&OfDelivery { sink: sink.to_owned(), result: result.as_str() }).inc();
        if result == Delivered::Taken {
            self.last_delivery.get_or_create(&OfSink { sink: sink.to_owned() }).set(now());
        }
    }

    /// The queue could not be used.
    pub(super) fn queue_failed(&self) {
        self.queue_failed.inc();
    }

    /// A step in the queue has failed and is tried again.
    pub(super) fn stuck(&self) -> Stuck {
        self.stuck.fetch_add(1, Ordering::Relaxed);
        Stuck(self.stuck.clone())
    }

    /// A request was answered. What is no method of the API has no label of its own.
    pub(super) fn request(&self, method: &str, route: Option<&str>, code: u16) {
        let method = if matches!(method, "GET" | "HEAD" | "POST" | "OPTIONS") { method } else { "other" };
        let (method, route) = (method.to_owned(), route.unwrap_or("none").to_owned());
        self.requests.get_or_create(&OfRequest { method, route, code }).inc();
    }

    /// What is not as it should be; nothing if all is well.
    pub(super) fn trouble(&self) -> Vec<String> {
        let late = |looks: &Looks, what: &str| {
            let looks = locked(looks);
            let (late, all) = (looks.values().filter(|look| look.is_late()).count(), looks.len());
            (late > 0).then(|| format!("{late} of {all} {what} lately"))
        };
        let watches = late(&self.looks, "watches have not looked without an error");
        let mirrors = late(&self.mirrors, "mirrors were not fetched without an error");
        let queue = (self.stuck.load(Ordering::Relaxed) > 0).then(|| "the queue cannot be used".to_owned());
        [watches, mirrors, queue].into_iter().flatten().collect()
    }

    /// All counts, with what is in the queue if that is known.
    pub(super) fn text(&self, queue: Option<&[Count]>) -> Result<String, fmt::Error> {
        // One at a time: the depth of the queue is set anew by each.
        let _looks = locked(&self.looks);
        self.depth.clear();
        if let Some(counts) = queue {
            self.nothing_waits();
            for Count { stage, sink, number } in counts {
                let label = OfStage { stage: stage.as_str(), sink: sink.clone().unwrap_or_default() };
                self.depth.get_or_create(&label).set(i64::try_from(*number).unwrap_or(i64::MAX));
            }
        }
        self.memory.set(resident().unwrap_or(0));
        let mut text = String::new();
        text::encode(&mut text, &self.registry)?;
        Ok(text)
    }

    /// What is not told otherwise is 0, so that it is there before it grows.
    fn nothing_waits(&self) {
        let none = |stage: Stage, sink: &str| {
            drop(self.depth.get_or_create(&OfStage { stage: stage.as_str(), sink: sink.to_owned() }));
        };
        none(Stage::Waiting, "");
        none(Stage::Failed, "");
        for sink in self.sinks.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            none(Stage::Undelivered, sink);
            none(Stage::Dead, sink);
        }
    }
}

fn locked(looks: &Looks) -> MutexGuard<'_, BTreeMap<String, Look>> {
    looks.lock().unwrap_or_else(PoisonError::into_inner)
}

fn went_well(looks: &Looks, repository: &str) {
    if let Some(look) = locked(looks).get_mut(repository) {
        look.last = Some(Instant::now());
    }
}

/// How long ago the last good look of a watch may be, besides what it rests between two.
const LATELY: Duration = Duration::from_secs(30);

fn came_of_it(is_good: bool) -> &'static str {
    if is_good { "done" } else { "failed" }
}

fn of(repository: &str) -> OfRepository {
    OfRepository { repository: repository.to_owned() }
}

fn now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// The bytes of memory in use, where the system tells.
fn resident() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: i64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_well_while_watches_look_and_the_queue_takes_what_it_is_given() {
        let meters = Meters::new();
        assert_eq!(meters.trouble(), [""; 0]);
        meters.watch("data", Duration::ZERO);
        assert_eq!(meters.trouble(), ["1 of 1 watches have not looked without an error lately"]);
        meters.looked("data", false);
        assert_eq!(meters.trouble().len(), 1);
        meters.looked("data", true);
        assert_eq!(meters.trouble(), [""; 0]);
        meters.looked("data", false);
        assert_eq!(meters.trouble(), [""; 0], "it may be another time");
        locked(&meters.looks).get_mut("data").unwrap().patience = Duration::ZERO;
        assert_eq!(meters.trouble().len(), 1);
        meters.looked("data", true);
        locked(&meters.looks).get_mut("data").unwrap().patience = LATELY;
        meters.mirror("data", Duration::ZERO);
        meters.fetched("data", false);
        assert_eq!(meters.trouble(), [""; 0], "it may be another time");
        locked(&meters.mirrors).get_mut("data").unwrap().patience = Duration::ZERO;
        assert_eq!(meters.trouble(), ["1 of 1 mirrors were not fetched without an error lately"]);
        locked(&meters.mirrors).get_mut("data").unwrap().patience = LATELY;
        let stuck = [meters.stuck(), meters.stuck()];
        assert_eq!(meters.trouble(), ["the queue cannot be used"]);
        drop(stuck);
        assert_eq!(meters.trouble(), [""; 0]);
    }

    #[test]
    fn names_follow_the_conventions_and_labels_have_bounds() {
        let meters = Meters::new();
        meters.watch("data", Duration::ZERO);
        meters.sink("bot");
        meters.request("BREW", None, 404);
        meters.request("BREW2", None, 404);
        let count = Count { stage: Stage::Dead, sink: Some("bot".to_owned()), number: 3 };
        let text = meters.text(Some(&[count])).unwrap();
        for line in [
            "hierad_deliveries_total{sink=\"bot\",result=\"dead\"} 0",
            "hierad_queue_items{stage=\"dead\",sink=\"bot\"} 3",
            "hierad_queue_items{stage=\"undelivered\",sink=\"bot\"} 0",
            "hierad_queue_items{stage=\"waiting\",sink=\"\"} 0",
            "hierad_http_requests_total{method=\"other\",route=\"none\",code=\"404\"} 2",
        ] {
            assert!(text.lines().any(|found| found == line), "no {line} in {text}");
        }
        assert!(!meters.text(None).unwrap().contains("hierad_queue_items{"));
        assert!(text.ends_with("# EOF\n"));
    }
}
