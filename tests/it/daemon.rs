//! The daemon with a durable queue: what it promises when it is killed, when disks are full and receivers are down.

#[cfg(unix)]
mod attempts;
mod blind;
mod foreign;
mod judges;
mod kills;
mod mirrors;
mod numbered;
mod operations;
mod progress;
mod queue;
mod receiver;
mod references;
#[cfg(unix)]
mod reload;
mod schedules;
mod script;
pub(crate) mod service;
mod several;
mod sizes;
mod soak;
#[cfg(unix)]
mod told;
mod troubles;
#[cfg(unix)]
mod turns;
#[cfg(unix)]
mod unit;
#[cfg(target_os = "linux")]
mod year;
