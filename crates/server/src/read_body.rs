//! Reads a whole request body within limits.

use axum::http::StatusCode;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body;
use prowess_store::TenantId;
use prowess_wire::{MAX_PARSED_EXCESS, parsed_excess_of_all};
use tower::BoxError;

use crate::app::App;
use crate::bodies::{BodyPace, BodyReservation};
use crate::error::HttpError;

/// The most excess ([`prowess_wire::parsed_excess`]) of a request that is kept: its run is not
/// counted.
pub(crate) const MAX_KEPT_EXCESS: usize = 32 << 20;

/// A body and its reservation in the body budget, held until dropped.
pub(crate) struct ReservedBody<'a> {
    pub(crate) bytes: Bytes,
    reservation: BodyReservation<'a>,
}

impl<'a> ReservedBody<'a> {
    /// The body, and its reservation apart from it.
    pub(crate) fn into_parts(self) -> (Bytes, BodyReservation<'a>) {
        (self.bytes, self.reservation)
    }
}

/// Reads a body of up to `limit` bytes at the configured minimum rate. The values of one that is
/// JSON may take far more memory than its bytes, and are counted with them.
pub(crate) async fn read_body<'a, B>(
    app: &'a App,
    tenant: &'a TenantId,
    body: B,
    limit: usize,
) -> Result<ReservedBody<'a>, HttpError>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    let mut reservation = app.body_budget().reserve(tenant);
    let bytes = read_bytes(app, body, limit, Some(&mut reservation)).await?;
    let text: &[u8] = &bytes;
    reservation.grow(checked_excess(&[text])?).await?;
    Ok(ReservedBody { bytes, reservation })
}

/// The same for a sender who is not authenticated. It counts for no tenant, so the limit must be
/// small.
pub(crate) async fn read_unauthenticated_body<B>(
    app: &App,
    body: B,
    limit: usize,
) -> Result<Bytes, HttpError>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    read_bytes(app, body, limit, None).await
}

/// Bytes of memory that stored texts take which are read and parsed together, `copies` times.
///
/// # Errors
/// As [`checked_excess`].
pub(crate) fn stored_bytes<'t>(
    texts: impl IntoIterator<Item = &'t str>,
    copies: usize,
) -> Result<usize, HttpError> {
    let texts: Vec<&[u8]> = texts.into_iter().map(str::as_bytes).collect();
    let length: usize = texts.iter().map(|text| text.len()).sum();
    let excess = checked_excess(&texts)?;
    Ok(length.saturating_mul(copies).saturating_add(excess))
}

async fn read_bytes<B>(
    app: &App,
    mut body: B,
    limit: usize,
    mut reservation: Option<&mut BodyReservation<'_>>,
) -> Result<Bytes, HttpError>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    let mut pace = BodyPace::new(app.settings());
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    let mut received = 0;
    loop {
        let next = async { body.frame().await.map(|frame| frame.map_err(broken_error)) };
        let Some(frame) = pace.wait(next, || received as u64).await? else {
            break;
        };
        let Ok(data) = frame?.into_data() else {
            continue;
        };
        received += data.len();
        if received > limit {
            return Err(too_large_error(limit));
        }
        if let Some(reservation) = &mut reservation {
            reservation.grow(data.len()).await?;
        }
        // Most bodies arrive in one chunk, which need not be copied.
        if first.is_empty() && all.is_empty() {
            first = data;
        } else {
            all.extend_from_slice(&std::mem::take(&mut first));
            all.extend_from_slice(&data);
        }
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}

/// Bytes of memory that the values of texts of JSON, which are parsed together, take beyond what an
/// ordinary text does.
///
/// # Errors
/// When they are more than is ever parsed.
pub(crate) fn checked_excess(texts: &[&[u8]]) -> Result<usize, HttpError> {
    let excess = parsed_excess_of_all(texts);
    if excess <= MAX_PARSED_EXCESS {
        return Ok(excess);
    }
    let message = "the JSON has too many values: parsed, they would take far more memory than its \
                   bytes; send fewer numbers and lists in one request";
    let status = StatusCode::PAYLOAD_TOO_LARGE;
    Err(HttpError::new(status, "too-many-values", message))
}

fn broken_error(error: impl Into<BoxError>) -> HttpError {
    let error = error.into();
    HttpError::bad_request(
        "body-broken",
        format!("the request body ended unexpectedly: {error}"),
    )
}

fn too_large_error(limit: usize) -> HttpError {
    let message = format!("the body has more than {limit} bytes; send less in one request");
    HttpError::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", message)
}
