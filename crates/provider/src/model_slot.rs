//! State shared by all calls of one model: its permits, its circuit breaker, what it
//! supports.

use crate::breaker::CircuitBreaker;
use crate::config::{Price, WriteOverrides};
use crate::error::CallError;
use crate::limiter::{CallPermit, ConcurrencyLimiter};

/// State shared by all calls of one model.
#[derive(Debug)]
pub(crate) struct ModelSlot {
    pub(crate) breaker: CircuitBreaker,
    pub(crate) limiter: Option<ConcurrencyLimiter>,
    /// What it supports, where it differs from the defaults for its name.
    pub(crate) write_overrides: WriteOverrides,
    pub(crate) price: Option<Price>,
}

impl ModelSlot {
    /// Acquires a permit, if the model has a limit.
    pub(crate) async fn acquire(&self) -> Result<Option<CallPermit>, CallError> {
        match &self.limiter {
            Some(limiter) => limiter.acquire().await.map(Some),
            None => Ok(None),
        }
    }
}
