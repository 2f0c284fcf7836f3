//! `[telemetry]`: export of traces.
//!
//! The section is read in every build; `check` needs the feature `server`.

#[cfg(feature = "server")]
pub(super) mod check;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

pub(super) const KEYS: &[&str] = &["enabled", "otlp_endpoint", "headers", "service"];

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Telemetry")]
pub(super) struct TelemetryToml {
    /// Whether traces are sent; true when there is an `otlp_endpoint`.
    enabled: Option<bool>,
    /// OTLP/HTTP collector, for instance `http://127.0.0.1:4318`. If `enabled`, the default
    /// is `OTEL_EXPORTER_OTLP_ENDPOINT`.
    otlp_endpoint: Option<String>,
    /// Headers of export requests; `env:NAME` or `file:PATH` keeps keys out of this file.
    headers: BTreeMap<String, String>,
    /// Service name in traces; default `OTEL_SERVICE_NAME`, else `prowess`.
    service: Option<String>,
}
