//! The memory of a request: of its body, and of the stored conversation that it continues. It
//! counts for the tenant until the request is answered, and until the end of the response if that
//! needs what the request contained.

use std::sync::Arc;

use axum::response::Response;

use crate::bodies::{BodyBudget, BodyReservation, hold_until_read};
use crate::error::HttpError;
use crate::read_body::stored_bytes;

/// How many times a stored text is in memory: as it was read, as values, and as it is sent on.
const COPIES: usize = 3;

/// The memory of one request.
pub(super) struct RequestMemory<'a> {
    reservation: BodyReservation<'a>,
    outlives_request: bool,
}

impl<'a> RequestMemory<'a> {
    /// That of its body.
    pub(super) fn new(reservation: BodyReservation<'a>) -> RequestMemory<'a> {
        RequestMemory {
            reservation,
            outlives_request: false,
        }
    }

    /// Counts stored texts that are about to be parsed.
    pub(super) async fn count<'t>(
        &mut self,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Result<(), HttpError> {
        let bytes = stored_bytes(texts, COPIES)?;
        self.reservation.grow(bytes).await
    }

    /// The response needs what the request contained until its end.
    pub(super) fn keep(&mut self) {
        self.outlives_request = true;
    }

    /// The response, which holds what it needs.
    pub(super) fn attach(self, budget: &Arc<BodyBudget>, response: Response) -> Response {
        match self.outlives_request {
            true => hold_until_read(response, self.reservation.into_owned(budget)),
            false => response,
        }
    }
}
