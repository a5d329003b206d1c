//! The text format of Prometheus, which Prometheus, its `promtool` and all agents read. The library writes
//! `OpenMetrics`, which differs in the names of counters, in types, and in its end marker.

use std::fmt;
use std::fmt::Write;

use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

/// The media type of the format.
pub(in crate::daemon) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Returns all metrics as text.
pub(super) fn written(registry: &Registry) -> Result<String, fmt::Error> {
    let mut metrics = String::new();
    text::encode(&mut metrics, registry)?;
    let mut out = String::with_capacity(metrics.len());
    let mut help = None;
    for line in metrics.lines() {
        if let Some(about) = line.strip_prefix("# HELP ") {
            help = about.split_once(' ').map(|(_, text)| text);
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|about| about.split_once(' ')) {
            let (suffix, kind) = match kind {
                "counter" => ("_total", kind),
                "info" => ("_info", "gauge"),
                _ => ("", kind),
            };
            if let Some(help) = help.take() {
                writeln!(out, "# HELP {name}{suffix} {help}")?;
            }
            writeln!(out, "# TYPE {name}{suffix} {kind}")?;
        } else if !line.starts_with('#') {
            writeln!(out, "{line}")?;
        }
    }
    Ok(out)
}
