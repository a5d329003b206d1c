//! A watch that runs beside a test and collects what it is handed.

use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hierad::daemon::{BranchCheckpoint, HandlerError, WatchError, WatchOptions, each, watch};
use hierad::event::CommitEvent;
use hierad::git::{BranchPatterns, Repository};
use tokio::sync::oneshot;

/// The longest time that anything takes, unless there is a fault.
const PATIENCE: Duration = Duration::from_mins(1);

/// The events so far.
#[derive(Default)]
pub(crate) struct Collected {
    events: Mutex<Vec<CommitEvent>>,
    changed: Condvar,
}

/// A running watch.
pub(crate) struct Watching {
    collected: Arc<Collected>,
    shutdown: Option<oneshot::Sender<()>>,
    shutting_down: mpsc::Receiver<()>,
    thread: Option<JoinHandle<Result<(), WatchError>>>,
}

/// Options that only poll, often.
pub(crate) fn polling() -> WatchOptions {
    WatchOptions { poll: Duration::from_millis(15), notify: false, ..WatchOptions::default() }
}

/// Options as they are by default: notification, and a slow poll.
pub(crate) fn notified() -> WatchOptions {
    WatchOptions::default()
}

/// Options that only poll some branches.
pub(crate) fn polling_on(patterns: &[&str]) -> WatchOptions {
    WatchOptions { branches: BranchPatterns::new(patterns).unwrap(), ..polling() }
}

impl Watching {
    /// Starts a watch that only collects. What is there when this returns is known to it.
    pub(crate) fn start(repository: Repository, options: WatchOptions) -> Watching {
        Watching::with(repository, options, |_| Ok(()))
    }

    /// Starts a watch that collects what is not known.
    pub(crate) fn from(repository: Repository, known: BranchCheckpoint, options: WatchOptions) -> Watching {
        Watching::run(repository, known, options, |_| Ok(()))
    }

    /// Starts a watch that collects and then calls `handle`.
    pub(crate) fn with(
        repository: Repository,
        options: WatchOptions,
        handle: impl FnMut(&CommitEvent) -> Result<(), HandlerError> + Send + 'static,
    ) -> Watching {
        // the branches are read by the test, so that it need not know when the watch reads them
        let known = BranchCheckpoint::now(&repository).unwrap();
        Watching::run(repository, known, options, handle)
    }

    fn run(
        repository: Repository,
        known: BranchCheckpoint,
        options: WatchOptions,
        mut handle: impl FnMut(&CommitEvent) -> Result<(), HandlerError> + Send + 'static,
    ) -> Watching {
        let collected = Arc::new(Collected::default());
        let into = Arc::clone(&collected);
        let collect = move |event: CommitEvent| {
            into.events.lock().unwrap().push(event.clone());
            into.changed.notify_all();
            handle(&event)
        };
        let (shutdown, stopped) = oneshot::channel();
        let (tell, shutting_down) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(watch(repository, known, options, each(collect), async {
                let _ = stopped.await;
                let _ = tell.send(());
            }))
        });
        Watching { collected, shutdown: Some(shutdown), shutting_down, thread: Some(thread) }
    }

    /// Waits until as many commits have been handed out; all of them so far.
    pub(crate) fn wait_for(&self, count: usize) -> Vec<CommitEvent> {
        let end = Instant::now() + PATIENCE;
        let mut events = self.collected.events.lock().unwrap();
        while events.len() < count && Instant::now() < end {
            events = self.collected.changed.wait_timeout(events, Duration::from_millis(200)).unwrap().0;
        }
        assert!(events.len() >= count, "{count} commits expected, {} came: {events:#?}", events.len());
        events.clone()
    }

    /// Asks the watch to end; returns when it knows, but has not ended yet. Its thread does nothing else in between.
    pub(crate) fn shut_down(&mut self) {
        drop(self.shutdown.take());
        let _ = self.shutting_down.recv();
    }

    /// Waits for the watch to end by itself, or because it was asked to.
    pub(crate) fn ended(&mut self) -> Result<(), WatchError> {
        self.thread.take().unwrap().join().unwrap()
    }

    /// Ends the watch; all that it has handed out.
    pub(crate) fn stop(mut self) -> Vec<CommitEvent> {
        self.shut_down();
        self.ended().unwrap();
        self.collected.events.lock().unwrap().clone()
    }
}

/// An event in short: `branch kind before..after`, commits by their messages.
pub(crate) fn told(repository: &Repository, event: &CommitEvent) -> String {
    let summary = |id| repository.commit(id).map_or_else(|_| "gone".to_owned(), |commit| commit.summary);
    let before = event.before.map_or_else(|| "nothing".to_owned(), summary);
    format!("{} {} {before}..{}", event.branch, event.kind.as_str(), summary(event.after))
}
