//! `[telemetry]`: export of traces.
//!
//! The section is read in every build; `check` needs the feature `server`.

#[cfg(feature = "server")]
pub(super) mod check;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::values::DurationSetting;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Telemetry")]
pub(super) struct TelemetryToml {
    /// Whether traces are sent.
    #[schemars(extend("x-default" = "`true` if there is an `otlp_endpoint`"))]
    enabled: Option<bool>,
    /// OTLP/HTTP collector, for instance `http://127.0.0.1:4318`.
    #[schemars(extend(
        "x-shown" = "address",
        "x-default" = "`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` or `OTEL_EXPORTER_OTLP_ENDPOINT`"
    ))]
    otlp_endpoint: Option<String>,
    /// Headers of export requests; `env:NAME` or `file:PATH` keeps keys out of this file. Those
    /// of `OTEL_EXPORTER_OTLP_HEADERS` are sent too, unless one of the same name is here.
    headers: BTreeMap<String, String>,
    /// Service name in traces.
    #[schemars(extend("x-shown" = true, "x-default" = "`OTEL_SERVICE_NAME`, else `prowess`"))]
    service: Option<String>,
    /// How spans are sent.
    protocol: ProtocolSetting,
    /// Compression of export requests.
    #[schemars(extend("x-default" = "`OTEL_EXPORTER_OTLP_COMPRESSION`, else `none`"))]
    compression: Option<CompressionSetting>,
    /// How long an export may take, with its retries.
    #[schemars(extend("x-default" = "`OTEL_EXPORTER_OTLP_TIMEOUT`, else `10s`"))]
    timeout: Option<DurationSetting>,
    /// Which part of the traces that begin here is sent, from 0 to 1. A trace that a client has
    /// begun is sent if the client says so.
    sample_ratio: f64,
    /// Whether texts are sent too: what tools were called with and returned, and what models
    /// wrote in runs.
    content: bool,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
enum ProtocolSetting {
    /// Protobuf over HTTP.
    #[serde(rename = "http/protobuf")]
    HttpProtobuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum CompressionSetting {
    /// None.
    None,
    /// gzip.
    Gzip,
}

impl Default for TelemetryToml {
    fn default() -> Self {
        TelemetryToml {
            enabled: None,
            otlp_endpoint: None,
            headers: BTreeMap::new(),
            service: None,
            protocol: ProtocolSetting::HttpProtobuf,
            compression: None,
            timeout: None,
            sample_ratio: 1.0,
            content: false,
        }
    }
}
