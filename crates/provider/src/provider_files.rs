//! Files that a provider's servers create and store: requested with the provider's key
//! and passed on as a stream. Which tenant owns them is checked by the server.

use http::{HeaderMap, HeaderValue, StatusCode, header};
use prowess_wire::{ClientDialect, Dialect, is_error};

use crate::call_credentials::CallCredentials;
use crate::credentials::ClientCredentials;
use crate::error::CallError;
use crate::http::{ByteStream, IdleTimeoutBody, headers};
use crate::pass_through::client_headers;
use crate::provider::{Provider, ProviderBackend};
use crate::upstream::ProviderFileOperation;

/// A provider's response about a file that it stores.
#[derive(Debug)]
pub struct ProviderFileResponse {
    /// The status.
    pub status: StatusCode,
    /// The headers, without those about the connection.
    pub headers: HeaderMap,
    /// The body: the file, or its metadata.
    pub body: ByteStream,
}

impl Provider {
    pub(crate) fn has_file_storage(&self) -> bool {
        match &self.backend {
            ProviderBackend::Http(http) => http.upstream.has_file_storage(),
            ProviderBackend::Scripted(_) => false,
        }
    }

    /// Sends the request once, without retries: the client can repeat it.
    pub(crate) async fn request_file(
        &self,
        operation: ProviderFileOperation,
        id: &str,
        client: ClientDialect,
        credentials: &ClientCredentials,
    ) -> Result<ProviderFileResponse, CallError> {
        let ProviderBackend::Http(http) = &self.backend else {
            return Err(self.no_files_error());
        };
        let credentials = credentials.for_named_provider();
        let key = http.key_for(credentials, &self.name).await?;
        let headers = match client {
            ClientDialect::Messages => {
                client_file_headers(credentials, http.uses_client_key(credentials))
            }
            ClientDialect::Chat | ClientDialect::Responses | ClientDialect::Gemini => {
                default_file_headers(operation)
            }
        };
        let request = http
            .upstream
            .file_request(operation, id, headers, key.as_ref());
        let request = request.ok_or_else(|| self.no_files_error())?;
        let response = http
            .client
            .send(self.prepare_request(http, request)?)
            .await?;
        let (status, upstream_headers) = (response.status, response.headers.clone());
        if status.is_success() || status == StatusCode::NOT_MODIFIED {
            let body = IdleTimeoutBody::new(response.body, http.client.timeouts().idle);
            return Ok(ProviderFileResponse {
                status,
                headers: headers::for_client(upstream_headers),
                body: ByteStream::new(body, &self.name),
            });
        }
        let refused = self.read_error_response(http, Dialect::Messages, response, key.as_ref());
        let (error, body) = refused.await?;
        // An error that the client would not understand is translated instead.
        if client != ClientDialect::Messages || !is_error(client, &body) {
            return Err(error);
        }
        let mut headers = headers::for_client(upstream_headers);
        headers.insert(header::CONTENT_LENGTH, body.len().into());
        Ok(ProviderFileResponse {
            status,
            headers,
            body: ByteStream::from_bytes(body),
        })
    }

    fn no_files_error(&self) -> CallError {
        CallError::Unsupported {
            provider: self.name.clone(),
            what: "serve files: it stores none",
        }
    }
}

/// The client's headers. This request has no body.
fn client_file_headers(credentials: CallCredentials<'_>, uses_client_key: bool) -> HeaderMap {
    let mut headers = client_headers(credentials, uses_client_key);
    headers.remove(header::CONTENT_TYPE);
    headers
}

fn default_file_headers(operation: ProviderFileOperation) -> HeaderMap {
    let mut headers = headers::default_headers(false);
    headers.remove(header::CONTENT_TYPE);
    if operation == ProviderFileOperation::Content {
        headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
    }
    headers
}
