//! An answer that is made of stored texts: chat completions, responses, items of conversations.
//! They may be as large as requests, and their values take more memory still. So few are read at
//! once, and their bytes count for the tenant until the client has read the answer.

use axum::response::Response;
use prowess_store::TenantId;

use crate::app::App;
use crate::bodies::{OwnedBodyReservation, hold_until_read};
use crate::error::HttpError;
use crate::form::transfers::TransferPermit;
use crate::read_body::stored_bytes;

/// How many times a stored text is in memory: as values, and as it is written again.
const COPIES: usize = 2;

/// The memory of one answer.
pub(crate) struct StoredAnswer {
    reservation: OwnedBodyReservation,
    /// Until the answer was made.
    permit: Option<TransferPermit>,
}

impl StoredAnswer {
    /// Waits for the tenant's turn to read.
    pub(crate) async fn begin(app: &App, tenant: &TenantId) -> Result<StoredAnswer, HttpError> {
        Ok(StoredAnswer {
            permit: Some(app.transfers().acquire_stored_read(tenant).await?),
            reservation: app.body_budget().reserve_owned(tenant),
        })
    }

    /// Counts texts that were read and are about to be parsed.
    pub(crate) async fn count<'t>(
        &mut self,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Result<(), HttpError> {
        let bytes = stored_bytes(texts, COPIES)?;
        self.reservation.grow(bytes).await
    }

    /// Lets others read before the answer is made, which waits for something else. What was counted
    /// stays so.
    pub(crate) fn give_permit_back(&mut self) {
        drop(self.permit.take());
    }

    /// The answer, whose bytes count until the client has read them.
    pub(crate) fn send(self, response: Response) -> Response {
        hold_until_read(response, self.reservation)
    }
}
