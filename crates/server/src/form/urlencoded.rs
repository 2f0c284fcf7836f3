//! URL-encoded forms, which clients use when there are no files.

use axum::body::Body;
use futures_util::StreamExt;

use super::text;
use crate::app::App;
use crate::bodies::{BodyPace, BodyReservation};
use crate::error::HttpError;

/// Maximum length of such a form. Its bytes are counted before they are decoded.
const MAX_FORM_BYTES: usize = 4 << 20;

/// The fields of a form, in order.
pub(super) async fn read_fields(
    body: Body,
    app: &App,
    reservation: &mut BodyReservation<'_>,
) -> Result<Vec<(String, String)>, HttpError> {
    let mut chunks = body.into_data_stream();
    let mut pace = BodyPace::new(app.settings());
    let mut bytes = Vec::new();
    while let Some(chunk) = pace.wait(chunks.next(), || bytes.len() as u64).await? {
        let chunk = chunk.map_err(|error| {
            let message = format!("the form cannot be read: {error}");
            HttpError::bad_request("form-invalid", message)
        })?;
        if bytes.len() + chunk.len() > MAX_FORM_BYTES {
            let why =
                format!("has more than {MAX_FORM_BYTES} bytes; send it as multipart/form-data");
            return Err(text::invalid_field("form", &why));
        }
        reservation.grow(chunk.len()).await?;
        bytes.extend_from_slice(&chunk);
    }
    Ok(form_urlencoded::parse(&bytes).into_owned().collect())
}
