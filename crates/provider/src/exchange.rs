//! One request to a provider and its response: the headers of every request, and the reading
//! of error responses. What is requested, and what is retried, is decided above.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::HeaderMap;
use prowess_wire::neutral::ApiError;
use prowess_wire::{Dialect, read_error};

use crate::error::CallError;
use crate::http::{
    HttpRequest, HttpResponse, IdleTimeoutBody, read_all, retry_after, should_retry,
};
use crate::key::{KeyError, SecretText};
use crate::provider::{HttpBackend, Provider};

/// Maximum size of an error body that is read.
pub(crate) const MAX_ERROR_BYTES: usize = 1 << 20;

impl Provider {
    /// Adds the headers that every request to this provider carries.
    pub(crate) fn prepare_request(
        &self,
        http: &HttpBackend,
        request: Result<HttpRequest, KeyError>,
    ) -> Result<HttpRequest, CallError> {
        let mut request = request.map_err(|error| CallError::Key {
            provider: self.name.clone(),
            error,
        })?;
        http.add_headers(&mut request.headers);
        Ok(request)
    }

    /// Reads an error response: the error and its body, both with the key redacted.
    pub(crate) async fn read_error_response(
        &self,
        http: &HttpBackend,
        dialect: Dialect,
        response: HttpResponse,
        key: Option<&SecretText>,
    ) -> Result<(CallError, Bytes), CallError> {
        let mut body = IdleTimeoutBody::new(response.body, http.client.timeouts().idle);
        let bytes = read_all(&mut body, MAX_ERROR_BYTES)
            .await
            .map_err(|error| error.to_call_error(&self.name))?
            .ok_or_else(|| CallError::ResponseTooLarge {
                provider: self.name.clone(),
                limit: MAX_ERROR_BYTES,
            })?;
        let bytes = redact_key(bytes, key);
        let error = read_error(dialect, response.status.as_u16(), &bytes);
        Ok((self.reported_error(error, &response.headers, key), bytes))
    }

    /// The error that an upstream reported, with what the headers of its response add and with
    /// the key redacted.
    pub(crate) fn reported_error(
        &self,
        mut error: ApiError,
        headers: &HeaderMap,
        key: Option<&SecretText>,
    ) -> CallError {
        if let Some(key) = key {
            error.message = key.redact(error.message);
        }
        if error.request_id.is_none() {
            error.request_id = request_id(headers);
        }
        let pause = retry_after(headers, SystemTime::now());
        CallError::Upstream {
            provider: self.name.clone(),
            retry_after: pause.or_else(|| google_retry_delay(&error)),
            error: Box::new(error),
            should_retry: should_retry(headers),
        }
    }
}

/// The delay that an error of Google asks for: `"retryDelay": "34.07s"` in its details. No header
/// of the response has it.
fn google_retry_delay(error: &ApiError) -> Option<Duration> {
    let details = error.details.as_ref()?.get("google")?.as_array()?;
    let mut delays = details.iter().filter_map(|detail| {
        let delay = detail.get("retryDelay")?.as_str()?;
        delay.strip_suffix('s')?.parse().ok()
    });
    Duration::try_from_secs_f64(delays.next()?).ok()
}

/// Some servers repeat the key in the error that rejects it.
fn redact_key(bytes: Vec<u8>, key: Option<&SecretText>) -> Bytes {
    match (key, String::from_utf8(bytes)) {
        (Some(key), Ok(text)) => key.redact(text).into(),
        (None, Ok(text)) => text.into(),
        (Some(key), Err(error)) => key.redact_bytes(error.into_bytes()).into(),
        (None, Err(error)) => error.into_bytes().into(),
    }
}

fn request_id(headers: &HeaderMap) -> Option<String> {
    ["request-id", "x-request-id", "x-amzn-requestid"]
        .iter()
        .find_map(|name| headers.get(*name)?.to_str().ok())
        .map(str::to_owned)
}
