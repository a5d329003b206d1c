//! The metrics that all processes have, under their common names.

use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use super::{Seconds, now};

/// Registers the metrics, and returns the gauge of memory.
pub(super) fn register(registry: &mut Registry) -> Gauge {
    let (start, memory) = (Seconds::default(), Gauge::default());
    start.set(now());
    let help = "Start of the process, in seconds since 1970";
    registry.register_with_unit("process_start_time", help, Unit::Seconds, start);
    if resident().is_some() {
        registry.register_with_unit("process_resident_memory", "Memory in use", Unit::Bytes, memory.clone());
    }
    memory
}

/// Returns the memory in use, in bytes, or `None` if the system does not say.
pub(super) fn resident() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: i64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}
