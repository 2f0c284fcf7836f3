//! What makes a server a gateway of a cluster, as its owner gives it.

use std::sync::Arc;

use prowess_bus::Bus;

use super::view::ClusterView;

/// The place of a server in a cluster. Lasts as long as the server: a reload does not change it.
#[derive(Debug, Clone)]
pub struct ClusterMembership {
    /// Carries messages between the gateways.
    pub bus: Bus,
    /// The name of this gateway, which no other has: letters, digits, `_` and `-`.
    pub gateway: String,
    /// The beginning of all subjects on the bus.
    pub namespace: String,
    /// What is known of the workers; none if code runs elsewhere.
    pub view: Option<Arc<dyn ClusterView>>,
}
