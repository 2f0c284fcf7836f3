//! Forms without files, in the type that clients use when there are none.

use axum::body::Body;
use futures_util::StreamExt;

use super::text;
use crate::app::App;
use crate::bodies::{Pace, Reservation};
use crate::error::ApiError;

/// The longest such form. Its bytes are counted before they are decoded.
const MAX_BYTES: usize = 4 << 20;

/// The fields of a form, in order.
pub(super) async fn read(
    body: Body,
    app: &App,
    reservation: &mut Reservation<'_>,
) -> Result<Vec<(String, String)>, ApiError> {
    let mut pieces = body.into_data_stream();
    let mut pace = Pace::new(app.settings());
    let mut bytes = Vec::new();
    while let Some(piece) = pace.wait(pieces.next(), || bytes.len() as u64).await? {
        let piece = piece.map_err(|error| {
            let message = format!("the form cannot be read: {error}");
            ApiError::bad_request("form-invalid", message)
        })?;
        if bytes.len() + piece.len() > MAX_BYTES {
            let why = format!("has more than {MAX_BYTES} bytes; send it as multipart/form-data");
            return Err(text::invalid("form", &why));
        }
        reservation.grow(piece.len()).await?;
        bytes.extend_from_slice(&piece);
    }
    Ok(form_urlencoded::parse(&bytes).into_owned().collect())
}
