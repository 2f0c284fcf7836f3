//! Where spans are sent, and how many. Must not know how they are made.

use std::time::Duration;

use crate::secret::SecretString;

/// A trace collector for OTLP over HTTP.
///
/// What is `None` here is taken from OpenTelemetry's own variables, and else has their defaults.
#[derive(Debug, Clone)]
pub struct TelemetrySettings {
    /// The full URL, including `/v1/traces`.
    pub endpoint: String,
    /// Headers of export requests, such as a key. They replace those of
    /// `OTEL_EXPORTER_OTLP_HEADERS` that have the same name.
    pub headers: Vec<(String, SecretString)>,
    /// The service name in traces.
    pub service: Option<String>,
    /// Which part of the traces that begin here is sent, from 0 to 1. A trace that a client has
    /// begun is sent if the client says so.
    pub sample_ratio: f64,
    /// Whether texts are sent too: what tools were called with and returned, and what models
    /// wrote in runs.
    pub content: bool,
    /// Whether export requests are compressed.
    pub gzip: bool,
    /// How long an export may take, with all retries.
    pub timeout: Option<Duration>,
}

impl Default for TelemetrySettings {
    fn default() -> Self {
        TelemetrySettings {
            endpoint: "http://127.0.0.1:4318/v1/traces".to_owned(),
            headers: Vec::new(),
            service: None,
            sample_ratio: 1.0,
            content: false,
            gzip: false,
            timeout: None,
        }
    }
}
