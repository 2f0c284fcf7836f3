//! Checks where traces are sent, with OpenTelemetry's variables as defaults.

use prowess_server::TelemetrySettings;

use super::TelemetryToml;
use crate::config::error::ConfigError;
use crate::config::secret;

const TRACES_PATH: &str = "/v1/traces";

pub(in crate::config) fn check(
    raw: &TelemetryToml,
) -> Result<Option<TelemetrySettings>, ConfigError> {
    if !raw.enabled.unwrap_or(raw.otlp_endpoint.is_some()) {
        return Ok(None);
    }
    let mut headers = Vec::new();
    for (name, value) in &raw.headers {
        let value = secret::resolve("telemetry.headers", value)?;
        headers.push((name.clone(), value.expose().to_owned()));
    }
    if headers.is_empty() {
        headers = headers_from_env();
    }
    let service = raw
        .service
        .clone()
        .or_else(|| env_value("OTEL_SERVICE_NAME"));
    Ok(Some(TelemetrySettings {
        endpoint: endpoint(raw)?,
        headers,
        service: service.unwrap_or_else(|| "prowess".to_owned()),
    }))
}

fn endpoint(raw: &TelemetryToml) -> Result<String, ConfigError> {
    const SETTING: &str = "telemetry.otlp_endpoint";
    if let (None, Some(traces)) = (
        &raw.otlp_endpoint,
        env_value("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
    ) {
        return Ok(traces);
    }
    let base = raw.otlp_endpoint.clone();
    let base = base.or_else(|| env_value("OTEL_EXPORTER_OTLP_ENDPOINT"));
    let base = base.ok_or_else(|| {
        let reason = "traces are enabled, but there is no collector: set this, or \
                      OTEL_EXPORTER_OTLP_ENDPOINT";
        ConfigError::invalid(SETTING, reason)
    })?;
    if !base.starts_with("http://") && !base.starts_with("https://") {
        let reason = format!("`{base}` must begin with http:// or https://");
        return Err(ConfigError::invalid(SETTING, reason));
    }
    let base = base.trim_end_matches('/');
    Ok(if base.ends_with(TRACES_PATH) {
        base.to_owned()
    } else {
        format!("{base}{TRACES_PATH}")
    })
}

/// Parses `a=b,c=d`, as the OpenTelemetry specification defines it.
fn headers_from_env() -> Vec<(String, String)> {
    let text = env_value("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default();
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .collect()
}

fn env_value(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
