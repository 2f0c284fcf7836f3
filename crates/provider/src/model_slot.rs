//! State shared by all calls of one model: its permits, its circuit breaker, what it
//! supports, what it costs.

use crate::breaker::CircuitBreaker;
use crate::config::{Price, WriteOverrides};
use crate::deployments::state::DeploymentState;
use crate::error::CallError;
use crate::known_models::BaseModel;
use crate::limiter::{CallPermit, ConcurrencyLimiter};

/// State shared by all calls of one model.
#[derive(Debug)]
pub(crate) struct ModelSlot {
    pub(crate) breaker: CircuitBreaker,
    pub(crate) limiter: Option<ConcurrencyLimiter>,
    /// What it supports, where it differs from the defaults for its name.
    pub(crate) write_overrides: WriteOverrides,
    /// The known model that it is, where its name does not say so.
    pub(crate) base_model: Option<BaseModel>,
    pub(crate) price: Option<Price>,
    /// Whether the price is configured, and not that of a known model.
    pub(crate) has_own_price: bool,
    /// What the choice of a deployment needs; `None` for a model with only one.
    pub(crate) deployment: Option<DeploymentState>,
    /// Whether another deployment is called when a call fails, instead of the same again.
    pub(crate) has_siblings: bool,
}

impl ModelSlot {
    /// The state of a model without limits.
    pub(crate) fn new(breaker: CircuitBreaker) -> Self {
        ModelSlot {
            breaker,
            limiter: None,
            write_overrides: WriteOverrides::default(),
            base_model: None,
            price: None,
            has_own_price: false,
            deployment: None,
            has_siblings: false,
        }
    }

    /// Acquires a permit for a call of an owner, if the model has a limit or its calls are counted.
    pub(crate) async fn acquire(&self, owner: u64) -> Result<Option<CallPermit>, CallError> {
        let running = self.deployment.as_ref().map(DeploymentState::begin);
        let place = match &self.limiter {
            Some(limiter) => Some(limiter.acquire(owner).await?),
            None if running.is_none() => return Ok(None),
            None => None,
        };
        Ok(Some(CallPermit { place, running }))
    }

    /// Whether a call would have to wait for another to end.
    pub(crate) fn is_saturated(&self) -> bool {
        let limiter = self.limiter.as_ref();
        limiter.is_some_and(ConcurrencyLimiter::is_saturated)
    }

    /// Goes on where the same model of an earlier configuration is.
    pub(crate) fn take_over(&self, previous: &ModelSlot) {
        self.breaker.take_over(&previous.breaker);
        if let (Some(limiter), Some(previous)) = (&self.limiter, &previous.limiter) {
            limiter.take_over(previous);
        }
        if let (Some(state), Some(previous)) = (&self.deployment, &previous.deployment) {
            state.take_over(previous);
        }
    }
}
