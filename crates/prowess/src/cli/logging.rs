//! The server's log, on standard error: for people on a terminal, JSON otherwise.
//!
//! Everything goes through [`LogWriter`], which nobody waits for.

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

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogDetail {
    /// Only what went wrong
    Error,
    /// And what may go wrong
    Warn,
    /// And every request
    Info,
    /// And why requests were refused
    Debug,
}

/// Starts the log. It can be started once.
pub(crate) fn start(detail: LogDetail) {
    let level = match detail {
        LogDetail::Error => Level::ERROR,
        LogDetail::Warn => Level::WARN,
        LogDetail::Info => Level::INFO,
        LogDetail::Debug => Level::DEBUG,
    };
    // A client of MCP that goes away or asks for what is not there is an error to that
    // library; to us it is everyday.
    let rmcp = match detail {
        LogDetail::Debug => LevelFilter::DEBUG,
        _ => LevelFilter::OFF,
    };
    let targets = Targets::new().with_default(level).with_target("rmcp", rmcp);
    let writer = LogWriter::standard_error();
    let log = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(writer.clone())
        // It would be written to standard error directly, which blocks, and panics.
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
}

/// Writes what is still in the queue, as far as that can be done in a moment.
pub(crate) fn flush() {
    if let Some(writer) = LogWriter::started() {
        writer.flush();
    }
}

/// The standard library would write to standard error itself, and wait for its reader.
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

/// Takes one line, which comes in one piece.
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

/// Events as JSON, with the request that they belong to.
struct JsonFormat {
    /// With the span of a library, where there is one.
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

/// Events for people, with the request that they belong to.
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
