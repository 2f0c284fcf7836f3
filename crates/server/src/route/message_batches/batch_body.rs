//! The body of a request that creates a batch, of any size: its chunks, and what identifies it.

use aws_lc_rs::digest::{Context, SHA256};
use axum::body::Body;
use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::BodyExt;

use crate::app::App;
use crate::bodies::BodyPace;
use crate::error::HttpError;

/// A body that is being read.
pub(super) struct BatchBody {
    body: Body,
    pace: BodyPace,
    hash: Context,
    received: u64,
    max_bytes: u64,
}

impl BatchBody {
    pub(super) fn new(app: &App, body: Body) -> BatchBody {
        let settings = app.settings();
        BatchBody {
            body,
            pace: BodyPace::new(settings),
            hash: Context::new(&SHA256),
            received: 0,
            max_bytes: settings.batches.max_bytes,
        }
    }

    /// The next bytes; none at the end.
    ///
    /// # Errors
    /// When it is too large, too slow or not complete.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, HttpError> {
        loop {
            let received = self.received;
            let frame = self.pace.wait(self.body.frame(), || received).await?;
            let Some(frame) = frame else {
                return Ok(None);
            };
            let Ok(chunk) = frame.map_err(|error| broken_error(&error))?.into_data() else {
                continue;
            };
            self.received = received + chunk.len() as u64;
            if self.received > self.max_bytes {
                return Err(too_large_error(self.max_bytes));
            }
            self.hash.update(&chunk);
            return Ok(Some(chunk));
        }
    }

    /// The digest of all bytes that were read.
    pub(super) fn digest(self) -> String {
        STANDARD.encode(self.hash.finish().as_ref())
    }
}

fn too_large_error(limit: u64) -> HttpError {
    let message = format!("the batch has more than {limit} bytes; use several batches");
    HttpError::new(StatusCode::PAYLOAD_TOO_LARGE, "batch-too-large", message)
}

fn broken_error(error: &dyn std::fmt::Display) -> HttpError {
    let message = format!("the request body ended unexpectedly: {error}");
    HttpError::bad_request("body-broken", message)
}
