//! Counts and times for Prometheus.

use std::sync::OnceLock;
use std::time::Duration;

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

/// Seconds by which requests are sorted.
const BUCKETS: [f64; 11] = [
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
                let builder = PrometheusBuilder::new().set_buckets(&BUCKETS);
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
        match &self.0 {
            None => String::new(),
            Some(handle) => {
                handle.run_upkeep();
                handle.render()
            }
        }
    }
}

/// Notes one request. Routes are patterns, so there are few of them.
pub(super) fn request(method: &str, route: &str, status: u16, taken: Duration) {
    let labels = [
        ("method", known(method).to_owned()),
        ("route", route.to_owned()),
        ("status", status.to_string()),
    ];
    metrics::counter!("prowess_http_requests_total", &labels).increment(1);
    let labels = [("route", route.to_owned())];
    metrics::histogram!("prowess_http_request_seconds", &labels).record(taken.as_secs_f64());
}

/// Clients may invent methods; they shall not invent metrics.
fn known(method: &str) -> &str {
    match method {
        "GET" | "HEAD" | "POST" | "DELETE" | "PUT" | "PATCH" | "OPTIONS" => method,
        _ => "other",
    }
}
