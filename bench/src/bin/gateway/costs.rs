//! What was measured: of each workload and each gateway, CPU time, time of clients, memory.

use std::time::Duration;

/// One workload, and what it cost each gateway. nginx is the first.
pub(crate) struct WorkloadCosts {
    pub(crate) what: &'static str,
    /// The p50 without any gateway.
    pub(crate) direct: Duration,
    pub(crate) costs: Vec<ProxyCost>,
}

/// What a workload cost one gateway.
pub(crate) struct ProxyCost {
    pub(crate) name: String,
    pub(crate) cpu: Duration,
    /// The p50 beyond that without any gateway.
    pub(crate) added: Duration,
}

/// CPU time of one binary of Prowess for the same workload in two ways.
pub(crate) struct TranslationCost {
    pub(crate) what: &'static str,
    pub(crate) name: String,
    pub(crate) passed: Duration,
    pub(crate) translated: Duration,
}

/// Memory of one gateway, in bytes.
pub(crate) struct MemoryUse {
    pub(crate) name: String,
    pub(crate) idle: u64,
    /// With many streams open; none if it was not tried.
    pub(crate) streaming: Option<u64>,
}

/// How long one gateway took from its start until it accepted connections.
pub(crate) struct ReadyTime {
    pub(crate) name: String,
    pub(crate) time: Duration,
}

impl WorkloadCosts {
    /// What it cost the gateway of this name.
    pub(crate) fn cost(&self, name: &str) -> Option<&ProxyCost> {
        self.costs.iter().find(|cost| cost.name == name)
    }

    /// Whether its costs are per event.
    pub(crate) fn is_per_event(&self) -> bool {
        is_per_event(self.what)
    }
}

impl TranslationCost {
    /// Whether its costs are per event.
    pub(crate) fn is_per_event(&self) -> bool {
        is_per_event(self.what)
    }
}

fn is_per_event(what: &str) -> bool {
    what.starts_with("an event")
}

/// A duration in microseconds.
pub(crate) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
