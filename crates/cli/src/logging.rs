//! The server's log, on standard error: for people on a terminal, JSON otherwise.
//!
//! All lines go through [`LogWriter`], which never blocks its callers.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use prowess_server::request_log::{self, LineSink};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::{Compact, Format, Json, JsonFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use super::log_writer::LogWriter;
use super::usage_error;

/// What is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogDetail {
    /// Errors
    Error,
    /// Errors and warnings
    Warn,
    /// Also one line for each request
    Info,
    /// Also the reasons for refused requests
    Debug,
}

impl From<LogDetail> for LevelFilter {
    fn from(detail: LogDetail) -> LevelFilter {
        match detail {
            LogDetail::Error => LevelFilter::ERROR,
            LogDetail::Warn => LevelFilter::WARN,
            LogDetail::Info => LevelFilter::INFO,
            LogDetail::Debug => LevelFilter::DEBUG,
        }
    }
}

/// The levels of all modules: what `RUST_LOG` sets, and `--log` for the others.
fn level_filter(detail: LogDetail, rust_log: &str) -> anyhow::Result<Targets> {
    let set: Targets = match rust_log {
        "" => Targets::new(),
        _ => rust_log
            .parse()
            .map_err(|error| usage_error(format!("RUST_LOG={rust_log}: {error}")))?,
    };
    // rmcp logs an error when an MCP client disconnects or names something unknown, which
    // is ordinary here.
    let rmcp = match detail {
        LogDetail::Debug => LevelFilter::DEBUG,
        _ => LevelFilter::OFF,
    };
    // What happens to a connection is logged by our own crate.
    let async_nats = match detail {
        LogDetail::Debug => LevelFilter::INFO,
        _ => LevelFilter::OFF,
    };
    let default = set.default_level().unwrap_or(detail.into());
    Ok(Targets::new()
        .with_target("rmcp", rmcp)
        .with_target("async_nats", async_nats)
        .with_targets(set)
        .with_default(default))
}

/// Starts the log. It can be started once.
///
/// # Errors
/// When `RUST_LOG` is not a list of modules and levels.
pub(crate) fn start(detail: LogDetail) -> anyhow::Result<()> {
    let rust_log = std::env::var("RUST_LOG").unwrap_or_default();
    let targets = level_filter(detail, &rust_log)?;
    let levels = targets.iter().map(|(_, level)| level);
    let max_level = levels.chain(targets.default_level()).max();
    let writer = LogWriter::standard_error();
    let log = tracing_subscriber::fmt()
        .with_max_level(max_level.unwrap_or(LevelFilter::OFF))
        .with_writer(writer.clone())
        // Internal errors would be written to standard error directly, which blocks and can
        // panic.
        .log_internal_errors(false);
    // A second start changes nothing.
    let _ = if io::stderr().is_terminal() {
        log.event_format(HumanFormat::default())
            .finish()
            .with(targets)
            .try_init()
    } else {
        request_log::install(Box::new(writer));
        log.fmt_fields(JsonFields::new())
            .event_format(JsonFormat::default())
            .finish()
            .with(targets)
            .try_init()
    };
    log_panics();
    Ok(())
}

/// Writes what is still in the queue, within a short time limit.
pub(crate) fn flush() {
    if let Some(writer) = LogWriter::started() {
        writer.flush();
    }
}

/// The standard library's hook would write to standard error itself, and block on its reader.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        let message = panic.payload_as_str().unwrap_or("no message");
        tracing::error!(panic = message, place, "panicked");
    }));
}

impl LineSink for LogWriter {
    fn write_line(&self, line: &[u8]) {
        self.push(line, false);
    }
}

impl<'a> MakeWriter<'a> for LogWriter {
    type Writer = LogLine<'a>;

    fn make_writer(&'a self) -> LogLine<'a> {
        LogLine {
            writer: self,
            urgent: false,
        }
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> LogLine<'a> {
        LogLine {
            writer: self,
            urgent: *metadata.level() <= Level::WARN,
        }
    }
}

/// Writes one line, which arrives in one call.
pub(crate) struct LogLine<'a> {
    writer: &'a LogWriter,
    urgent: bool,
}

impl Write for LogLine<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.push(bytes, self.urgent);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Formats events as JSON, with the request that they belong to.
struct JsonFormat {
    /// With the current span of a library, if any.
    elsewhere: Format<Json>,
    in_request: Format<Json>,
}

impl Default for JsonFormat {
    fn default() -> Self {
        let format = || {
            let format = Format::default().with_target(false).json();
            format.flatten_event(true).with_span_list(false)
        };
        JsonFormat {
            elsewhere: format(),
            in_request: format().with_current_span(false),
        }
    }
}

impl<S, N> FormatEvent<S, N> for JsonFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let Some(request) = request_log::current() else {
            return self.elsewhere.format_event(context, writer, event);
        };
        let mut text = String::new();
        self.in_request
            .format_event(context, Writer::new(&mut text), event)?;
        match text.trim_end().strip_suffix('}') {
            Some(open) => writeln!(writer, "{open},\"span\":{}}}", request.to_json()),
            None => writer.write_str(&text),
        }
    }
}

/// Formats events for a terminal, with the request that they belong to.
struct HumanFormat(Format<Compact>);

impl Default for HumanFormat {
    fn default() -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|set| !set.is_empty());
        let format = Format::default().with_target(false).with_ansi(!plain);
        HumanFormat(format.compact())
    }
}

impl<S, N> FormatEvent<S, N> for HumanFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let Some(request) = request_log::current() else {
            return self.0.format_event(context, writer, event);
        };
        let mut text = String::new();
        self.0
            .format_event(context, Writer::new(&mut text), event)?;
        writeln!(writer, "{} {request}", text.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enabled(detail: LogDetail, rust_log: &str, target: &str, level: Level) -> bool {
        let targets = level_filter(detail, rust_log).unwrap();
        targets.would_enable(target, &level)
    }

    #[test]
    fn rust_log_sets_levels_by_module_and_the_flag_those_of_the_others() {
        let set = "prowess_server=debug,prowess_sandbox=error";
        let server = "prowess_server::request_log";
        assert!(enabled(LogDetail::Info, set, server, Level::DEBUG));
        assert!(!enabled(
            LogDetail::Info,
            set,
            "prowess_sandbox",
            Level::WARN
        ));
        assert!(enabled(LogDetail::Info, set, "prowess_engine", Level::INFO));
        assert!(!enabled(
            LogDetail::Info,
            set,
            "prowess_engine",
            Level::DEBUG
        ));
        assert!(!enabled(
            LogDetail::Debug,
            "warn",
            "prowess_engine",
            Level::INFO
        ));
    }

    #[test]
    fn rmcp_is_silent_unless_its_level_is_set() {
        assert!(!enabled(LogDetail::Info, "", "rmcp::service", Level::ERROR));
        assert!(enabled(
            LogDetail::Info,
            "rmcp=error",
            "rmcp::service",
            Level::ERROR
        ));
        assert!(level_filter(LogDetail::Info, "prowess_server=loud").is_err());
    }
}
