//! How one of several deployments of a model is chosen, and when one is passed over.

use std::time::Duration;

/// How a deployment is chosen among those that can take a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeploymentStrategy {
    /// At random, in proportion to the weights.
    #[default]
    Weighted,
    /// The one with the fewest running calls for its weight.
    LeastBusy,
    /// Those whose responses begin soonest; every twentieth request goes to any, by weight, so
    /// that what is known of the others stays current.
    Fastest,
}

impl DeploymentStrategy {
    /// Its name, in configuration files and in the header `prowess-route`.
    pub fn as_str(self) -> &'static str {
        match self {
            DeploymentStrategy::Weighted => "weighted",
            DeploymentStrategy::LeastBusy => "least-busy",
            DeploymentStrategy::Fastest => "fastest",
        }
    }
}

/// How long a deployment is passed over after a failure, by its class. Then one request is sent
/// to it; if that succeeds, it gets its part again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CooldownPolicy {
    /// After a 429 that names no time of its own.
    pub rate_limited: Duration,
    /// After `failures` consecutive responses of 500 and above, or broken connections.
    pub server_error: Duration,
    /// Consecutive failures before `server_error` applies; 0 for never.
    pub failures: u32,
    /// After a response that did not begin in time.
    pub timeout: Duration,
    /// After a refused key or permission (401, 403), an account that cannot pay (402), or a model
    /// that does not exist there (404).
    pub auth: Duration,
}

impl Default for CooldownPolicy {
    fn default() -> Self {
        CooldownPolicy {
            rate_limited: Duration::from_secs(30),
            server_error: Duration::from_secs(10),
            failures: 3,
            timeout: Duration::from_secs(30),
            auth: Duration::from_secs(60),
        }
    }
}
