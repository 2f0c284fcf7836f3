//! What all calls of one model share: its places, its breaker, what it can do.

use crate::breaker::CircuitBreaker;
use crate::config::{Price, WriteOverrides};
use crate::error::CallError;
use crate::limiter::{CallPermit, ConcurrencyLimiter};

/// What all calls of one model share.
#[derive(Debug)]
pub(crate) struct ModelSlot {
    pub(crate) breaker: CircuitBreaker,
    pub(crate) limiter: Option<ConcurrencyLimiter>,
    /// How it differs from what is known of a model of its name.
    pub(crate) write_overrides: WriteOverrides,
    pub(crate) price: Option<Price>,
}

impl ModelSlot {
    /// Takes a place, where places are counted.
    pub(crate) async fn acquire(&self) -> Result<Option<CallPermit>, CallError> {
        match &self.limiter {
            Some(limiter) => limiter.acquire().await.map(Some),
            None => Ok(None),
        }
    }
}
