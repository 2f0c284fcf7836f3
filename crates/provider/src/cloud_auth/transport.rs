//! Requests for credentials, sent with this crate's HTTP client.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use prowess_cloud::{CloudTransport, TransportError, TransportFuture};
use url::Url;

use crate::config::ProviderTimeouts;
use crate::error::CallError;
use crate::http::{HttpClient, HttpRequest, IdleTimeoutBody, read_all};

/// No answer of a credential service is as large; a wrong address must not fill the memory.
const MAX_RESPONSE_BYTES: usize = 256 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The caller's own limit is shorter.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// Sends a provider's requests for credentials.
#[derive(Debug)]
pub(super) struct CredentialTransport {
    /// For services on this machine and its link-local network, which no proxy can reach.
    direct: HttpClient,
    /// For all others, through the system's proxy if there is one.
    outward: HttpClient,
}

impl CredentialTransport {
    /// A transport of its own, for one provider.
    pub(super) fn shared() -> Arc<dyn CloudTransport> {
        let timeouts = ProviderTimeouts {
            connect: CONNECT_TIMEOUT,
            response: RESPONSE_TIMEOUT,
            idle: RESPONSE_TIMEOUT,
        };
        Arc::new(CredentialTransport {
            direct: HttpClient::with_locality("credentials", true, &timeouts),
            outward: HttpClient::with_locality("credentials", false, &timeouts),
        })
    }

    async fn exchange(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let (head, body) = request.into_parts();
        let host = head.uri.host().unwrap_or_default().to_owned();
        let url = Url::parse(&head.uri.to_string()).map_err(|error| {
            TransportError::new(&host, format!("its address is wrong: {error}"))
        })?;
        // Metadata services have no certificates; everything else must have one.
        let client = match url.scheme() {
            "http" => &self.direct,
            _ => &self.outward,
        };
        let sent = client.send(HttpRequest {
            method: head.method,
            destination: url.into(),
            headers: head.headers,
            body: body.into(),
        });
        let response = sent.await.map_err(|error| transport_error(&host, error))?;
        let mut body = IdleTimeoutBody::new(response.body, client.timeouts().idle);
        let body = match read_all(&mut body, MAX_RESPONSE_BYTES).await {
            Ok(Some(body)) => Bytes::from(body),
            Ok(None) => {
                let reason = format!("its response is larger than {MAX_RESPONSE_BYTES} bytes");
                return Err(TransportError::new(&host, reason));
            }
            Err(error) => return Err(transport_error(&host, error.to_call_error(&host))),
        };
        let mut answer = Response::new(body);
        *answer.status_mut() = response.status;
        *answer.headers_mut() = response.headers;
        Ok(answer)
    }
}

impl CloudTransport for CredentialTransport {
    fn send(&self, request: Request<Bytes>) -> TransportFuture<'_> {
        Box::pin(self.exchange(request))
    }
}

fn transport_error(host: &str, error: CallError) -> TransportError {
    match error {
        CallError::Unreachable { reason, .. } => {
            TransportError::new(host, format!("it cannot be reached: {reason}"))
        }
        CallError::Timeout { what, after, .. } => TransportError::new(
            host,
            format!("it sent no {what} within {} ms", after.as_millis()),
        ),
        other => TransportError::new(host, other.to_string()),
    }
}
