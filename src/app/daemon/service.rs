//! Plans the daemon with a durable queue from the settings, runs it, and reloads it on SIGHUP.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::{JoinHandle, spawn_blocking};

use super::jobs::JobResolver;
use super::repository::{self, WatchedRepository, check_writable};
use super::server::{self, with_listen_address};
use super::signals::{Signal, Signals};
use super::snapshots::SnapshotRepositories;
use super::{requests, systemd};
use crate::app::settings::{STDOUT, Settings, SinkSetting, SnapshotSetting, SnapshotTarget};
use crate::app::workspace::settings_files;
use crate::app::{Announce, DaemonOptions, Overrides, Result, Workspace};
use crate::daemon::http::Listener;
use crate::daemon::queue::Queue;
use crate::daemon::service::{Service, Services, answer};
use crate::delivery::{Filter, Sink, Stream, Target};
use crate::event::JobNumber;

/// The folder of the daemon's state in the git directory, if the settings name no other.
const STATE_FOLDER: &str = "hierad/daemon";

/// A daemon with a durable queue, as flags and settings describe it.
#[derive(Clone)]
pub struct Plan {
    settings: Settings,
    state: PathBuf,
    repositories: Vec<WatchedRepository>,
}

/// A service that can begin.
struct Prepared {
    service: Service,
    banners: Vec<String>,
    listener: Option<Listener>,
}

/// Returns the folder of the daemon's state: the flag's, else the settings', else the one in the git directory.
pub fn state_folder(overrides: &Overrides, flag: Option<&Path>) -> Result<PathBuf> {
    if let Some(folder) = flag {
        return Ok(folder.to_owned());
    }
    let settings = settings_files::settings_from_config_flag(overrides)?;
    if let Some(folder) = settings.and_then(|settings| settings.state) {
        return Ok(folder);
    }
    let workspace = Workspace::open(overrides)?;
    Ok(workspace.settings.state.clone().unwrap_or_else(|| workspace.repository.common_dir().join(STATE_FOLDER)))
}

impl Plan {
    /// Makes the plan of settings that name several repositories, or returns `None` if they name none.
    pub fn of_settings(options: &DaemonOptions) -> Result<Option<Plan>> {
        let overrides = &options.overrides;
        let settings = settings_files::settings_from_config_flag(overrides)?;
        let Some(settings) = settings.filter(|settings| !settings.repositories.is_empty()) else { return Ok(None) };
        let Some(state) = options.state.clone().or_else(|| settings.state.clone()) else {
            return Err(
                "settings with 'repositories' need 'state', the folder that the daemon keeps its queue in".into()
            );
        };
        if !options.branches.is_empty() || overrides.repo.is_some() {
            let text = "settings with 'repositories' say what is watched: --repo and --branch cannot be used with them";
            return Err(text.into());
        }
        if options.since.is_some() && settings.repositories.len() > 1 {
            return Err("the settings name several repositories: --since needs the settings of one alone".into());
        }
        let settings = with_listen_address(settings, options.listen)?;
        let repositories =
            settings.repositories.iter().map(|setting| WatchedRepository::from_setting(setting, overrides, &state));
        let repositories =
            repositories.map(|repository| Ok(repository?.served_by(&settings))).collect::<Result<_>>()?;
        Ok(Some(Plan { settings, state, repositories }))
    }

    /// Makes the plan for the repository at hand, or returns `None` if flags and settings ask for nothing that needs
    /// a durable queue.
    pub fn of_repository(workspace: &Workspace, options: &DaemonOptions) -> Result<Option<Plan>> {
        let settings = with_listen_address(workspace.settings.clone(), options.listen)?;
        let is_wanted = settings.state.is_some()
            || !settings.sinks.is_empty()
            || !settings.snapshots.is_empty()
            || !settings.reviews.is_empty()
            || settings.http.is_some();
        if options.state.is_none() && !is_wanted {
            return Ok(None);
        }
        let (name, patterns) = (workspace.repository.name(), options.patterns(&settings.branches));
        requests::check_at_hand(&settings, &name)?;
        let repository = WatchedRepository::at_hand(&name, &options.overrides, patterns).served_by(&settings);
        let state = state_folder(&options.overrides, options.state.as_deref())?;
        Ok(Some(Plan { settings, state, repositories: vec![repository] }))
    }

    /// Remakes the plan from the current settings.
    fn remake(&self, options: &DaemonOptions) -> Result<Plan> {
        let plan = match Plan::of_settings(options)? {
            Some(plan) => plan,
            None => Plan::of_repository(&Workspace::open(&options.overrides)?, options)?
                .ok_or("there is no durable queue in the settings any more")?,
        };
        if plan.state != self.state {
            return Err("the folder of the queue cannot be changed while the daemon runs".into());
        }
        Ok(plan)
    }

    /// Checks that the plan could be carried out, and returns a summary of it. Nothing is changed.
    pub async fn check(self, options: &DaemonOptions) -> Result<String> {
        let sinks = sinks(&self.settings, &options.output)?;
        for sink in &sinks {
            sink.check().map_err(|error| format!("sink '{}': {error}", sink.name))?;
        }
        let sinks = sinks.len();
        self.check_secrets()?;
        server::options(&self.settings)?;
        requests::check(&self.settings, &options.overrides)?;
        for repository in &self.repositories {
            repository.check(options, &self.settings)?;
        }
        for SnapshotSetting { name, place, .. } in &self.settings.snapshots {
            let SnapshotTarget::Folder(folder, _) = place else { continue };
            check_writable(&format!("snapshots '{name}'"), folder.root())?;
        }
        Queue::examine(&self.state).await?;
        let (repositories, snapshots) = (self.repositories.len(), self.settings.snapshots.len());
        let state = self.state.display();
        Ok(format!("repositories: {repositories}, sinks: {sinks}, snapshots: {snapshots}, state in {state}"))
    }

    /// Fails if secrets would be shown to everybody who reads the repository or can connect.
    fn check_secrets(&self) -> Result<()> {
        if !self.repositories.iter().any(|repository| repository.overrides.show_secrets) {
            return Ok(());
        }
        if !self.settings.snapshots.is_empty() {
            return Err("git keeps what was committed: --show-secrets cannot be used with 'snapshots'".into());
        }
        if self.settings.http.as_ref().is_some_and(|http| http.token_file.is_none()) {
            return Err("--show-secrets would answer everybody on this machine: name a 'token_file' in 'http'".into());
        }
        Ok(())
    }

    /// Makes a service of the plan, which takes over the listener of the former service.
    async fn prepare(self, queue: &Queue, options: &DaemonOptions, listener: Option<Listener>) -> Result<Prepared> {
        self.check_secrets()?;
        requests::check(&self.settings, &options.overrides)?;
        let mut http = server::server(&self.settings, listener)?;
        let mut reviews = Vec::new();
        let mut sinks = sinks(&self.settings, &options.output)?;
        let (mut repositories, mut banners) = (Vec::new(), Vec::new());
        let mut archived = SnapshotRepositories::default();
        let is_only = self.repositories.len() == 1;
        for repository in self.repositories {
            let reviewed = repository.for_reviews();
            let repository::Prepared { served, banner, handle } = repository.prepare(queue, options, is_only).await?;
            reviews.extend(requests::reviews(&self.settings, &reviewed, &handle, options));
            if let Some((server, _)) = &mut http {
                server.add(&served.name, Arc::new(handle.clone()));
            }
            archived.add(&served.name, handle);
            repositories.push(served);
            banners.extend(banner);
        }
        let mut scheduled = Vec::new();
        for setting in &self.settings.snapshots {
            match setting.schedule.clone() {
                Some(schedule) => scheduled.push(archived.scheduled(setting, schedule)),
                None => sinks.extend(archived.sinks(setting)),
            }
        }
        let (http, listener) = http.unzip();
        banners.extend(listener.as_ref().map(|listener| format!("answering at http://{}", listener.address())));
        let (queue, keep) = (queue.clone(), self.settings.keep_reports);
        Ok(Prepared {
            service: Service { queue, repositories, sinks, scheduled, reviews, keep, http },
            banners,
            listener,
        })
    }

    /// Resolves one job for the daemon, which reads the answer from `output`.
    pub async fn resolve(self, number: JobNumber, options: &DaemonOptions, output: &mut dyn Write) -> Result<()> {
        let queue = Queue::open(&self.state).await?;
        let job = queue.job(number).await;
        queue.close().await;
        let job = job?.ok_or_else(|| format!("there is no job {number} in the queue"))?;
        let found = self.repositories.iter().find(|repository| *repository.name() == job.name.repository);
        let handle = found.ok_or("the repository is not watched any more")?.open_again(options)?;
        let mut sinks = sinks(&self.settings, &options.output)?;
        let mut archived = SnapshotRepositories::default();
        archived.add(&job.name.repository, handle.clone());
        for setting in self.settings.snapshots.iter().filter(|setting| setting.schedule.is_none()) {
            sinks.extend(archived.sinks(setting));
        }
        let resolver = JobResolver { repository: handle, program: None };
        Ok(answer(&job, &resolver, &sinks, output)?)
    }

    /// Prepares the service of the plan on a separate thread: reading everything may take long, and signals must be
    /// handled meanwhile.
    fn begin(self, queue: Queue, options: &DaemonOptions) -> JoinHandle<Result<Prepared>> {
        let (options, runtime) = (options.clone(), Handle::current());
        spawn_blocking(move || runtime.block_on(self.prepare(&queue, &options, None)))
    }

    /// Prepares the service that the settings now describe, also on a separate thread.
    fn reload(self, queue: Queue, options: &DaemonOptions, listener: Option<Listener>) -> JoinHandle<Result<Prepared>> {
        let (options, runtime) = (options.clone(), Handle::current());
        spawn_blocking(move || {
            let plan = self.remake(&options)?;
            runtime.block_on(async {
                // The open connection does not show whether the folder is still there.
                Queue::open(&plan.state).await?.close().await;
                plan.prepare(&queue, &options, listener).await
            })
        })
    }

    /// Runs the daemon until the process is asked to stop.
    pub async fn run(self, options: &DaemonOptions) -> Result<()> {
        let mut signals = Signals::new()?;
        let (queue, _lock) = Queue::create(&self.state).await?;
        let mut services = Services::default();
        let advance = services.advance();
        let alive = tokio::spawn(systemd::keep_alive(move || advance.standstill()));
        let done = self.serve(&queue, &mut signals, &mut services, options).await;
        let result = services.end().await;
        queue.close().await;
        alive.abort();
        done?;
        Ok(result?)
    }

    /// Runs services, one after the other, until the process is asked to stop or the last one cannot continue.
    async fn serve(
        &self,
        queue: &Queue,
        signals: &mut Signals,
        services: &mut Services,
        options: &DaemonOptions,
    ) -> Result<()> {
        let (mut listener, mut is_first) = (None, true);
        let mut preparing = Some(self.clone().begin(queue.clone(), options));
        // True if a reload is due. It waits while the former one, or the first service, is being prepared.
        let mut is_due = false;
        loop {
            if is_due && preparing.is_none() {
                is_due = false;
                systemd::reloading();
                preparing = Some(self.clone().reload(queue.clone(), options, listener.clone()));
            }
            tokio::select! {
                () = services.failed() => return Ok(()),
                prepared = finished(&mut preparing) => {
                    let begun = match prepared {
                        Ok(prepared) => prepared.begin(services, &options.announce).await,
                        Err(error) => Err(error),
                    };
                    match begun {
                        Ok(new_listener) => {
                            listener = new_listener;
                            services.reloaded(None);
                            if !is_first {
                                tracing::info!("reloaded");
                            }
                        }
                        Err(error) if is_first => return Err(error),
                        Err(error) => {
                            tracing::error!(%error, "cannot reload: the old settings stay");
                            services.reloaded(Some(error.to_string()));
                            systemd::ready();
                        }
                    }
                    is_first = false;
                }
                signal = signals.next() => match signal {
                    Signal::End => {
                        systemd::stopping();
                        return Ok(());
                    }
                    Signal::Reload => is_due = true,
                },
            }
        }
    }
}

impl Prepared {
    /// Begins the service in place of the running one.
    async fn begin(self, services: &mut Services, announce: &Announce) -> Result<Option<Listener>> {
        services.begin(self.service).await?;
        for banner in &self.banners {
            announce(banner);
        }
        systemd::ready();
        Ok(self.listener)
    }
}

/// Waits for the preparation in progress, or forever if there is none.
async fn finished(reloading: &mut Option<JoinHandle<Result<Prepared>>>) -> Result<Prepared> {
    let Some(handle) = reloading else { return std::future::pending().await };
    let prepared = handle.await;
    *reloading = None;
    prepared?
}

/// Opens the sinks of the settings or, without any, standard output.
fn sinks(settings: &Settings, output: &Stream) -> Result<Vec<Sink>> {
    if settings.sinks.is_empty() {
        let (filter, target) = (Filter::default(), Target::Stream(output.clone()));
        return Ok(vec![Sink { name: STDOUT.to_owned(), filter, retry_for: Duration::MAX, target }]);
    }
    let whole = Arc::new(SinkSetting::whole_reports(&settings.sinks, settings.http.as_ref()));
    Ok(settings.sinks.iter().map(|sink| sink.open(output, &whole)).collect::<std::result::Result<_, _>>()?)
}
