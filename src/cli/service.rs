//! Puts the daemon with a durable queue together: its repositories, its sinks, its queue.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::{JoinHandle, spawn_blocking};

use super::archive::Archives;
use super::context::Context;
use super::place::Place;
use super::signals::{Signal, Signals};
use super::supervisor;
use super::watch::Arguments;
use super::{Global, Result, http, log};
use crate::daemon::http::Listener;
use crate::daemon::queue::Queue;
use crate::daemon::service::{Service, Services};
use crate::daemon::{CATCH_UP, Known, WatchOptions};
use crate::delivery::{Filter, Sink, Stream, Target};
use crate::git::BranchPatterns;
use crate::settings::{STDOUT, Settings};

/// The folder of the daemon's state in the git directory, if the settings name no other.
const STATE: &str = "hierad/daemon";

/// What a daemon with a durable queue is made of.
#[derive(Clone)]
pub(super) struct Plan {
    settings: Settings,
    state: PathBuf,
    repositories: Vec<Place>,
}

/// A service that could begin.
struct Prepared {
    service: Service,
    banners: Vec<String>,
    log_format: log::Format,
    /// Where it listens.
    listener: Option<Listener>,
}

/// The folder of the daemon's state: that of the flag, of the settings, or the one in the git directory.
pub(super) fn state_folder(global: &Global, flag: Option<&Path>) -> Result<PathBuf> {
    if let Some(folder) = flag {
        return Ok(folder.to_owned());
    }
    let settings = global.config().map(Settings::load).transpose()?;
    if let Some(folder) = settings.and_then(|settings| settings.state) {
        return Ok(folder);
    }
    let context = Context::open(global)?;
    Ok(context.settings.state.clone().unwrap_or_else(|| context.repository.common_dir().join(STATE)))
}

impl Plan {
    /// The plan that settings of several repositories make.
    pub(super) fn of_settings(global: &Global, arguments: &Arguments) -> Result<Option<Plan>> {
        let settings = global.config().map(Settings::load).transpose()?;
        let Some(settings) = settings.filter(|settings| !settings.repositories.is_empty()) else { return Ok(None) };
        let Some(state) = arguments.state.clone().or_else(|| settings.state.clone()) else {
            return Err(
                "settings with 'repositories' need 'state', the folder that the daemon keeps its queue in".into()
            );
        };
        if arguments.since.is_some() || !arguments.branch.is_empty() || global.repo.is_some() {
            return Err(
                "settings with 'repositories' say what is watched: --repo, --branch and --since do not go with them"
                    .into(),
            );
        }
        let settings = http::listening(settings, arguments.listen)?;
        let repositories = settings.repositories.iter().map(|setting| Place::new(setting, global, &state));
        let repositories = repositories.collect::<Result<_>>()?;
        Ok(Some(Plan { settings, state, repositories }))
    }

    /// The plan for the repository at hand, if a durable queue is wanted: sinks need one.
    pub(super) fn of_repository(context: &Context, global: &Global, arguments: &Arguments) -> Result<Option<Plan>> {
        let settings = http::listening(context.settings.clone(), arguments.listen)?;
        let is_wanted = settings.state.is_some()
            || !settings.sinks.is_empty()
            || !settings.snapshots.is_empty()
            || settings.http.is_some();
        if arguments.state.is_none() && !is_wanted {
            return Ok(None);
        }
        let name = context.repository.name();
        let patterns = if arguments.branch.is_empty() { &settings.branches } else { &arguments.branch };
        let place = Place::at_hand(name, global, patterns);
        let state = state_folder(global, arguments.state.as_deref())?;
        Ok(Some(Plan { settings, state, repositories: vec![place] }))
    }

    /// The plan that the settings make now: the same repository, or those that they name.
    fn again(&self, global: &Global, arguments: &Arguments) -> Result<Plan> {
        let plan = match Plan::of_settings(global, arguments)? {
            Some(plan) => plan,
            None => Plan::of_repository(&Context::open(global)?, global, arguments)?
                .ok_or("there is no durable queue in the settings any more")?,
        };
        if plan.state != self.state {
            return Err("the folder of the queue cannot be changed while the daemon runs".into());
        }
        Ok(plan)
    }

    /// Sees whether it could be carried out; what there is.
    pub(super) async fn check(self, arguments: &Arguments) -> Result<String> {
        let sinks = sinks(&self.settings)?;
        for sink in &sinks {
            sink.check().map_err(|error| format!("sink '{}': {error}", sink.name))?;
        }
        let sinks = sinks.len();
        http::options(&self.settings)?;
        for place in &self.repositories {
            place.check(arguments, &self.settings.snapshots)?;
        }
        Queue::examine(&self.state).await?;
        let (repositories, snapshots) = (self.repositories.len(), self.settings.snapshots.len());
        let state = self.state.display();
        Ok(format!("repositories: {repositories}, sinks: {sinks}, snapshots: {snapshots}, state in {state}"))
    }

    /// Makes a service of it, which goes on listening where another one does.
    async fn prepare(self, queue: &Queue, arguments: &Arguments, listener: Option<Listener>) -> Result<Prepared> {
        let mut http = http::server(&self.settings, listener)?;
        let mut sinks = sinks(&self.settings)?;
        if !self.settings.snapshots.is_empty() && self.repositories.iter().any(|place| place.global.show_secrets) {
            return Err("git keeps what was committed once: --show-secrets does not go with 'snapshots'".into());
        }
        let (mut repositories, mut banners, mut archives) = (Vec::new(), Vec::new(), Archives::default());
        let is_needed = self.repositories.len() == 1;
        for place in self.repositories {
            let (watched, banner, slot) = place.watched(queue, arguments, is_needed).await?;
            if let Some((server, _)) = &mut http {
                server.add(&watched.name, Arc::new(slot.clone()));
            }
            archives.add(&watched.name, slot);
            repositories.push(watched);
            banners.extend(banner);
        }
        let mut scheduled = Vec::new();
        for setting in &self.settings.snapshots {
            match setting.schedule.clone() {
                Some(schedule) => scheduled.push(archives.scheduled(setting, schedule)),
                None => sinks.push(archives.sink(setting)),
            }
        }
        let (http, listener) = http.unzip();
        banners.extend(listener.as_ref().map(|listener| format!("answering at http://{}", listener.address())));
        let (queue, keep, log_format) = (queue.clone(), self.settings.keep_reports, arguments.log_format);
        Ok(Prepared {
            service: Service { queue, repositories, sinks, scheduled, keep, http },
            banners,
            log_format,
            listener,
        })
    }

    /// The service that the settings make now. To read all again may take long: it is done on a thread of its own.
    fn next(
        self,
        queue: Queue,
        global: &Global,
        arguments: &Arguments,
        listener: Option<Listener>,
    ) -> JoinHandle<Result<Prepared>> {
        let (global, arguments, runtime) = (global.clone(), arguments.clone(), Handle::current());
        spawn_blocking(move || {
            let plan = self.again(&global, &arguments)?;
            runtime.block_on(async {
                // The connection that is there does not show whether the folder still is.
                Queue::open(&plan.state).await?.close().await;
                plan.prepare(&queue, &arguments, listener).await
            })
        })
    }

    /// Works until the process is told to end.
    pub(super) async fn run(self, global: &Global, arguments: &Arguments) -> Result<()> {
        let (queue, _lock) = Queue::create(&self.state).await?;
        let mut signals = Signals::new()?;
        let alive = tokio::spawn(supervisor::alive());
        let mut services = Services::default();
        let prepared = self.clone().prepare(&queue, arguments, None).await?;
        let mut listener = prepared.begin(&mut services).await?;
        let mut next = None;
        loop {
            tokio::select! {
                () = services.failed() => break,
                prepared = ready(&mut next) => {
                    let begun = match prepared {
                        Ok(prepared) => prepared.begin(&mut services).await,
                        Err(error) => Err(error),
                    };
                    match begun {
                        Ok(listens) => {
                            listener = listens;
                            tracing::info!("reloaded");
                        }
                        Err(error) => {
                            tracing::error!(%error, "cannot reload: the old settings stay");
                            supervisor::ready();
                        }
                    }
                }
                signal = signals.next() => match signal {
                    Signal::End => {
                        supervisor::ends();
                        break;
                    }
                    Signal::Reload => {
                        supervisor::reloads();
                        next = Some(self.clone().next(queue.clone(), global, arguments, listener.clone()));
                    }
                },
            }
        }
        let result = services.end().await;
        queue.close().await;
        alive.abort();
        Ok(result?)
    }
}

impl Prepared {
    /// Has the service work, in place of the one that does.
    async fn begin(self, services: &mut Services) -> Result<Option<Listener>> {
        services.begin(self.service).await?;
        for banner in &self.banners {
            log::tell(self.log_format, banner);
        }
        supervisor::ready();
        Ok(self.listener)
    }
}

/// What is being prepared, once it is.
async fn ready(next: &mut Option<JoinHandle<Result<Prepared>>>) -> Result<Prepared> {
    let Some(handle) = next else { return std::future::pending().await };
    let prepared = handle.await;
    *next = None;
    prepared?
}

/// The sinks of the settings or, without any, standard output.
fn sinks(settings: &Settings) -> Result<Vec<Sink>> {
    let output: Stream = Arc::new(Mutex::new(Box::new(std::io::stdout())));
    if settings.sinks.is_empty() {
        let (filter, target) = (Filter::default(), Target::Stream(output));
        return Ok(vec![Sink { name: STDOUT.to_owned(), filter, retry_for: Duration::MAX, target }]);
    }
    Ok(settings.sinks.iter().map(|sink| sink.open(&output)).collect::<std::result::Result<_, _>>()?)
}

impl Arguments {
    /// What counts as known of the repository.
    pub(super) fn known(&self, repository: &crate::git::Repository, branches: &BranchPatterns) -> Result<Known> {
        Ok(match &self.since {
            Some(revision) => Known::since(repository, branches, repository.resolve(revision)?)?,
            None => Known::now(repository)?,
        })
    }

    /// How to watch these branches.
    pub(super) fn options(&self, branches: BranchPatterns, catch_up: Option<NonZeroUsize>) -> WatchOptions {
        let catch_up = catch_up.unwrap_or(CATCH_UP);
        WatchOptions { branches, poll: self.poll, notify: !self.no_notify, catch_up }
    }
}
