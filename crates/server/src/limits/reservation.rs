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
    progress: SpentSoFar,
    /// Whether its turns are in usage rows as soon as they have ended.
    is_stored: bool,
}

/// The money that the turns of a request have used so far, in billionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SpentSoFar {
    /// As it has reported it, which is less than is reserved.
    pub(super) nanos: u64,
    /// The part that usage rows have, or may have in a moment.
    pub(super) in_rows: u64,
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
                progress: SpentSoFar::default(),
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
            let nanos = held.progress.nanos.max(nanos);
            let in_rows = match held.is_stored {
                true => held.progress.in_rows.max(nanos),
                false => held.progress.in_rows,
            };
            self.0.note_progress(held, SpentSoFar { nanos, in_rows });
        }
    }

    /// A turn of this kept run has ended that cost so much, and its row is about to be written: who
    /// reads the rows may find it there before the run reports it.
    pub(crate) fn expect_row(&self, nanos: u64) {
        if let Some(held) = self.0.lock().as_mut() {
            let progress = SpentSoFar {
                in_rows: held.progress.nanos.saturating_add(nanos),
                ..held.progress
            };
            self.0.note_progress(held, progress);
        }
    }

    /// The request is a kept run: each of its turns is in a usage row once it has ended. Called
    /// before it has reported that it used anything.
    pub(crate) fn set_stored(&self) {
        if let Some(held) = self.0.lock().as_mut()
            && held.progress.nanos == 0
        {
            held.is_stored = true;
        }
    }

    /// Whether the key has any budget left, if this request has used so much money so far and the
    /// others what they have reported.
    pub(crate) fn leaves_budget(&self, nanos: u64) -> bool {
        let reported = self.0.lock().map_or(0, |held| held.progress.nanos);
        let more = nanos.saturating_sub(reported);
        self.0.limits.has_budget_left(&self.0.key, more)
    }

    /// The request has ended and used this.
    pub(crate) fn settle(&self, tokens: u64, nanos: u64) {
        self.0.settle(Amount { tokens, nanos });
    }

    /// Ends the reservation without releasing its amount, which the caller does.
    pub(super) fn take(&self) -> Option<Amount> {
        let mut held = self.0.lock().take()?;
        self.0.note_progress(&mut held, SpentSoFar::default());
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
            let HeldAmount {
                reserved, progress, ..
            } = held;
            self.limits.settle(&self.key, reserved, progress, used);
        }
    }

    fn note_progress(&self, held: &mut HeldAmount, progress: SpentSoFar) {
        self.limits
            .note_progress(&self.key, held.progress, progress);
        held.progress = progress;
    }
}

impl Drop for ReservationState {
    fn drop(&mut self) {
        self.settle(Amount::default());
    }
}
