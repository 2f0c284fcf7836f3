//! The caller's transport as the HTTP client of AWS's library.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
use crate::transport::{CloudTransport, TransportError, is_transient_status};

const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
const DEFAULT_READ_TIMEOUT: Duration = Duration::from_secs(5);
/// The library asks a handful of services at most.
const MAX_REPORTS: usize = 8;

/// The HTTP client of one fetch. It remembers what went wrong, as the library only logs it.
#[derive(Clone)]
pub(super) struct TransportClient {
    transport: Arc<dyn CloudTransport>,
    seen: Arc<Mutex<SeenServices>>,
}

/// What services did.
#[derive(Default)]
struct SeenServices {
    /// Whether one answered as it should.
    has_answered: bool,
    /// What those did last that did not, the latest at the end.
    failures: Vec<ServiceFailure>,
}

/// What a service did that gave nothing.
#[derive(Debug, Clone)]
pub(super) struct ServiceFailure {
    /// The host, and what it did.
    pub(super) report: SourceReport,
    pub(super) kind: FailureKind,
}

/// What a failure says about the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureKind {
    /// Nobody answered: there may be no such service.
    Unanswered,
    /// The service is there, and may answer soon.
    Transient,
    /// It will not help.
    Permanent,
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
            seen: Arc::default(),
        }
    }

    /// The last failure of each host that was asked, the latest at the end.
    pub(super) fn failures(&self) -> Vec<ServiceFailure> {
        self.lock().failures.clone()
    }

    /// Whether any service answered as it should.
    pub(super) fn has_answered(&self) -> bool {
        self.lock().has_answered
    }

    fn remember(&self, host: &str, reason: String, kind: FailureKind) {
        let mut seen = self.lock();
        seen.failures
            .retain(|failure| failure.report.source != host);
        if seen.failures.len() < MAX_REPORTS {
            let report = SourceReport::new(host, reason);
            seen.failures.push(ServiceFailure { report, kind });
        }
    }

    fn remember_answer(&self, host: &str) {
        let mut seen = self.lock();
        seen.has_answered = true;
        seen.failures
            .retain(|failure| failure.report.source != host);
    }

    fn lock(&self) -> MutexGuard<'_, SeenServices> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
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
                self.remember(&host, error.reason.clone(), FailureKind::Unanswered);
                return Err(ConnectorError::io(error.into()));
            }
            Err(_) => {
                let reason = format!("it did not answer within {} ms", timeout.as_millis());
                self.remember(&host, reason.clone(), FailureKind::Unanswered);
                let error = TransportError::new(&host, reason);
                return Err(ConnectorError::timeout(error.into()));
            }
        };
        let status = response.status();
        if status.is_success() {
            self.remember_answer(&host);
        } else {
            let kind = match is_transient_status(status) {
                true => FailureKind::Transient,
                false => FailureKind::Permanent,
            };
            self.remember(&host, format!("it returned {status}"), kind);
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
