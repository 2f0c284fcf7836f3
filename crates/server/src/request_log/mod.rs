//! The log line of each request, and the request fields of other log lines.
//!
//! Every request has a line, so its cost matters. A tracing span with its fields cost as much
//! as everything else for a passed-through request: instead a request's [`RequestInfo`] is a
//! task-local pointer, and the line is formatted into a buffer that the thread reuses. The
//! line goes to the installed [`LineSink`]; without one it is a normal `tracing` event.

mod line;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::http::Method;
use prowess_store::KeyRecord;

use crate::request_id::RequestId;
use crate::text::truncate;

/// Bytes of a method that are logged; a method is ASCII.
const MAX_METHOD_BYTES: usize = 32;
/// Bytes of a path that are logged.
const MAX_PATH_BYTES: usize = 512;
/// Bytes of a model name that are logged.
const MAX_MODEL_BYTES: usize = 200;

/// Marks a request that another one of this process caused, such as what a page is made from:
/// the line of that one says enough, so it is logged at debug level only.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InnerCall;

/// Receives finished lines. Must neither block nor fail.
pub trait LineSink: Send + Sync {
    /// Receives one line, including its newline.
    fn write_line(&self, line: &[u8]);
}

static SINK: OnceLock<Box<dyn LineSink>> = OnceLock::new();

/// Installs the sink for request lines in JSON. Only the first call has an effect.
pub fn install(sink: Box<dyn LineSink>) {
    // A second one is ignored, as with a `tracing` subscriber.
    let _ = SINK.set(sink);
}

/// Counts lines that a log could not write.
pub fn count_dropped(lines: u64) {
    metrics::counter!("prowess_log_lines_dropped_total").increment(lines);
}

/// What the log contains about a request.
#[derive(Debug)]
pub struct RequestInfo {
    id: RequestId,
    method: Method,
    /// The route pattern.
    route: String,
    /// The path without its query, which may contain a key; none when it is the route.
    path: Option<String>,
    identity: OnceLock<Identity>,
    /// The model as the client names it.
    model: OnceLock<String>,
}

/// The principal of a request, once authenticated.
#[derive(Debug)]
struct Identity {
    tenant: String,
    key: Option<Arc<KeyRecord>>,
}

tokio::task_local! {
    static CURRENT: Arc<RequestInfo>;
}

/// The request of the current task, if any.
pub fn current() -> Option<Arc<RequestInfo>> {
    CURRENT.try_with(Arc::clone).ok()
}

/// Runs a future as part of a request: its log lines carry the request's fields.
pub(crate) fn scope<F: Future>(
    info: &Arc<RequestInfo>,
    work: F,
) -> impl Future<Output = F::Output> + use<F> {
    CURRENT.scope(Arc::clone(info), work)
}

/// Records the principal of the current request.
pub(crate) fn identify(tenant: &str, key: Option<&Arc<KeyRecord>>) {
    // No effect outside of a request.
    let _ = CURRENT.try_with(|info| {
        info.identity.get_or_init(|| Identity {
            tenant: tenant.to_owned(),
            key: key.cloned(),
        });
    });
}

/// Records the model of the current request.
pub(crate) fn record_model(model: &str) {
    // No effect outside of a request.
    let _ = CURRENT.try_with(|info| {
        info.model
            .get_or_init(|| truncate(model, MAX_MODEL_BYTES).to_owned());
    });
}

impl RequestInfo {
    pub(crate) fn new(id: RequestId, method: Method, path: &str, route: &str) -> Arc<RequestInfo> {
        let path = truncate(path, MAX_PATH_BYTES);
        Arc::new(RequestInfo {
            id,
            method,
            route: route.to_owned(),
            path: (path != route).then(|| path.to_owned()),
            identity: OnceLock::new(),
            model: OnceLock::new(),
        })
    }

    pub(crate) fn method(&self) -> &Method {
        &self.method
    }

    pub(crate) fn route(&self) -> &str {
        &self.route
    }

    /// Clients may send methods of any length.
    fn shown_method(&self) -> &str {
        let method = self.method.as_str();
        method.get(..MAX_METHOD_BYTES).unwrap_or(method)
    }

    fn path(&self) -> &str {
        self.path.as_deref().unwrap_or(&self.route)
    }

    fn model(&self) -> Option<&str> {
        self.model.get().map(String::as_str)
    }

    fn tenant(&self) -> Option<&str> {
        self.identity.get().map(|identity| identity.tenant.as_str())
    }

    /// The tenant and the key of its principal, once authenticated.
    pub(crate) fn identity(&self) -> Option<(&str, Option<&KeyRecord>)> {
        let identity = self.identity.get()?;
        Some((identity.tenant.as_str(), identity.key.as_deref()))
    }

    fn key(&self) -> Option<&KeyRecord> {
        self.identity.get()?.key.as_deref()
    }

    fn key_id(&self) -> Option<&str> {
        self.key().map(|key| key.id.as_str())
    }

    fn key_name(&self) -> Option<&str> {
        self.key().map(|key| key.name.as_str())
    }

    /// As a JSON object, in the format of a `tracing` span.
    pub fn to_json(&self) -> String {
        let mut out = Vec::new();
        line::span(self, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Logs the response. Quiet requests are logged at debug level.
    pub(crate) fn log_done(&self, status: u16, elapsed: Duration, quiet: bool) {
        let enabled = if quiet {
            tracing::enabled!(tracing::Level::DEBUG)
        } else {
            tracing::enabled!(tracing::Level::INFO)
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
        let (method, path, model) = (self.shown_method(), self.path(), self.model());
        let (tenant, key, key_name) = (self.tenant(), self.key_id(), self.key_name());
        if quiet {
            tracing::debug!(
                status, ms, %id, method, path, route, model, tenant, key, key_name, "done"
            );
        } else {
            tracing::info!(
                status, ms, %id, method, path, route, model, tenant, key, key_name, "done"
            );
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
        match self.key_id() {
            Some(key) => write!(f, " key={key}"),
            None => Ok(()),
        }
    }
}
