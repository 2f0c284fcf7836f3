//! What a gateway needs to use workers.

use std::time::Duration;

use prowess_bus::Bus;

/// Settings of a gateway's side of a cluster.
#[derive(Debug, Clone)]
pub struct ClusterSettings {
    /// Carries messages to workers and back.
    pub bus: Bus,
    /// The first part of all subjects.
    pub namespace: String,
    /// The name of this gateway, which no other has.
    pub gateway: String,
    /// How long a command waits until a worker can take it.
    pub wait: Duration,
    /// Commands of all tenants that wait for a worker; further ones are refused.
    pub waiting: usize,
    /// How long an unused container is retained.
    pub container_idle: Duration,
    /// Maximum age of a container.
    pub container_life: Duration,
    /// Containers of one tenant.
    pub containers_per_tenant: usize,
    /// How long a container that a new one may replace must have been idle.
    pub evict_idle: Duration,
    /// How long the store reserves a container for a command before the reservation has to be
    /// renewed: so long it is in use after the death of a gateway.
    pub hold: Duration,
    /// How long a worker can use a signed URL.
    pub url_life: Duration,
}

impl ClusterSettings {
    /// Defaults, as those of a sandbox on one host.
    #[must_use]
    pub fn new(bus: Bus, namespace: impl Into<String>, gateway: impl Into<String>) -> Self {
        Self {
            bus,
            namespace: namespace.into(),
            gateway: gateway.into(),
            wait: Duration::from_secs(30),
            waiting: 1_000,
            container_idle: Duration::from_secs(20 * 60),
            container_life: Duration::from_secs(24 * 60 * 60),
            containers_per_tenant: 10_000,
            evict_idle: Duration::from_secs(60),
            hold: Duration::from_secs(15),
            url_life: Duration::from_secs(15 * 60),
        }
    }
}
