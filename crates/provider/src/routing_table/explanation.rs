//! What a request to a model would do, for people and programs.

use serde::Serialize;

use crate::config::{DeploymentStrategy, Price};

/// What a request to a model would do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RouteExplanation {
    /// The model name of the request.
    pub name: String,
    /// The name of the configured model that matches it; `None` for `provider/model`.
    pub entry: Option<String>,
    /// How a deployment is chosen; `None` if there is only one.
    pub strategy: Option<DeploymentStrategy>,
    /// How long a conversation prefers the deployment that answered it, in seconds.
    pub sticky_seconds: Option<f64>,
    /// The deployments, in the order of the configuration.
    pub deployments: Vec<DeploymentExplanation>,
    /// What is called when they fail.
    pub fallbacks: FallbackExplanation,
}

/// One deployment of a model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeploymentExplanation {
    /// The provider.
    pub provider: String,
    /// Its kind.
    pub kind: &'static str,
    /// The model, as the provider calls it.
    pub model: String,
    /// The known model that it is, if the configuration says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_model: Option<String>,
    /// Its part of the requests, among the deployments.
    pub weight: u32,
    /// Its limits.
    pub limits: LimitExplanation,
    /// When it is passed over, and for how long.
    pub breaker: BreakerExplanation,
    /// Maximum attempts of a request to it; with several deployments, of a request to any.
    pub attempts: u32,
    /// Timeouts in seconds, `None` for a scripted model.
    pub timeouts: Option<TimeoutExplanation>,
    /// The price of its tokens, per million.
    pub price: Option<Price>,
    /// Where the price comes from: `configured`, `known model of DATE` or `unpriced`.
    pub price_source: String,
    /// How requests of each dialect reach it.
    pub dialects: Vec<DialectExplanation>,
}

/// The limits of a deployment; `None` for no limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LimitExplanation {
    /// Calls that run at the same time.
    pub concurrent: Option<usize>,
    /// Calls that wait.
    pub queued: Option<usize>,
    /// Requests per minute.
    pub requests_per_minute: Option<u64>,
    /// Tokens per minute.
    pub tokens_per_minute: Option<u64>,
}

/// When a deployment is passed over, and for how long, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BreakerExplanation {
    /// Consecutive failures of the server that count; 0 for never.
    pub failures: u32,
    /// After so many failures.
    pub server_error_seconds: f64,
    /// After a 429 that names no time; `None` with a single deployment, which is called again.
    pub rate_limited_seconds: Option<f64>,
    /// After a response that did not begin in time.
    pub timeout_seconds: Option<f64>,
    /// After a refused key.
    pub auth_seconds: Option<f64>,
}

/// Timeouts of calls to a provider, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimeoutExplanation {
    /// Until the connection is established.
    pub connect: f64,
    /// Until the response begins.
    pub response: f64,
    /// Between two parts of a response.
    pub idle: f64,
}

/// How requests of a dialect reach a deployment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DialectExplanation {
    /// The client's dialect.
    pub client: &'static str,
    /// `pass-through` or `translation`.
    pub way: &'static str,
}

/// What is called when the deployments fail, as `provider/model`, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FallbackExplanation {
    /// After errors.
    pub errors: Vec<String>,
    /// When the request is too long.
    pub context: Vec<String>,
    /// When a filter of the provider refuses the request.
    pub content_filter: Vec<String>,
}
