//! `[webhooks]`: who is notified of the end of runs.
//!
//! The section is read in every build; `check` needs the feature `server`.

#[cfg(feature = "server")]
pub(super) mod check;

use schemars::JsonSchema;
use serde::Deserialize;

use super::values::DurationSetting;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Webhooks")]
pub(super) struct WebhooksToml {
    /// URLs that get the events of runs.
    endpoints: Vec<EndpointToml>,
    /// Hosts of the URLs that requests may name in the header `prowess-webhook`:
    /// `example.com`, `example.com:8443`, or `*.example.com` for all of its subdomains.
    #[schemars(extend("x-shown" = true))]
    allow: Vec<String>,
    /// Secret that signs webhooks to URLs of requests: `env:NAME`, `file:PATH` or the secret
    /// itself, as `whsec_` and base64.
    request_secret: Option<String>,
    /// Whether webhooks may be sent to private and loopback addresses.
    allow_private: bool,
    /// Timeout of one attempt, up to a minute.
    #[schemars(extend("x-old-names" = ["timeout_seconds"]))]
    timeout: DurationSetting,
    /// Attempts, with growing delays of 5 seconds to 1 hour, before a webhook is given up.
    max_attempts: u32,
}

impl Default for WebhooksToml {
    fn default() -> Self {
        WebhooksToml {
            endpoints: Vec::new(),
            allow: Vec::new(),
            request_secret: None,
            allow_private: false,
            timeout: DurationSetting::from_secs(10),
            max_attempts: 24,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WebhookEndpoint")]
#[cfg_attr(
    not(feature = "server"),
    expect(dead_code, reason = "only a server checks and uses them")
)]
struct EndpointToml {
    /// The URL.
    #[schemars(extend("x-shown" = "address"))]
    url: String,
    /// Secret that signs its webhooks: `env:NAME`, `file:PATH` or the secret itself, as
    /// `whsec_` and base64.
    secret: String,
    /// Events that it gets, for instance `response.completed` or `run.failed`.
    #[serde(default)]
    #[schemars(extend("x-shown" = true, "x-default" = "all"))]
    events: Vec<String>,
    /// Names or ids of the keys whose runs it gets.
    #[serde(default)]
    #[schemars(extend("x-shown" = true, "x-default" = "all"))]
    keys: Vec<String>,
    /// Tenants whose runs it gets.
    #[serde(default)]
    #[schemars(extend("x-shown" = true, "x-default" = "all"))]
    tenants: Vec<String>,
}
