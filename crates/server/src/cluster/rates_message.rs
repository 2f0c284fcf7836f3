//! What keys have used, as gateways report it to each other.

use serde::{Deserialize, Serialize};

use crate::limits::shared::KeyUsageReport;

/// What the keys of a gateway have used.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RatesMessage {
    /// Names the process.
    pub(super) boot: String,
    pub(super) keys: Vec<KeyUsageReport>,
}
