//! `[webhooks]`: who is notified of the end of runs.
//!
//! The section is read in every build; `check` needs the feature `server`.

#[cfg(feature = "server")]
pub(super) mod check;

use schemars::JsonSchema;
use serde::Deserialize;

pub(super) const KEYS: &[&str] = &[
    "endpoints",
    "allow",
    "request_secret",
    "allow_private",
    "timeout_seconds",
    "max_attempts",
];

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Webhooks")]
pub(super) struct WebhooksToml {
    /// URLs that get the events of runs.
    endpoints: Vec<EndpointToml>,
    /// Hosts of the URLs that requests may name in the header `prowess-webhook`:
    /// `example.com`, `example.com:8443`, or `*.example.com` for all of its subdomains; none
    /// by default.
    allow: Vec<String>,
    /// Secret that signs webhooks to URLs of requests: `env:NAME`, `file:PATH` or the secret
    /// itself, as `whsec_` and base64.
    request_secret: Option<String>,
    /// Whether webhooks may be sent to private and loopback addresses.
    allow_private: bool,
    /// Timeout of one attempt in seconds; default 10.
    timeout_seconds: Option<u64>,
    /// Attempts, with growing delays of 5 seconds to 1 hour, before a webhook is given up;
    /// default 24.
    max_attempts: Option<u32>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "WebhookEndpoint")]
struct EndpointToml {
    /// The URL.
    url: String,
    /// Secret that signs its webhooks: `env:NAME`, `file:PATH` or the secret itself, as
    /// `whsec_` and base64.
    secret: String,
    /// Events that it gets, for instance `response.completed` or `run.failed`; default: all.
    #[serde(default)]
    events: Vec<String>,
    /// Names or ids of the keys whose runs it gets; default: all.
    #[serde(default)]
    keys: Vec<String>,
    /// Tenants whose runs it gets; default: all.
    #[serde(default)]
    tenants: Vec<String>,
}
