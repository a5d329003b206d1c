//! The memory of a program, as Linux counts it.

use std::time::Duration;

/// The pause between looks. Memory that is allocated and freed again in the last moment before the end may be missed.
const EVERY: Duration = Duration::from_millis(5);

/// Watches the process `id` until it ends; the most memory that was resident at once, in MiB. Nothing where there is no
/// `/proc`.
pub(super) fn watch(id: u32) -> Option<f64> {
    let mut peak = None;
    while let Some(found) = peak_so_far(id) {
        peak = Some(found);
        std::thread::sleep(EVERY);
    }
    peak
}

/// The high-water mark; nothing once the process has ended.
fn peak_so_far(id: u32) -> Option<f64> {
    status(id, "VmHWM:")
}

/// Returns the resident memory now, in MiB.
pub(crate) fn resident(id: u32) -> Option<f64> {
    status(id, "VmRSS:")
}

fn status(id: u32, name: &str) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}
