//! Logging set-up: to standard error, by `-v`, `HIERAD_LOG` or `RUST_LOG`.

use std::fmt::{self, Debug, Display};
use std::io;

use anstyle::Style;
use tracing::field::Field;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::format::{Writer, debug_fn};

pub(in crate::cli) use crate::cli::arguments::inspection::Format;
use crate::cli::job::without_job_commands;
use crate::cli::{Global, output};
use crate::visible::{visible, visible_coloured, visible_json, visible_lines};
use crate::workers::RUN;

/// The target of lines that no filter hides.
const NOTICE: &str = "hierad::notice";

/// Prints a line that no filter hides, and that scripts may wait for.
pub(in crate::cli) fn tell(format: Format, line: &dyn Display) {
    match format {
        Format::Text => anstream::eprintln!("hierad: {}", without_job_commands(&visible(&line.to_string()))),
        Format::Json => tracing::info!(target: NOTICE, "{line}"),
    }
}

/// Prints the reason why the process ends.
pub(in crate::cli) fn fail(format: Format, line: &dyn Display) {
    match format {
        Format::Text => print(&format_args!("hierad: {line}")),
        Format::Json => tracing::error!(target: NOTICE, "{line}"),
    }
}

/// Prints lines to standard error, without anything that a terminal would act on.
pub(in crate::cli) fn print(lines: &dyn Display) {
    anstream::eprintln!("{}", without_job_commands(&visible_lines(&lines.to_string())));
}

/// The variables with a `tracing` filter; the first one that is set is used.
const FILTERS: [&str; 2] = ["HIERAD_LOG", "RUST_LOG"];

/// Starts logging: warnings by default, more with `-v` and `-vv`, or by a filter in the environment. Lines go above
/// the progress line.
pub(in crate::cli) fn start(global: &Global, format: Format, is_daemon: bool) {
    let progress = global.progress.clone();
    let default: &str = match global.verbose {
        0 => "warn",
        // A daemon would log each commit's run.
        1 if is_daemon => "hierad=info,warn",
        1 => &format!("hierad=info,{RUN}=debug,warn"),
        _ => "hierad=debug,info",
    };
    let chosen = FILTERS.into_iter().find(|name| std::env::var_os(name).is_some_and(|filter| !filter.is_empty()));
    let chosen = chosen.and_then(|name| EnvFilter::try_from_env(name).ok());
    let filter = chosen.unwrap_or_else(|| EnvFilter::new(default));
    let filter = match format!("{NOTICE}=info").parse() {
        Ok(notice) => filter.add_directive(notice),
        Err(_) => filter,
    };
    let color = output::log_color(global);
    let log = tracing_subscriber::fmt().with_env_filter(filter);
    let log = log.with_writer(move || Lines { out: progress.stderr(), format, color });
    let log = log.with_target(false).with_ansi(color);
    _ = match format {
        Format::Text => log.fmt_fields(debug_fn(write_field).delimited(" ")).try_init(),
        Format::Json => log.json().flatten_event(true).with_span_list(false).try_init(),
    };
}

/// Writes a field of a message, or the message itself, without anything that a terminal would act on. Any such
/// sequence that is then in the line is one of the log's own colours.
fn write_field(out: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> fmt::Result {
    let value = format!("{value:?}");
    let value = visible(&value);
    match field.name() {
        "message" => write!(out, "{value}"),
        name if out.has_ansi_escapes() => write!(out, "{FIELD}{name}{FIELD:#}={value}"),
        name => write!(out, "{name}={value}"),
    }
}

/// The style of a field's name.
const FIELD: Style = Style::new().italic();

/// Takes whole lines of the log, and makes everything in them harmless that a terminal would act on, except for the
/// log's own colours. A message of several lines becomes one, so that no data can forge another message.
struct Lines<W> {
    out: W,
    format: Format,
    color: bool,
}

impl<W: io::Write> io::Write for Lines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let end = &text[line.len()..];
        let line = match self.format {
            Format::Json => visible_json(line),
            Format::Text if self.color => visible_coloured(line),
            Format::Text => visible(line),
        };
        self.out.write_all(format!("{}{end}", without_job_commands(&line)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
