//! What an active request may still use, reserved until its actual usage is known.

use std::sync::{Arc, Mutex, PoisonError};

use prowess_store::KeyRecord;

use super::KeyRateLimits;

/// Tokens, and money in billionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Amount {
    pub(super) tokens: u64,
    pub(super) nanos: u64,
}

impl Amount {
    pub(super) fn is_nothing(self) -> bool {
        self == Amount::default()
    }
}

/// The reservation of a key's request. However the request ends, the unused part is released:
/// by [`SpendReservation::settle`], or on drop.
#[derive(Debug, Clone)]
pub(crate) struct SpendReservation(Arc<ReservationState>);

#[derive(Debug)]
struct ReservationState {
    limits: KeyRateLimits,
    key: Arc<KeyRecord>,
    /// What its input alone uses.
    input: Amount,
    /// None once it is settled.
    reserved: Mutex<Option<Amount>>,
}

impl SpendReservation {
    /// For an amount that `limits` have already reserved.
    pub(super) fn new(
        limits: KeyRateLimits,
        key: Arc<KeyRecord>,
        reserved: Amount,
        input: Amount,
    ) -> SpendReservation {
        SpendReservation(Arc::new(ReservationState {
            limits,
            key,
            input,
            reserved: Mutex::new(Some(reserved)),
        }))
    }

    /// Raises the reservation to the usage so far, if that is more.
    pub(crate) fn raise(&self, tokens: u64, nanos: u64) {
        let mut reserved = self.0.lock();
        if let Some(reserved) = reserved.as_mut() {
            let raised = Amount {
                tokens: reserved.tokens.max(tokens),
                nanos: reserved.nanos.max(nanos),
            };
            self.0
                .limits
                .adjust_reservation(&self.0.key, *reserved, raised);
            *reserved = raised;
        }
    }

    /// The request has ended and used this.
    pub(crate) fn settle(&self, tokens: u64, nanos: u64) {
        self.0.settle(Amount { tokens, nanos });
    }

    /// Ends the reservation without releasing its amount, which the caller does.
    pub(super) fn take(&self) -> Option<Amount> {
        self.0.lock().take()
    }

    /// The client left before usage was known; its input was sent anyway.
    pub(crate) fn settle_abandoned(&self) {
        self.0.settle(self.0.input);
    }
}

impl ReservationState {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Amount>> {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, used: Amount) {
        if let Some(reserved) = self.lock().take() {
            self.limits.settle(&self.key, reserved, used);
        }
    }
}

impl Drop for ReservationState {
    fn drop(&mut self) {
        self.settle(Amount::default());
    }
}
