//! The daemon is killed at any moment, again and again.
//!
//! `HIERAD_KILLS` sets how often (12), `HIERAD_COMMITS` the number of commits meanwhile (60), `HIERAD_SEED` the dice.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::script::Script;
use super::service::Service;
use crate::support::random::Random;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
fn killed_daemons_lose_and_repeat_nothing() {
    let (kills, commits) = (setting("HIERAD_KILLS", 12), setting("HIERAD_COMMITS", 60));
    let seed = setting("HIERAD_SEED", 1);
    let service = Service::new();
    // What is committed from now on has to be reported.
    let daemon = service.start();
    service.wait("the daemon", || service.log().contains("hierad: watching"));
    let mut script = Script::new(service.site.root(), seed);
    let is_done = AtomicBool::new(false);
    let daemon = std::thread::scope(|scope| {
        let killer = scope.spawn(|| killed(&service, daemon, kills, &is_done));
        let done = Done(&is_done);
        let pause = Duration::from_millis(kills * 150 / commits.max(1));
        for _ in 0..commits {
            script.step(&mut |branch, commit| {
                let arrival = (branch.to_owned(), commit.to_owned());
                service.wait("a report", || service.files().values().any(|arrivals| arrivals.contains(&arrival)));
            });
            std::thread::sleep(pause);
        }
        drop(done);
        killer.join().unwrap()
    });
    service.settle(script.made.len());
    service.end(daemon);
    service.check(&script.made);
}

/// Work that is done when this goes, or has failed.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Kills the daemon so many times, or more if there are still commits to come, and leaves one running. One that makes
/// no report until it is killed is given twice the time before the next kill: the machine may be slow.
fn killed(service: &Service, mut daemon: std::process::Child, kills: u64, is_done: &AtomicBool) -> std::process::Child {
    let mut random = Random::new(kills);
    let (mut count, mut most, mut reports) = (0, 250, 0);
    while count < kills || !is_done.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(5 + random.next() % most));
        assert!(daemon.try_wait().unwrap().is_none(), "the daemon has ended by itself: {}", service.log());
        daemon.kill().unwrap();
        daemon.wait().unwrap();
        let before = std::mem::replace(&mut reports, service.files().len());
        most = if reports == before { most * 2 } else { 250 };
        daemon = service.start();
        count += 1;
    }
    daemon
}
