//! The id of a request.

use std::fmt;

/// Identifies a request in the logs. It is not a secret.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestId(u64, u32);

impl RequestId {
    pub(crate) fn new() -> RequestId {
        RequestId(fastrand::u64(..), fastrand::u32(..))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "req_{:016x}{:08x}", self.0, self.1)
    }
}
