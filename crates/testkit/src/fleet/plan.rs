//! What a cluster consists of.

use std::path::PathBuf;

/// What to start.
#[derive(Debug, Clone)]
pub struct FleetPlan {
    /// The binary under test.
    pub binary: PathBuf,
    /// The number of gateways behind HAProxy.
    pub gateways: usize,
    /// The number of workers.
    pub workers: usize,
    /// Commands that a worker runs at once.
    pub slots: usize,
    /// More configuration of the gateways: providers, webhooks.
    pub config: String,
    /// More configuration of the workers.
    pub worker_config: String,
    /// Variables of all gateways and workers.
    pub variables: Vec<(String, String)>,
}

impl FleetPlan {
    /// Three gateways and three workers of this binary, with this configuration of providers.
    pub fn new(binary: impl Into<PathBuf>, config: impl Into<String>) -> Self {
        FleetPlan {
            binary: binary.into(),
            gateways: 3,
            workers: 3,
            slots: 4,
            config: config.into(),
            worker_config: String::new(),
            variables: Vec::new(),
        }
    }

    /// The same with a variable of all gateways and workers.
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }
}
