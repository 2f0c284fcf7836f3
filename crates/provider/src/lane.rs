//! What all calls of one model share: its places, its breaker, what it can do.

use crate::breaker::Breaker;
use crate::config::{Price, WriteChanges};
use crate::error::CallError;
use crate::limit::{Limiter, Permit};

/// What all calls of one model share.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) breaker: Breaker,
    pub(crate) limiter: Option<Limiter>,
    /// How it differs from what is known of a model of its name.
    pub(crate) write: WriteChanges,
    pub(crate) price: Option<Price>,
}

impl Lane {
    /// Takes a place, where places are counted.
    pub(crate) async fn enter(&self) -> Result<Option<Permit>, CallError> {
        match &self.limiter {
            Some(limiter) => limiter.enter().await.map(Some),
            None => Ok(None),
        }
    }
}
