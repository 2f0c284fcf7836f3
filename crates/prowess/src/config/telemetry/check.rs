//! Checks where traces are sent, with OpenTelemetry's variables as defaults. The exporter itself
//! reads those of headers, timeout and resource attributes.

use prowess_server::{SecretString, TelemetrySettings};

use super::{CompressionSetting, ProtocolSetting, TelemetryToml};
use crate::config::error::ConfigError;
use crate::config::secret;

const TRACES_PATH: &str = "/v1/traces";
/// The only protocol.
const PROTOCOL: &str = "http/protobuf";

pub(in crate::config) fn check(
    raw: &TelemetryToml,
) -> Result<Option<TelemetrySettings>, ConfigError> {
    read(raw, &|name| {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    })
}

/// Reads a variable; an empty one is as none.
type ReadVariable<'a> = &'a dyn Fn(&str) -> Option<String>;

fn read(
    raw: &TelemetryToml,
    variables: ReadVariable<'_>,
) -> Result<Option<TelemetrySettings>, ConfigError> {
    let is_disabled =
        variables("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true"));
    if is_disabled || !raw.enabled.unwrap_or(raw.otlp_endpoint.is_some()) {
        return Ok(None);
    }
    let mut headers = Vec::new();
    for (name, value) in &raw.headers {
        let value = secret::resolve("telemetry.headers", value)?;
        headers.push((name.clone(), SecretString::new(value.expose())));
    }
    if !(0.0..=1.0).contains(&raw.sample_ratio) {
        let reason = format!("{} must be from 0 to 1", raw.sample_ratio);
        return Err(ConfigError::invalid("telemetry.sample_ratio", reason));
    }
    check_protocol(raw.protocol, variables)?;
    let service = raw.service.clone();
    Ok(Some(TelemetrySettings {
        endpoint: endpoint(raw, variables)?,
        headers,
        service: service.or_else(|| variables("OTEL_SERVICE_NAME")),
        sample_ratio: raw.sample_ratio,
        content: raw.content,
        gzip: compression(raw, variables) == CompressionSetting::Gzip,
        timeout: raw.timeout.map(|timeout| timeout.get()),
    }))
}

/// A variable of traces, or else of everything that is exported.
fn exporter_variable(name: &str, variables: ReadVariable<'_>) -> Option<String> {
    variables(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}"))
        .or_else(|| variables(&format!("OTEL_EXPORTER_OTLP_{name}")))
}

fn check_protocol(
    ProtocolSetting::HttpProtobuf: ProtocolSetting,
    variables: ReadVariable<'_>,
) -> Result<(), ConfigError> {
    match exporter_variable("PROTOCOL", variables) {
        Some(other) if other != PROTOCOL => {
            let reason = format!(
                "OTEL_EXPORTER_OTLP_PROTOCOL is `{other}`, but traces are sent by `{PROTOCOL}` \
                 only; set the variable to that, and the endpoint to the collector's port for \
                 HTTP (4318)"
            );
            Err(ConfigError::invalid("telemetry.protocol", reason))
        }
        _ => Ok(()),
    }
}

fn compression(raw: &TelemetryToml, variables: ReadVariable<'_>) -> CompressionSetting {
    let variable = || match exporter_variable("COMPRESSION", variables)?.as_str() {
        "gzip" => Some(CompressionSetting::Gzip),
        _ => None,
    };
    raw.compression
        .or_else(variable)
        .unwrap_or(CompressionSetting::None)
}

fn endpoint(raw: &TelemetryToml, variables: ReadVariable<'_>) -> Result<String, ConfigError> {
    const SETTING: &str = "telemetry.otlp_endpoint";
    // This one is the whole URL.
    if let (None, Some(traces)) = (
        &raw.otlp_endpoint,
        variables("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
    ) {
        return Ok(traces);
    }
    let base = raw.otlp_endpoint.clone();
    let base = base.or_else(|| variables("OTEL_EXPORTER_OTLP_ENDPOINT"));
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn settings(text: &str, set: &[(&str, &str)]) -> Result<Option<TelemetrySettings>, String> {
        let raw: TelemetryToml = toml::from_str(text).map_err(|error| error.to_string())?;
        let variables = |name: &str| {
            let mut set = set.iter();
            let found = set.find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        read(&raw, &variables).map_err(|error| error.to_string())
    }

    #[test]
    fn traces_are_off_unless_a_collector_is_configured() {
        let variable = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://here:4318")];
        assert!(settings("", &variable).unwrap().is_none());
        let on = settings("enabled = true", &variable).unwrap().unwrap();
        assert_eq!(on.endpoint, "http://here:4318/v1/traces");
        let off = "otlp_endpoint = 'http://there:4318'\nenabled = false";
        assert!(settings(off, &variable).unwrap().is_none());
        let disabled = [("OTEL_SDK_DISABLED", "true")];
        let there = "otlp_endpoint = 'http://there:4318'";
        assert!(settings(there, &disabled).unwrap().is_none());
    }

    #[test]
    fn settings_win_over_variables() {
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://here:4318"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
            ("OTEL_SERVICE_NAME", "by-variable"),
        ];
        let read = settings("enabled = true", &variables).unwrap().unwrap();
        assert_eq!(read.service.as_deref(), Some("by-variable"));
        assert!(read.gzip && !read.content);
        let text = "otlp_endpoint = 'https://there/'\nservice = 'by-file'\ncompression = 'none'\n\
                    timeout = '3s'\nsample_ratio = 0.5\ncontent = true";
        let read = settings(text, &variables).unwrap().unwrap();
        assert_eq!(read.endpoint, "https://there/v1/traces");
        assert_eq!(read.service.as_deref(), Some("by-file"));
        assert!(!read.gzip && read.content);
        assert_eq!(read.timeout, Some(Duration::from_secs(3)));
        assert!((read.sample_ratio - 0.5).abs() < f64::EPSILON);
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        let there = "otlp_endpoint = 'http://there:4317'";
        let refused = |text: &str, variables: &[(&str, &str)]| {
            settings(text, variables).err().unwrap_or_default()
        };
        let grpc = refused(there, &[("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc")]);
        assert!(grpc.contains("telemetry.protocol"), "{grpc}");
        let ratio = refused(&format!("{there}\nsample_ratio = 1.5"), &[]);
        assert!(ratio.contains("must be from 0 to 1"), "{ratio}");
        let scheme = refused("otlp_endpoint = 'there:4318'", &[]);
        assert!(
            scheme.contains("must begin with http:// or https://"),
            "{scheme}"
        );
    }
}
