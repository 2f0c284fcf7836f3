//! A request's body, whole, within bounds.

use std::time::Duration;

use axum::http::StatusCode;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body;
use tower::BoxError;

use crate::error::ApiError;

/// Reads a body of up to `limit` bytes that never stands still for longer than `idle`.
pub(in crate::route) async fn read<B>(
    mut body: B,
    limit: usize,
    idle: Duration,
) -> Result<Bytes, ApiError>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(frame) = tokio::time::timeout(idle, body.frame())
        .await
        .map_err(|_| stalled(idle))?
    {
        let Ok(data) = frame.map_err(|error| broken(&*error.into()))?.into_data() else {
            continue;
        };
        if first.len() + all.len() + data.len() > limit {
            return Err(too_large(limit));
        }
        // Most bodies come in one piece, which need not be copied.
        if first.is_empty() && all.is_empty() {
            first = data;
        } else {
            all.extend_from_slice(&std::mem::take(&mut first));
            all.extend_from_slice(&data);
        }
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}

fn stalled(idle: Duration) -> ApiError {
    let message = format!("no byte of the body came for {} seconds", idle.as_secs());
    ApiError::new(StatusCode::REQUEST_TIMEOUT, "body-stalled", message)
}

fn broken(error: &dyn std::error::Error) -> ApiError {
    ApiError::bad_request("body-broken", format!("the body broke off: {error}"))
}

fn too_large(limit: usize) -> ApiError {
    let message = format!("the body has more than {limit} bytes; send less in one request");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", message)
}
