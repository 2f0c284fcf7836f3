//! Counts and times for Prometheus.

use std::cell::RefCell;
use std::sync::OnceLock;
use std::time::Duration;

use metrics::{Counter, Histogram};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

/// Seconds by which requests are sorted.
const BUCKET_SECONDS: [f64; 11] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0,
];

/// The process's metrics, as they are asked for.
#[derive(Clone, Default)]
pub(crate) struct Metrics(Option<PrometheusHandle>);

impl Metrics {
    /// Collects what this process counts. The first call installs the collector; if
    /// something else collects already, there is nothing to show here.
    pub(crate) fn install() -> Metrics {
        static INSTALLED: OnceLock<Metrics> = OnceLock::new();
        INSTALLED
            .get_or_init(|| {
                let builder = PrometheusBuilder::new().set_buckets(&BUCKET_SECONDS);
                let recorder = builder.map(|builder| builder.build_recorder());
                let Ok(recorder) = recorder else {
                    return Metrics(None);
                };
                let handle = recorder.handle();
                Metrics(
                    metrics::set_global_recorder(recorder)
                        .is_ok()
                        .then_some(handle),
                )
            })
            .clone()
    }

    /// In Prometheus' text format.
    pub(crate) fn render(&self) -> String {
        self.run_upkeep();
        self.0
            .as_ref()
            .map(PrometheusHandle::render)
            .unwrap_or_default()
    }

    /// Adds up what was recorded since the last time. Until then every single time that
    /// a request took is kept, so somebody has to call this now and then, whether or
    /// not anybody asks for the metrics.
    pub(crate) fn run_upkeep(&self) {
        if let Some(handle) = &self.0 {
            handle.run_upkeep();
        }
    }
}

/// What is counted of requests of one kind.
struct RequestSeries {
    method: &'static str,
    route: String,
    status: u16,
    requests: Counter,
    seconds: Histogram,
}

/// Kinds that a thread remembers. Routes are patterns, so there are few.
const MAX_CACHED_SERIES: usize = 256;

thread_local! {
    /// To find a counter by its labels costs more than all else here.
    static SERIES: RefCell<Vec<RequestSeries>> = const { RefCell::new(Vec::new()) };
}

/// Notes one request.
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

/// Clients may invent methods; they shall not invent metrics.
fn known_method(method: &str) -> &'static str {
    const KNOWN_METHODS: [&str; 7] = ["GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"];
    let found = KNOWN_METHODS.into_iter().find(|known| *known == method);
    found.unwrap_or("other")
}
