//! The caller's transport as the HTTP client of AWS's library.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Uri};

use crate::error::SourceReport;
use crate::transport::{CloudTransport, TransportError};

const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
const DEFAULT_READ_TIMEOUT: Duration = Duration::from_secs(5);
/// The library asks a handful of services at most.
const MAX_REPORTS: usize = 8;

/// The HTTP client of one fetch. It remembers what went wrong, as the library only logs it.
#[derive(Clone)]
pub(super) struct TransportClient {
    transport: Arc<dyn CloudTransport>,
    failures: Arc<Mutex<Vec<SourceReport>>>,
}

/// The client with the timeouts of one request.
#[derive(Debug)]
struct TransportConnector {
    client: TransportClient,
    timeout: Duration,
}

impl TransportClient {
    pub(super) fn new(transport: Arc<dyn CloudTransport>) -> Self {
        TransportClient {
            transport,
            failures: Arc::default(),
        }
    }

    /// The last failure of each host that was asked.
    pub(super) fn failures(&self) -> Vec<SourceReport> {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.clone()
    }

    fn remember(&self, host: &str, reason: String) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.retain(|report| report.source != host);
        if failures.len() < MAX_REPORTS {
            failures.push(SourceReport::new(host, reason));
        }
    }

    async fn exchange(
        self,
        request: HttpRequest,
        timeout: Duration,
    ) -> Result<HttpResponse, ConnectorError> {
        let request = to_request(&request).map_err(|error| ConnectorError::user(error.into()))?;
        let host = request.uri().host().unwrap_or_default().to_owned();
        let sent = self.transport.send(request);
        let response = match tokio::time::timeout(timeout, sent).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                self.remember(&host, error.reason.clone());
                return Err(ConnectorError::io(error.into()));
            }
            Err(_) => {
                let reason = format!("it did not answer within {} ms", timeout.as_millis());
                self.remember(&host, reason.clone());
                let error = TransportError::new(&host, reason);
                return Err(ConnectorError::timeout(error.into()));
            }
        };
        if !response.status().is_success() {
            self.remember(&host, format!("it returned {}", response.status()));
        }
        let response = response.map(SdkBody::from);
        HttpResponse::try_from(response).map_err(|error| ConnectorError::user(error.into()))
    }
}

impl HttpClient for TransportClient {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        _components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let connect = settings
            .connect_timeout()
            .unwrap_or(DEFAULT_CONNECT_TIMEOUT);
        let read = settings.read_timeout().unwrap_or(DEFAULT_READ_TIMEOUT);
        SharedHttpConnector::new(TransportConnector {
            client: self.clone(),
            timeout: connect + read,
        })
    }
}

impl HttpConnector for TransportConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        HttpConnectorFuture::new(self.client.clone().exchange(request, self.timeout))
    }
}

impl fmt::Debug for TransportClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TransportClient")
    }
}

fn to_request(request: &HttpRequest) -> Result<Request<Bytes>, http::Error> {
    // The requests for credentials have their bodies in memory.
    let body = request.body().bytes().unwrap_or_default();
    let mut sent = Request::new(Bytes::copy_from_slice(body));
    *sent.method_mut() = Method::try_from(request.method())?;
    *sent.uri_mut() = Uri::try_from(request.uri())?;
    for (name, value) in request.headers() {
        let (name, value) = (HeaderName::try_from(name)?, HeaderValue::try_from(value)?);
        sent.headers_mut().append(name, value);
    }
    Ok(sent)
}
