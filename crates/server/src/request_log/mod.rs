//! The log's line of each request, and which request other lines belong to.
//!
//! Every request has a line, so its cost counts. A tracing span with its fields cost as
//! much as all else that is done for a request that passes through: here a request's
//! [`RequestInfo`] is known to its task by a pointer, and the line is written by hand into
//! a buffer that the thread keeps. The line goes to the [`LineSink`] that the process
//! installed; without one it is an event of `tracing` like any other.

mod line;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::http::Method;
use prowess_store::KeyRecord;

use crate::context::RequestId;

/// Bytes of a method that are logged; a method is ASCII.
const MAX_METHOD_BYTES: usize = 32;

/// Takes finished lines. Must neither block nor fail.
pub trait LineSink: Send + Sync {
    /// Takes one line, its newline included.
    fn write_line(&self, line: &[u8]);
}

static SINK: OnceLock<Box<dyn LineSink>> = OnceLock::new();

/// Has the lines of requests written there, as JSON. The first sink stays.
pub fn install(sink: Box<dyn LineSink>) {
    // A second one changes nothing, as with a subscriber of `tracing`.
    let _ = SINK.set(sink);
}

/// Counts lines that a log could not write.
pub fn count_dropped(lines: u64) {
    metrics::counter!("prowess_log_lines_dropped_total").increment(lines);
}

/// What the log says of a request.
#[derive(Debug)]
pub struct RequestInfo {
    id: RequestId,
    method: Method,
    /// The pattern that its path matches; never the path with its ids, nor the query.
    route: String,
    identity: OnceLock<Identity>,
}

/// Whose request it is, once its key was checked.
#[derive(Debug)]
struct Identity {
    tenant: String,
    key: Option<Arc<KeyRecord>>,
}

tokio::task_local! {
    static CURRENT: Arc<RequestInfo>;
}

/// The request that the current task works on, if it does.
pub fn current() -> Option<Arc<RequestInfo>> {
    CURRENT.try_with(Arc::clone).ok()
}

/// Works on a request: lines that are logged meanwhile belong to it.
pub(crate) fn scope<F: Future>(
    info: &Arc<RequestInfo>,
    work: F,
) -> impl Future<Output = F::Output> + use<F> {
    CURRENT.scope(Arc::clone(info), work)
}

/// Notes whose request the current task works on.
pub(crate) fn identify(tenant: &str, key: Option<&Arc<KeyRecord>>) {
    // Outside of a request nobody wants to know.
    let _ = CURRENT.try_with(|info| {
        info.identity.get_or_init(|| Identity {
            tenant: tenant.to_owned(),
            key: key.cloned(),
        });
    });
}

impl RequestInfo {
    pub(crate) fn new(id: RequestId, method: Method, route: &str) -> Arc<RequestInfo> {
        Arc::new(RequestInfo {
            id,
            method,
            route: route.to_owned(),
            identity: OnceLock::new(),
        })
    }

    pub(crate) fn method(&self) -> &Method {
        &self.method
    }

    pub(crate) fn route(&self) -> &str {
        &self.route
    }

    /// Clients may invent methods, as long as they like.
    fn shown_method(&self) -> &str {
        let method = self.method.as_str();
        method.get(..MAX_METHOD_BYTES).unwrap_or(method)
    }

    fn tenant(&self) -> Option<&str> {
        self.identity.get().map(|identity| identity.tenant.as_str())
    }

    fn key(&self) -> Option<&str> {
        let key = self.identity.get()?.key.as_ref()?;
        Some(&key.id)
    }

    /// As a JSON object, in the form of a span of `tracing`.
    pub fn to_json(&self) -> String {
        let mut out = Vec::new();
        line::span(self, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Logs that it was answered. Few want to read of the quiet ones.
    pub(crate) fn log_done(&self, status: u16, elapsed: Duration, quiet: bool) {
        let enabled = match quiet {
            true => tracing::enabled!(tracing::Level::DEBUG),
            false => tracing::enabled!(tracing::Level::INFO),
        };
        if !enabled {
            return;
        }
        let ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        if let Some(sink) = SINK.get() {
            let level = if quiet { "DEBUG" } else { "INFO" };
            return line::write(&**sink, self, level, status, ms);
        }
        let RequestInfo { id, route, .. } = self;
        let (method, tenant, key) = (self.shown_method(), self.tenant(), self.key());
        if quiet {
            tracing::debug!(status, ms, %id, method, route, tenant, key, "done");
        } else {
            tracing::info!(status, ms, %id, method, route, tenant, key, "done");
        }
    }
}

/// For people: `id=… method=… route=…`.
impl fmt::Display for RequestInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RequestInfo { id, route, .. } = self;
        write!(f, "id={id} method={} route={route}", self.shown_method())?;
        if let Some(tenant) = self.tenant() {
            write!(f, " tenant={tenant}")?;
        }
        match self.key() {
            Some(key) => write!(f, " key={key}"),
            None => Ok(()),
        }
    }
}
