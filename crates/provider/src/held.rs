//! Files that a provider's own servers made: asked for with the provider's key, given on
//! as they come. Whose they are is for others to know.

use http::{HeaderMap, HeaderValue, StatusCode, header};
use prowess_wire::{Client, Dialect, is_error};

use crate::call::Caller;
use crate::error::CallError;
use crate::http::{ByteStream, Idle, headers};
use crate::pass::headers_of;
use crate::provider::{Engine, Provider};
use crate::upstream::FileAsk;

/// A provider's answer about a file that it keeps.
#[derive(Debug)]
pub struct HeldFile {
    /// The status.
    pub status: StatusCode,
    /// The headers, without those about the connection.
    pub headers: HeaderMap,
    /// The body: the file, or what is said of it.
    pub body: ByteStream,
}

impl Provider {
    pub(crate) fn keeps_files(&self) -> bool {
        match &self.engine {
            Engine::Http(http) => http.upstream.keeps_files(),
            Engine::Scripted(_) => false,
        }
    }

    /// Asks once: whoever wants a file can ask again.
    pub(crate) async fn file(
        &self,
        ask: FileAsk,
        id: &str,
        client: Client,
        caller: &Caller,
    ) -> Result<HeldFile, CallError> {
        let Engine::Http(http) = &self.engine else {
            return Err(self.keeps_none());
        };
        let key = http.key_for(caller, &self.name).await?;
        let headers = match client {
            Client::Messages => of_client(caller, http.uses_key_of(caller)),
            Client::Chat | Client::Responses | Client::Gemini => own(ask),
        };
        let request = http.upstream.file_request(ask, id, headers, key.as_ref());
        let request = request.ok_or_else(|| self.keeps_none())?;
        let answer = http.client.send(self.addressed(http, request)?).await?;
        let (status, told) = (answer.status, answer.headers.clone());
        if status.is_success() || status == StatusCode::NOT_MODIFIED {
            let body = Idle::new(answer.body, http.client.timeouts().idle);
            return Ok(HeldFile {
                status,
                headers: headers::to_client(told),
                body: ByteStream::new(body, &self.name),
            });
        }
        let refused = self.error_of(http, Dialect::Messages, answer, key.as_ref());
        let (error, body) = refused.await?;
        // An error that the client would not understand is told in other words.
        if client != Client::Messages || !is_error(client, &body) {
            return Err(error);
        }
        let mut headers = headers::to_client(told);
        headers.insert(header::CONTENT_LENGTH, body.len().into());
        Ok(HeldFile {
            status,
            headers,
            body: ByteStream::whole(body, &self.name),
        })
    }

    fn keeps_none(&self) -> CallError {
        CallError::Unsupported {
            provider: self.name.clone(),
            what: "give files: it keeps none",
        }
    }
}

/// The client's headers. Such a request has no body.
fn of_client(caller: &Caller, own_key: bool) -> HeaderMap {
    let mut headers = headers_of(caller, own_key);
    headers.remove(header::CONTENT_TYPE);
    headers
}

fn own(ask: FileAsk) -> HeaderMap {
    let mut own = headers::own(false);
    own.remove(header::CONTENT_TYPE);
    if ask == FileAsk::Content {
        own.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
    }
    own
}
