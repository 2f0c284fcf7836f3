//! What a gateway announces each second.

use serde::{Deserialize, Serialize};

/// A gateway, as it announces itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GatewayBeat {
    /// Its name.
    pub(crate) id: String,
    /// A random text of this start of its process.
    pub(crate) boot: String,
    /// The version of its program.
    #[serde(default)]
    pub(crate) version: String,
    /// Kept runs in progress.
    #[serde(default)]
    pub(crate) running: usize,
    /// Kept runs that it holds the lease of.
    #[serde(default)]
    pub(crate) leases: usize,
    /// Whether it stops: it accepts no more than it has.
    #[serde(default)]
    pub(crate) draining: bool,
}
