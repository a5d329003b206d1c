//! The metrics of the daemon, for Prometheus. They live as long as the process, through reloads. Times of last
//! successes start with those that the queue knows.
//!
//! Labels are repositories, sinks and other names in the settings, never nodes or keys, of which there may be very
//! many. The counters of each name exist from the start, with the value 0.

mod exposition;
mod process;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry, Unit};

use super::progress::Step;
use super::queue::{Backlog, LastSuccesses, Stage, StageCount};
use crate::event::RepositoryName;

pub(super) use exposition::MEDIA_TYPE;

/// A gauge of seconds.
type Seconds = Gauge<f64, AtomicU64>;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RepositoryLabel {
    repository: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct SinkLabel {
    sink: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct DeliveryLabels {
    sink: String,
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ScheduleLabel {
    name: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RunLabels {
    name: String,
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ReviewLabels {
    reviews: String,
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct StageLabels {
    stage: &'static str,
    /// Empty for commits that are not resolved.
    sink: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    method: String,
    /// As written in the API's description.
    route: String,
    code: u16,
}

/// The result of an attempt to deliver a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    /// The sink has the report.
    Taken,
    /// The sink has refused the report, which will be tried again.
    Refused,
    /// The sink has refused the report, which was set aside.
    Dead,
    /// Nobody needs the report any more.
    Skipped,
}

impl Attempt {
    const ALL: [Attempt; 4] = [Attempt::Taken, Attempt::Refused, Attempt::Dead, Attempt::Skipped];

    fn as_str(self) -> &'static str {
        match self {
            Attempt::Taken => "taken",
            Attempt::Refused => "refused",
            Attempt::Dead => "dead",
            Attempt::Skipped => "skipped",
        }
    }
}

/// The result of an attempt to review a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReviewResult {
    /// The forge has the review.
    Done,
    /// Failed, and will be tried again.
    Failed,
    /// Failed, and was set aside.
    Dead,
}

impl ReviewResult {
    const ALL: [ReviewResult; 3] = [ReviewResult::Done, ReviewResult::Failed, ReviewResult::Dead];

    fn as_str(self) -> &'static str {
        match self {
            ReviewResult::Done => "done",
            ReviewResult::Failed => "failed",
            ReviewResult::Dead => "dead",
        }
    }
}

/// The names that are labels of metrics.
#[derive(Debug, Default)]
pub(super) struct Subjects {
    /// The repositories.
    pub(super) repositories: BTreeSet<RepositoryName>,
    /// The sinks.
    pub(super) sinks: BTreeSet<String>,
    /// The scheduled work.
    pub(super) schedules: BTreeSet<String>,
    /// The reviews.
    pub(super) reviews: BTreeSet<String>,
}

/// The unfinished work in the queue.
#[derive(Debug)]
pub(super) struct Unfinished {
    /// The amounts.
    pub(super) counts: Vec<StageCount>,
    /// The reports that wait for sinks.
    pub(super) undelivered: Vec<Backlog>,
}

/// The metrics of the daemon.
pub(super) struct Metrics {
    found: Family<RepositoryLabel, Counter>,
    looks_failed: Family<RepositoryLabel, Counter>,
    fetches: Family<RepositoryLabel, Counter>,
    fetches_failed: Family<RepositoryLabel, Counter>,
    last_fetch: Family<RepositoryLabel, Seconds>,
    nodes_fetched: Family<RepositoryLabel, Seconds>,
    last_look: Family<RepositoryLabel, Seconds>,
    reload_good: Gauge,
    resolved: Family<RepositoryLabel, Counter>,
    not_resolved: Family<RepositoryLabel, Counter>,
    last_resolved: Family<RepositoryLabel, Seconds>,
    resolving: Family<RepositoryLabel, Histogram>,
    deliveries: Family<DeliveryLabels, Counter>,
    last_delivery: Family<SinkLabel, Seconds>,
    scheduled: Family<RunLabels, Counter>,
    last_scheduled: Family<ScheduleLabel, Seconds>,
    reviews: Family<ReviewLabels, Counter>,
    in_progress: Family<RepositoryLabel, Seconds>,
    depth: Family<StageLabels, Gauge>,
    oldest_undelivered: Family<SinkLabel, Seconds>,
    queue_failed: Counter,
    blind: Family<RepositoryLabel, Gauge>,
    requests: Family<RequestLabels, Counter>,
    /// The clients that listen to the stream of reports.
    pub(super) listeners: Gauge,
    memory: Gauge,
    registry: Registry,
    subjects: Mutex<Subjects>,
    /// Held while the text is written, since each writing sets some of the gauges.
    writing: Mutex<()>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

/// Registers a metric under hierad's prefix.
struct Names<'a>(&'a mut Registry);

impl Names<'_> {
    fn add<M: Metric + Clone + Default>(&mut self, name: &str, help: &str) -> M {
        let metric = M::default();
        self.0.register(name, help, metric.clone());
        metric
    }

    fn add_seconds<M: Metric + Clone>(&mut self, name: &str, help: &str, metric: M) -> M {
        self.0.register_with_unit(name, help, Unit::Seconds, metric.clone());
        metric
    }

    fn add_time<L>(&mut self, name: &str, help: &str) -> Family<L, Seconds>
    where
        Family<L, Seconds>: Metric + Clone + Default,
    {
        self.add_seconds(name, help, Family::default())
    }
}

/// Makes a histogram from a millisecond to four minutes.
fn durations() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 4.0, 10))
}

impl Metrics {
    /// Makes metrics that count from 0.
    pub(super) fn new() -> Metrics {
        let mut registry = Registry::default();
        let memory = process::register(&mut registry);
        let hierad = registry.sub_registry_with_prefix("hierad");
        hierad.register("build", "The program", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        let mut names = Names(hierad);
        let resolving = Family::new_with_constructor(durations as fn() -> Histogram);
        Metrics {
            found: names.add("commits_found", "Commits that have come to watched branches"),
            looks_failed: names.add("watch_failures", "Failed looks for new commits"),
            fetches: names.add("fetches", "Times that a mirror was fetched, or should have been"),
            fetches_failed: names.add("fetch_failures", "Times that a mirror could not be fetched"),
            nodes_fetched: names
                .add_time("nodes_fetched_timestamp", "When the nodes of sources were fetched, the oldest"),
            last_fetch: names.add_time("fetch_last_success_timestamp", "The last fetch of a mirror that went well"),
            last_look: names.add_time("watch_last_success_timestamp", "The last look for commits that went well"),
            resolved: names.add("jobs_resolved", "Commits that were resolved"),
            not_resolved: names.add("job_failures", "Times that a commit could not be resolved"),
            last_resolved: names.add_time("jobs_last_success_timestamp", "The last commit that was resolved"),
            resolving: {
                let help = "How long it took to resolve a commit, or to fail";
                names.add_seconds("resolve_duration", help, resolving)
            },
            deliveries: names.add("deliveries", "Times that a report was given to a sink"),
            last_delivery: {
                names.add_time("delivery_last_success_timestamp", "The last report that the sink has taken")
            },
            scheduled: names.add("scheduled_runs", "Times that snapshots were written by schedule"),
            last_scheduled: {
                let help = "The last snapshots that were written by schedule";
                names.add_time("scheduled_last_success_timestamp", help)
            },
            reviews: names.add("reviews", "Times that a request on a forge was reviewed, or should have been"),
            in_progress: {
                let help = "For how long the commit that is being resolved has been; 0 if none is";
                names.add_time("job_in_progress", help)
            },
            depth: names.add("queue_items", "What is in the queue and not done"),
            oldest_undelivered: {
                let help = "The age of the oldest report that waits for the sink; 0 if none does";
                names.add_time("oldest_undelivered", help)
            },
            reload_good: names
                .add("last_reload_successful", "1 if the settings that count are the last ones, 0 if not"),
            queue_failed: names.add("queue_failures", "Times that the queue could not be used"),
            blind: names.add("blind_branches", "Branches of which no data can be read"),
            requests: names.add("http_requests", "Requests that were answered"),
            listeners: names.add("http_stream_clients", "Clients of the stream of reports"),
            memory,
            registry,
            subjects: Mutex::default(),
            writing: Mutex::default(),
        }
    }

    /// Adds the metrics of a watch.
    pub(super) fn add_watch(&self, repository: &RepositoryName) {
        self.subjects().repositories.insert(repository.clone());
        let label = label(repository);
        for family in [&self.found, &self.looks_failed, &self.resolved, &self.not_resolved] {
            drop(family.get_or_create(&label));
        }
        drop(self.resolving.get_or_create(&label));
        drop(self.blind.get_or_create(&label));
    }

    /// Adds the metrics of a mirror.
    pub(super) fn add_mirror(&self, repository: &RepositoryName) {
        for family in [&self.fetches, &self.fetches_failed] {
            drop(family.get_or_create(&label(repository)));
        }
    }

    /// Adds the metrics of a sink.
    pub(super) fn add_sink(&self, sink: &str) {
        self.subjects().sinks.insert(sink.to_owned());
        for attempt in Attempt::ALL {
            drop(self.deliveries.get_or_create(&DeliveryLabels { sink: sink.to_owned(), result: attempt.as_str() }));
        }
    }

    /// Adds the metrics of scheduled work.
    pub(super) fn add_schedule(&self, name: &str) {
        self.subjects().schedules.insert(name.to_owned());
        for result in [true, false].map(run_result) {
            drop(self.scheduled.get_or_create(&RunLabels { name: name.to_owned(), result }));
        }
    }

    /// Adds the metrics of reviews.
    pub(super) fn add_reviews(&self, name: &str) {
        self.subjects().reviews.insert(name.to_owned());
        for result in ReviewResult::ALL {
            drop(self.reviews.get_or_create(&review_labels(name, result)));
        }
    }

    /// Forgets all names except those in the current settings.
    pub(super) fn retain(&self, kept: &Subjects) {
        let mut subjects = self.subjects();
        for repository in subjects.repositories.difference(&kept.repositories) {
            let label = label(repository);
            for family in [&self.found, &self.looks_failed, &self.fetches, &self.fetches_failed] {
                family.remove(&label);
            }
            for family in [&self.resolved, &self.not_resolved] {
                family.remove(&label);
            }
            for family in [&self.last_fetch, &self.last_look, &self.last_resolved] {
                family.remove(&label);
            }
            self.resolving.remove(&label);
            self.nodes_fetched.remove(&label);
            self.blind.remove(&label);
        }
        for sink in subjects.sinks.difference(&kept.sinks) {
            for attempt in Attempt::ALL {
                self.deliveries.remove(&DeliveryLabels { sink: sink.clone(), result: attempt.as_str() });
            }
            self.last_delivery.remove(&SinkLabel { sink: sink.clone() });
        }
        for name in subjects.schedules.difference(&kept.schedules) {
            for result in [true, false].map(run_result) {
                self.scheduled.remove(&RunLabels { name: name.clone(), result });
            }
            self.last_scheduled.remove(&ScheduleLabel { name: name.clone() });
        }
        for name in subjects.reviews.difference(&kept.reviews) {
            for result in ReviewResult::ALL {
                self.reviews.remove(&review_labels(name, result));
            }
        }
        subjects.reviews.retain(|name| kept.reviews.contains(name));
        subjects.repositories.retain(|repository| kept.repositories.contains(repository));
        subjects.sinks.retain(|sink| kept.sinks.contains(sink));
        subjects.schedules.retain(|name| kept.schedules.contains(name));
    }

    /// Restores the times of last successes, for names that are in the settings.
    pub(super) fn restore(&self, last: LastSuccesses, subjects: &Subjects) {
        for (repository, time) in last.resolved {
            if subjects.repositories.contains(&RepositoryName::from(&*repository)) {
                self.last_resolved.get_or_create(&RepositoryLabel { repository }).set(seconds(time));
            }
        }
        for (sink, time) in last.delivered {
            if subjects.sinks.contains(&sink) {
                self.last_delivery.get_or_create(&SinkLabel { sink }).set(seconds(time));
            }
        }
        for (name, time) in last.scheduled {
            if subjects.schedules.contains(&name) {
                self.last_scheduled.get_or_create(&ScheduleLabel { name }).set(seconds(time));
            }
        }
    }

    /// Counts a run of scheduled work.
    pub(super) fn ran(&self, name: &str, is_good: bool) {
        self.scheduled.get_or_create(&RunLabels { name: name.to_owned(), result: run_result(is_good) }).inc();
        if is_good {
            self.last_scheduled.get_or_create(&ScheduleLabel { name: name.to_owned() }).set(now());
        }
    }

    /// Counts a fetch of a mirror.
    pub(super) fn fetched(&self, repository: &RepositoryName, is_good: bool) {
        let label = label(repository);
        self.fetches.get_or_create(&label).inc();
        if is_good {
            self.last_fetch.get_or_create(&label).set(now());
        } else {
            self.fetches_failed.get_or_create(&label).inc();
        }
    }

    /// Sets whether the settings in effect are the latest ones.
    pub(super) fn reloaded(&self, is_good: bool) {
        self.reload_good.set(i64::from(is_good));
    }

    /// Counts a look of a watch.
    pub(super) fn looked(&self, repository: &RepositoryName, is_good: bool) {
        let label = label(repository);
        if is_good {
            self.last_look.get_or_create(&label).set(now());
        } else {
            self.looks_failed.get_or_create(&label).inc();
        }
    }

    /// Counts commits that a watch has found.
    pub(super) fn found(&self, repository: &RepositoryName, commits: usize) {
        self.found.get_or_create(&label(repository)).inc_by(commits as u64);
    }

    /// Counts a commit that was resolved, or could not be.
    pub(super) fn resolved(&self, repository: &RepositoryName, time: Duration, is_good: bool) {
        let label = label(repository);
        self.resolving.get_or_create(&label).observe(time.as_secs_f64());
        if is_good {
            self.resolved.get_or_create(&label).inc();
            self.last_resolved.get_or_create(&label).set(now());
        } else {
            self.not_resolved.get_or_create(&label).inc();
        }
    }

    /// Sets the number of branches of a repository that cannot be read.
    pub(super) fn set_blind(&self, repository: &RepositoryName, branches: usize) {
        self.blind.get_or_create(&label(repository)).set(i64::try_from(branches).unwrap_or(i64::MAX));
    }

    /// Sets the time when the sources of the nodes of a repository were asked, in seconds since 1970.
    pub(super) fn set_nodes_fetched(&self, repository: &RepositoryName, seconds: u64) {
        #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are exact")]
        self.nodes_fetched.get_or_create(&label(repository)).set(seconds as f64);
    }

    /// Counts an attempt to deliver a report.
    pub(super) fn delivered(&self, sink: &str, attempt: Attempt) {
        self.deliveries.get_or_create(&DeliveryLabels { sink: sink.to_owned(), result: attempt.as_str() }).inc();
        if attempt == Attempt::Taken {
            self.last_delivery.get_or_create(&SinkLabel { sink: sink.to_owned() }).set(now());
        }
    }

    /// Counts an attempt to review a request.
    pub(super) fn reviewed(&self, name: &str, result: ReviewResult) {
        self.reviews.get_or_create(&review_labels(name, result)).inc();
    }

    /// Counts a failure of the queue.
    pub(super) fn queue_failed(&self) {
        self.queue_failed.inc();
    }

    /// Counts an answered request. Methods that the API does not have share one label.
    pub(super) fn request(&self, method: &str, route: Option<&str>, code: u16) {
        let method = if matches!(method, "GET" | "HEAD" | "POST" | "OPTIONS") { method } else { "other" };
        let (method, route) = (method.to_owned(), route.unwrap_or("none").to_owned());
        self.requests.get_or_create(&RequestLabels { method, route, code }).inc();
    }

    /// Returns all metrics as text, including the steps under way. Without `queue`, its gauges are left out.
    pub(super) fn text(
        &self,
        queue: Option<&Unfinished>,
        under_way: &[(Step, Duration)],
    ) -> Result<String, fmt::Error> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.set_depth(queue);
        self.set_in_progress(under_way);
        self.memory.set(process::resident().unwrap_or(0));
        exposition::written(&self.registry)
    }

    /// Sets the gauges of the queue, or removes them if it cannot be read.
    fn set_depth(&self, queue: Option<&Unfinished>) {
        self.depth.clear();
        self.oldest_undelivered.clear();
        let Some(Unfinished { counts, undelivered }) = queue else { return };
        let depth = |stage: Stage, sink: &str, number: u64| {
            let label = StageLabels { stage: stage.as_str(), sink: sink.to_owned() };
            self.depth.get_or_create(&label).set(i64::try_from(number).unwrap_or(i64::MAX));
        };
        let age = |sink: &str, age: Duration| {
            self.oldest_undelivered.get_or_create(&SinkLabel { sink: sink.to_owned() }).set(age.as_secs_f64());
        };
        depth(Stage::Waiting, "", 0);
        depth(Stage::Failed, "", 0);
        for sink in &self.subjects().sinks {
            depth(Stage::Undelivered, sink, 0);
            depth(Stage::Dead, sink, 0);
            age(sink, Duration::ZERO);
        }
        for StageCount { stage, sink, number } in counts {
            depth(*stage, sink.as_deref().unwrap_or_default(), *number);
        }
        for backlog in undelivered {
            age(&backlog.name, backlog.age);
        }
    }

    fn set_in_progress(&self, under_way: &[(Step, Duration)]) {
        self.in_progress.clear();
        for repository in &self.subjects().repositories {
            let time_of_repository = |(step, time): &(Step, Duration)| {
                Some(*time).filter(|_| matches!(step, Step::Resolve(name) if name == repository))
            };
            let longest = under_way.iter().filter_map(time_of_repository).max().unwrap_or_default();
            self.in_progress.get_or_create(&label(repository)).set(longest.as_secs_f64());
        }
    }

    fn subjects(&self) -> MutexGuard<'_, Subjects> {
        self.subjects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn run_result(is_good: bool) -> &'static str {
    if is_good { "done" } else { "failed" }
}

fn review_labels(name: &str, result: ReviewResult) -> ReviewLabels {
    ReviewLabels { reviews: name.to_owned(), result: result.as_str() }
}

fn label(repository: &RepositoryName) -> RepositoryLabel {
    RepositoryLabel { repository: repository.as_str().to_owned() }
}

fn now() -> f64 {
    seconds(SystemTime::now())
}

/// Returns the seconds since 1970.
fn seconds(time: SystemTime) -> f64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_conventions_and_labels_have_bounds() {
        let metrics = Metrics::new();
        metrics.add_watch(&"data".into());
        metrics.add_sink("bot");
        metrics.request("BREW", None, 404);
        metrics.request("BREW2", None, 404);
        let count = StageCount { stage: Stage::Dead, sink: Some("bot".to_owned()), number: 3 };
        let undelivered = vec![Backlog { name: "bot".to_owned(), number: 1, age: Duration::from_secs(90) }];
        let queue = Unfinished { counts: vec![count], undelivered };
        let text = metrics.text(Some(&queue), &[(Step::Resolve("data".into()), Duration::from_secs(5))]).unwrap();
        for line in [
            "hierad_oldest_undelivered_seconds{sink=\"bot\"} 90.0",
            "hierad_job_in_progress_seconds{repository=\"data\"} 5.0",
            "hierad_deliveries_total{sink=\"bot\",result=\"dead\"} 0",
            "hierad_queue_items{stage=\"dead\",sink=\"bot\"} 3",
            "hierad_queue_items{stage=\"undelivered\",sink=\"bot\"} 0",
            "hierad_queue_items{stage=\"waiting\",sink=\"\"} 0",
            "hierad_http_requests_total{method=\"other\",route=\"none\",code=\"404\"} 2",
        ] {
            assert!(text.lines().any(|found| found == line), "no {line} in {text}");
        }
        let text = metrics.text(None, &[]).unwrap();
        assert!(!text.contains("hierad_queue_items{") && !text.contains("hierad_oldest_undelivered_seconds{"));
        assert!(text.contains("hierad_job_in_progress_seconds{repository=\"data\"} 0.0"));
        for line in [
            "# HELP hierad_deliveries_total Times that a report was given to a sink.",
            "# TYPE hierad_deliveries_total counter",
            "# TYPE hierad_build_info gauge",
            "# TYPE hierad_resolve_duration_seconds histogram",
        ] {
            assert!(text.lines().any(|found| found == line), "no {line} in {text}");
        }
        metrics.retain(&Subjects::default());
        let text = metrics.text(None, &[]).unwrap();
        assert!(!text.contains("{repository=") && !text.contains("{sink="), "{text}");
    }
}
