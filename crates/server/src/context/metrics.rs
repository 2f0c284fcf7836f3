//! Prometheus metrics.

use std::cell::RefCell;
use std::sync::OnceLock;
use std::time::Duration;

use metrics::{Counter, Histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// Histogram buckets in seconds.
const BUCKET_SECONDS: [f64; 11] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0,
];

/// The same for runs and calls of tools, which take longer.
const LONG_BUCKET_SECONDS: [f64; 10] = [0.1, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 180.0, 600.0, 1_800.0];
const LONG_HISTOGRAMS: [&str; 2] = ["prowess_run_seconds", "prowess_tool_call_seconds"];

/// Counters of what was lost. They have a value from the start: the rate of a counter that
/// appears only when something is lost would miss the first loss.
const LOSS_COUNTERS: [&str; 6] = [
    "prowess_audit_cancellations_dropped_total",
    "prowess_audit_refusals_dropped_total",
    "prowess_log_lines_dropped_total",
    "prowess_run_records_dropped_total",
    "prowess_spans_dropped_total",
    "prowess_usage_dropped_total",
];

/// The process's metrics.
#[derive(Clone, Default)]
pub(crate) struct Metrics(Option<PrometheusHandle>);

impl Metrics {
    /// Installs the recorder with the first call. If another recorder is installed already,
    /// there is nothing to show.
    pub(crate) fn install() -> Metrics {
        static INSTALLED: OnceLock<Metrics> = OnceLock::new();
        INSTALLED
            .get_or_init(|| {
                let mut builder = PrometheusBuilder::new().set_buckets(&BUCKET_SECONDS);
                for name in LONG_HISTOGRAMS {
                    let matcher = Matcher::Full(name.to_owned());
                    builder = builder.and_then(|builder| {
                        builder.set_buckets_for_metric(matcher, &LONG_BUCKET_SECONDS)
                    });
                }
                let recorder = builder.map(|builder| builder.build_recorder());
                let Ok(recorder) = recorder else {
                    return Metrics(None);
                };
                let handle = recorder.handle();
                if metrics::set_global_recorder(recorder).is_err() {
                    return Metrics(None);
                }
                for name in LOSS_COUNTERS {
                    metrics::counter!(name).increment(0);
                }
                Metrics(Some(handle))
            })
            .clone()
    }

    /// In Prometheus's text format.
    pub(crate) fn render(&self) -> String {
        self.run_upkeep();
        self.0
            .as_ref()
            .map(PrometheusHandle::render)
            .unwrap_or_default()
    }

    /// Aggregates what was recorded since the last call. Until then every single duration is
    /// kept in memory, so this must be called regularly, whether or not the metrics are
    /// scraped.
    pub(crate) fn run_upkeep(&self) {
        if let Some(handle) = &self.0 {
            handle.run_upkeep();
        }
    }
}

/// Counters of requests with the same labels.
struct RequestSeries {
    method: &'static str,
    route: String,
    status: u16,
    requests: Counter,
    seconds: Histogram,
}

/// Series that a thread caches. Routes are patterns, so there are few.
const MAX_CACHED_SERIES: usize = 256;

thread_local! {
    /// Looking up a counter by its labels costs more than everything else here.
    static SERIES: RefCell<Vec<RequestSeries>> = const { RefCell::new(Vec::new()) };
}

/// Records one request.
pub(super) fn record_request(method: &str, route: &str, status: u16, elapsed: Duration) {
    let method = known_method(method);
    SERIES.with_borrow_mut(|series| {
        let same = |kind: &&RequestSeries| {
            kind.status == status && kind.method == method && kind.route == route
        };
        if let Some(known) = series.iter().find(same) {
            return known.record(elapsed);
        }
        let new = RequestSeries::new(method, route, status);
        new.record(elapsed);
        if series.len() < MAX_CACHED_SERIES {
            series.push(new);
        }
    });
}

impl RequestSeries {
    fn new(method: &'static str, route: &str, status: u16) -> RequestSeries {
        let labels = [
            ("method", method.to_owned()),
            ("route", route.to_owned()),
            ("status", status.to_string()),
        ];
        let requests = metrics::counter!("prowess_http_requests_total", &labels);
        let labels = [("route", route.to_owned())];
        let seconds = metrics::histogram!("prowess_http_request_seconds", &labels);
        let route = route.to_owned();
        RequestSeries {
            method,
            route,
            status,
            requests,
            seconds,
        }
    }

    fn record(&self, elapsed: Duration) {
        self.requests.increment(1);
        self.seconds.record(elapsed.as_secs_f64());
    }
}

/// Clients may invent methods; those must not create metrics.
fn known_method(method: &str) -> &'static str {
    const KNOWN_METHODS: [&str; 7] = ["GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"];
    let found = KNOWN_METHODS.into_iter().find(|known| *known == method);
    found.unwrap_or("other")
}
