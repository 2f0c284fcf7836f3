//! The official exporter: OTLP over HTTP in protobuf, with retries and `Retry-After`.

use opentelemetry::KeyValue;
use opentelemetry_otlp::{Protocol, RetryPolicy, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::{EnvResourceDetector, TelemetryResourceDetector};
use opentelemetry_sdk::trace::SpanExporter as _;

use super::http_client::CollectorClient;
use super::settings::TelemetrySettings;

const DEFAULT_SERVICE: &str = "prowess";

/// Builds the exporter. Timeout and further headers come from `OTEL_EXPORTER_OTLP_*` unless they
/// are configured.
///
/// # Errors
/// When the endpoint or a header is not valid.
pub(super) fn build_exporter(settings: &TelemetrySettings) -> Result<SpanExporter, String> {
    let client = CollectorClient::new(settings).map_err(|error| error.to_string())?;
    let mut builder = SpanExporter::builder()
        .with_http()
        .with_http_client(client)
        .with_protocol(Protocol::HttpBinary)
        .with_retry_policy(retry_policy())
        .with_endpoint(&settings.endpoint);
    if let Some(timeout) = settings.timeout {
        builder = builder.with_timeout(timeout);
    }
    let mut exporter = builder.build().map_err(|error| error.to_string())?;
    exporter.set_resource(&resource(settings));
    Ok(exporter)
}

/// Tries again until the time of the export is over: a collector that is restarted is gone for
/// longer than the recommended three retries take.
fn retry_policy() -> RetryPolicy {
    RetryPolicy::recommended().with_max_retries(usize::MAX)
}

/// Who sends the spans: what is configured, else `OTEL_RESOURCE_ATTRIBUTES`, else the defaults.
fn resource(settings: &TelemetrySettings) -> Resource {
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let resource = Resource::builder_empty()
        .with_detector(Box::new(TelemetryResourceDetector))
        .with_service_name(DEFAULT_SERVICE)
        .with_attribute(version)
        .with_detector(Box::new(EnvResourceDetector::new()));
    match &settings.service {
        Some(service) => resource.with_service_name(service.clone()),
        None => resource,
    }
    .build()
}
