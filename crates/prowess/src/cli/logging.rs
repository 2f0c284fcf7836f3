//! The server's log, on standard error: for people on a terminal, JSON otherwise.

use std::io::IsTerminal;

use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Detail {
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
pub(crate) fn start(detail: Detail) {
    let level = match detail {
        Detail::Error => Level::ERROR,
        Detail::Warn => Level::WARN,
        Detail::Info => Level::INFO,
        Detail::Debug => Level::DEBUG,
    };
    // A client of MCP that goes away or asks for what is not there is an error to that
    // library; to us it is everyday.
    let rmcp = match detail {
        Detail::Debug => LevelFilter::DEBUG,
        _ => LevelFilter::OFF,
    };
    let told = Targets::new().with_default(level).with_target("rmcp", rmcp);
    let log = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_target(false);
    // A second start changes nothing.
    let _ = if std::io::stderr().is_terminal() {
        log.compact().finish().with(told).try_init()
    } else {
        log.json()
            .flatten_event(true)
            .with_span_list(false)
            .finish()
            .with(told)
            .try_init()
    };
}
