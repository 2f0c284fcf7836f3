//! The response of an endpoint.

use http::{HeaderMap, StatusCode, header};

use crate::config::Price;
use crate::deployments::RouteDecision;
use crate::error::CallError;
use crate::http::{ByteStream, headers};

/// An upstream's response, unchanged.
#[derive(Debug)]
pub struct EndpointResponse {
    /// The provider that responded.
    pub provider: String,
    /// The kind of that provider, as configuration files name it.
    pub provider_kind: &'static str,
    /// The model that was called, as the provider calls it; empty for a path of a provider.
    pub model: String,
    /// The price of its tokens, if it is known.
    pub price: Option<Price>,
    /// The status.
    pub status: StatusCode,
    /// The headers, without those about the connection.
    pub headers: HeaderMap,
    /// The body.
    pub body: ByteStream,
    /// Why this model answered, if there was a choice.
    pub decision: Option<Box<RouteDecision>>,
}

/// A failed request: the error to decide on, and the response to pass on.
#[derive(Debug)]
pub(super) struct EndpointFailure {
    pub(super) error: CallError,
    pub(super) response: Option<Box<EndpointResponse>>,
}

impl From<CallError> for EndpointFailure {
    fn from(error: CallError) -> Self {
        EndpointFailure {
            error,
            response: None,
        }
    }
}

impl EndpointFailure {
    /// The result for the client: the upstream's own response, if there was one.
    pub(super) fn into_response(self) -> Result<EndpointResponse, CallError> {
        match self.response {
            Some(response) => Ok(*response),
            None => Err(self.error),
        }
    }
}

/// The headers of an error response whose body was read, and may have been redacted.
pub(super) fn read_headers(upstream: HeaderMap, length: usize) -> HeaderMap {
    let mut headers = headers::for_client(upstream);
    headers.insert(header::CONTENT_LENGTH, length.into());
    headers
}
