//! What an active request may still use, reserved until its actual usage is known.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    held: Mutex<Option<HeldAmount>>,
}

/// What a request holds of its key's limits.
#[derive(Debug, Clone, Copy)]
struct HeldAmount {
    reserved: Amount,
    /// The money that its turns have used so far, which is less than is reserved.
    used_nanos: u64,
    /// Whether its turns are in usage rows as soon as they have ended.
    is_stored: bool,
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
            held: Mutex::new(Some(HeldAmount {
                reserved,
                used_nanos: 0,
                is_stored: false,
            })),
        }))
    }

    /// Raises the reservation to the usage so far, if that is more.
    pub(crate) fn raise(&self, tokens: u64, nanos: u64) {
        let mut held = self.0.lock();
        if let Some(held) = held.as_mut() {
            let raised = Amount {
                tokens: held.reserved.tokens.max(tokens),
                nanos: held.reserved.nanos.max(nanos),
            };
            let (limits, key) = (&self.0.limits, &self.0.key);
            limits.adjust_reservation(key, held.reserved, raised);
            held.reserved = raised;
            let used_nanos = held.used_nanos.max(nanos);
            limits.note_progress(key, held.used_nanos, used_nanos, held.is_stored);
            held.used_nanos = used_nanos;
        }
    }

    /// The request is a kept run: each of its turns is in a usage row once it has ended. Called
    /// before it has used anything.
    pub(crate) fn set_stored(&self) {
        if let Some(held) = self.0.lock().as_mut().filter(|held| held.used_nanos == 0) {
            held.is_stored = true;
        }
    }

    /// Whether the key has any budget left, if this request has used so much money so far and the
    /// others what they have reported.
    pub(crate) fn leaves_budget(&self, nanos: u64) -> bool {
        let reported = self.0.lock().map_or(0, |held| held.used_nanos);
        let more = nanos.saturating_sub(reported);
        self.0.limits.has_budget_left(&self.0.key, more)
    }

    /// The request has ended and used this.
    pub(crate) fn settle(&self, tokens: u64, nanos: u64) {
        self.0.settle(Amount { tokens, nanos });
    }

    /// Ends the reservation without releasing its amount, which the caller does.
    pub(super) fn take(&self) -> Option<Amount> {
        let held = self.0.lock().take()?;
        let (limits, key) = (&self.0.limits, &self.0.key);
        limits.note_progress(key, held.used_nanos, 0, held.is_stored);
        Some(held.reserved)
    }

    /// The client left before usage was known; its input was sent anyway.
    pub(crate) fn settle_abandoned(&self) {
        self.0.settle(self.0.input);
    }
}

impl ReservationState {
    fn lock(&self) -> MutexGuard<'_, Option<HeldAmount>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, used: Amount) {
        if let Some(held) = self.lock().take() {
            let before = held.used_nanos;
            self.limits
                .note_progress(&self.key, before, 0, held.is_stored);
            self.limits.settle(&self.key, held.reserved, used);
        }
    }
}

impl Drop for ReservationState {
    fn drop(&mut self) {
        self.settle(Amount::default());
    }
}
