//! How one of several deployments is chosen, and when one is passed over.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use prowess_provider::config::{CooldownPolicy, DeploymentStrategy};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, IntoDeserializer as _, Visitor};
use serde::{Deserialize, Deserializer};

use crate::config::values::DurationSetting;

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(super) enum StrategySetting {
    /// At random, in proportion to the weights.
    Weighted,
    /// The one with the fewest running calls for its weight.
    LeastBusy,
    /// Those whose responses begin soonest.
    Fastest,
}

impl StrategySetting {
    pub(super) fn get(self) -> DeploymentStrategy {
        match self {
            StrategySetting::Weighted => DeploymentStrategy::Weighted,
            StrategySetting::LeastBusy => DeploymentStrategy::LeastBusy,
            StrategySetting::Fastest => DeploymentStrategy::Fastest,
        }
    }
}

/// How long one of several deployments is passed over after a failure; then one request finds
/// out whether it works again.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Cooldown")]
pub(super) struct CooldownToml {
    /// After status 429, unless the response says how long.
    rate_limited: DurationSetting,
    /// After `failures` consecutive responses of 500 and above, or broken connections.
    server_error: DurationSetting,
    /// Consecutive failures before `server_error` applies; 0 for never.
    failures: u32,
    /// After a response that did not begin in time.
    timeout: DurationSetting,
    /// After a refused key (401, 403), an account that cannot pay (402) or a missing model (404).
    auth: DurationSetting,
}

impl Default for CooldownToml {
    fn default() -> Self {
        let defaults = CooldownPolicy::default();
        CooldownToml {
            rate_limited: defaults.rate_limited.into(),
            server_error: defaults.server_error.into(),
            failures: defaults.failures,
            timeout: defaults.timeout.into(),
            auth: defaults.auth.into(),
        }
    }
}

impl CooldownToml {
    pub(super) fn policy(&self) -> CooldownPolicy {
        CooldownPolicy {
            rate_limited: self.rate_limited.get(),
            server_error: self.server_error.get(),
            failures: self.failures,
            timeout: self.timeout.get(),
            auth: self.auth.get(),
        }
    }
}

/// A length of time, or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StickySetting(Duration);

impl StickySetting {
    /// Zero for `off`.
    pub(super) fn get(self) -> Duration {
        self.0
    }
}

impl<'de> Deserialize<'de> for StickySetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StickyVisitor)
    }
}

struct StickyVisitor;

impl Visitor<'_> for StickyVisitor {
    type Value = StickySetting;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("\"off\", or a length of time such as \"5m\" (units: ms, s, m, h, d)")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        if text == "off" {
            return Ok(StickySetting(Duration::ZERO));
        }
        let setting = <DurationSetting>::deserialize(text.into_deserializer())?;
        Ok(StickySetting(setting.get()))
    }

    fn visit_i64<E: Error>(self, seconds: i64) -> Result<Self::Value, E> {
        let setting = <DurationSetting>::deserialize(seconds.into_deserializer())?;
        Ok(StickySetting(setting.get()))
    }
}

impl JsonSchema for StickySetting {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Sticky")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "integer"],
            "pattern": "^(off|[0-9]+(ms|s|m|h|d))$",
            "minimum": 0,
            "x-value": "duration",
            "x-plain-unit": "seconds",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Table {
        sticky: StickySetting,
    }

    #[test]
    fn a_preference_is_off_or_a_length_of_time() {
        let read = |text: &str| toml::from_str::<Table>(text).map(|table| table.sticky.get());
        for (value, seconds) in [("\"off\"", 0), ("\"5m\"", 300), ("90", 90)] {
            let read = read(&format!("sticky = {value}")).unwrap();
            assert_eq!(read.as_secs(), seconds, "{value}");
        }
        let refused = read("sticky = \"on\"").unwrap_err().to_string();
        assert!(refused.contains("is not a length of time"), "{refused}");
    }
}
