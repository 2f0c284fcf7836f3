//! The exporter's connection to the collector. Must not know what is exported.

use std::io::Write;
use std::pin::Pin;
use std::time::Duration;

use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use flate2::Compression;
use flate2::write::GzEncoder;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response, ResponseBodyTooLarge};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;

use super::dropped::count_dropped;
use super::settings::TelemetrySettings;

/// Bytes of a response that are read.
const MAX_RESPONSE_BYTES: usize = 64 << 10;
/// How long one attempt may take.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// A client of one collector.
#[derive(Debug)]
pub(super) struct CollectorClient {
    client: reqwest::Client,
    /// Marked as sensitive.
    headers: HeaderMap,
    gzip: bool,
}

type ResponseFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'a>>;

impl CollectorClient {
    /// # Errors
    /// When a header is not valid, or there are no trusted certificates.
    pub(super) fn new(settings: &TelemetrySettings) -> Result<Self, HttpError> {
        let mut headers = HeaderMap::new();
        for (name, value) in &settings.headers {
            let mut value = HeaderValue::from_str(value.reveal())?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_bytes(name.as_bytes())?, value);
        }
        let client = reqwest::Client::builder()
            .timeout(settings.timeout.unwrap_or(ATTEMPT_TIMEOUT))
            // The headers may contain a key, which is for the collector alone.
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        Ok(CollectorClient {
            client,
            headers,
            gzip: settings.gzip,
        })
    }

    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (parts, mut body) = request.into_parts();
        let mut headers = parts.headers;
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
        if self.gzip {
            body = compress(&body)?;
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let sent = self
            .client
            .post(parts.uri.to_string())
            .headers(headers)
            .body(body)
            .send()
            .await;
        let mut received = sent.map_err(reqwest::Error::without_url)?;
        let mut answer = Response::builder().status(received.status());
        if let Some(headers) = answer.headers_mut() {
            headers.extend(received.headers().clone());
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = received.chunk().await? {
            if bytes.len() + chunk.len() > MAX_RESPONSE_BYTES {
                return Err(ResponseBodyTooLarge::new().into());
            }
            bytes.extend_from_slice(&chunk);
        }
        let answer = answer.body(Bytes::from(bytes))?;
        if answer.status().is_success() {
            count_rejected(&answer);
        }
        Ok(answer)
    }
}

impl HttpClient for CollectorClient {
    fn send_bytes<'client, 'future>(
        &'client self,
        request: Request<Bytes>,
    ) -> ResponseFuture<'future>
    where
        'client: 'future,
        Self: 'future,
    {
        Box::pin(self.send(request))
    }
}

fn compress(body: &[u8]) -> std::io::Result<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body)?;
    Ok(encoder.finish()?.into())
}

/// A collector may accept a request and reject some of its spans.
fn count_rejected(answer: &Response<Bytes>) {
    let is_protobuf = answer
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/x-protobuf"));
    if !is_protobuf {
        return;
    }
    let Ok(answer) = ExportTraceServiceResponse::decode(answer.body().as_ref()) else {
        return;
    };
    let rejected = answer.partial_success.map_or(0, |part| part.rejected_spans);
    let rejected = usize::try_from(rejected).unwrap_or_default();
    if rejected > 0 {
        count_dropped(rejected);
        tracing::warn!(spans = rejected, "the collector rejects spans");
    }
}
