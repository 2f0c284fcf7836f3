//! A request, as stored with its run: enough to run it again from the start, without any secret.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use bytes::Bytes;
use prowess_engine::{RunRequest, SpendCheck};
use prowess_provider::{ClientCredentials, ClientRequest, ModelTask, Route};
use prowess_store::{Error as StoreError, TenantId};
use prowess_wire::neutral::Request;
use prowess_wire::raw::RawObject;
use prowess_wire::{ClientDialect, ReplyContext, WireError};
use serde::{Deserialize, Serialize};

use crate::route::gateway::StoredRecorder;

/// Headers of a client that are stored and sent to the provider.
const STORED_HEADERS: [&str; 5] = [
    "anthropic-beta",
    "anthropic-version",
    "openai-beta",
    "traceparent",
    "tracestate",
];

/// A request of a kept run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredRequest {
    /// `messages`, `chat`, `responses` or `gemini`.
    dialect: String,
    /// The model name that the client sent.
    pub(crate) model: String,
    /// Whether the response is streamed.
    pub(crate) stream: bool,
    /// Whether a stream is one JSON array instead of events.
    pub(crate) json_array: bool,
    /// Whether the client does not wait for the response.
    pub(crate) background: bool,
    headers: Vec<(String, String)>,
    /// The body as sent to the model, with the conversation that it continues.
    body: String,
    /// Whether its key opens all stored skills; `None`: as configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) auto: Option<bool>,
    /// Turns that the request allows; `None`: as configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_turns: Option<u32>,
    /// When it arrived, in seconds of the Unix epoch.
    created: u64,
    /// How the response is stored.
    pub(crate) recorder: Option<StoredRecorder>,
    /// Where the end of the run is announced, besides the configured endpoints.
    pub(crate) webhook: Option<String>,
}

/// A request to be stored.
pub(crate) struct NewStoredRequest<'a> {
    pub(crate) client: ClientDialect,
    pub(crate) model: &'a str,
    pub(crate) stream: bool,
    pub(crate) json_array: bool,
    pub(crate) background: bool,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a [u8],
    pub(crate) auto: Option<bool>,
    pub(crate) max_turns: Option<u32>,
    pub(crate) created: u64,
    pub(crate) recorder: Option<StoredRecorder>,
    pub(crate) webhook: Option<String>,
}

impl StoredRequest {
    pub(crate) fn new(new: NewStoredRequest<'_>) -> Self {
        let stored = STORED_HEADERS.iter().flat_map(|name| {
            let values = new.headers.get_all(*name).into_iter();
            values.filter_map(|value| Some(((*name).to_owned(), value.to_str().ok()?.to_owned())))
        });
        StoredRequest {
            dialect: new.client.as_str().to_owned(),
            model: new.model.to_owned(),
            stream: new.stream,
            json_array: new.json_array,
            background: new.background,
            headers: stored.collect(),
            body: String::from_utf8_lossy(new.body).into_owned(),
            auto: new.auto,
            max_turns: new.max_turns,
            created: new.created,
            recorder: new.recorder,
            webhook: new.webhook,
        }
    }

    /// As it is stored.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, StoreError> {
        serde_json::to_vec(self).map_err(malformed)
    }

    /// What [`StoredRequest::to_bytes`] returned.
    ///
    /// # Errors
    /// When something else has written it.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, StoreError> {
        serde_json::from_slice(bytes).map_err(malformed)
    }

    /// The client's dialect.
    pub(crate) fn client(&self) -> ClientDialect {
        ClientDialect::from_name(&self.dialect).unwrap_or(ClientDialect::Responses)
    }

    /// The dialect's name.
    pub(crate) fn dialect(&self) -> &str {
        &self.dialect
    }

    /// The request in the neutral form.
    ///
    /// # Errors
    /// When its body is invalid.
    pub(crate) fn to_neutral(&self) -> Result<Request, WireError> {
        let body = Bytes::from(self.body.clone());
        let raw = RawObject::parse(&body)?;
        let incoming = ClientRequest {
            client: self.client(),
            task: ModelTask::Generate,
            body: &body,
            raw: &raw,
            model: &self.model,
            stream: self.stream,
            json_array: self.json_array,
        };
        incoming.to_neutral()
    }

    /// Applies a function to the body and its fields; none when it is invalid.
    pub(crate) fn with_body<T>(&self, read: impl FnOnce(&Bytes, &RawObject<'_>) -> T) -> Option<T> {
        let body = Bytes::from(self.body.clone());
        let raw = RawObject::parse(&body).ok()?;
        Some(read(&body, &raw))
    }

    /// The request to run.
    ///
    /// # Errors
    /// When its body is invalid.
    pub(crate) fn run_request(
        &self,
        tenant: TenantId,
        mut route: Route,
        spend_check: Option<SpendCheck>,
    ) -> Result<RunRequest, WireError> {
        route.set_owner(tenant.as_str());
        Ok(RunRequest {
            tenant,
            client: self.client(),
            request: self.to_neutral()?,
            members: Vec::new(),
            auto: self.auto,
            max_turns: self.max_turns,
            spend_check,
            route,
            credentials: ClientCredentials {
                key: None,
                headers: self.headers(),
            },
        })
    }

    /// How the response of a run is written.
    ///
    /// # Errors
    /// When its body is invalid.
    pub(crate) fn reply_context(&self, run: &str) -> Result<ReplyContext, WireError> {
        let mut context = ReplyContext::for_request(&self.to_neutral()?, self.created);
        context.id = response_id(self.client(), run);
        context.json_array = self.json_array;
        if self.client() == ClientDialect::Responses {
            context.echo_setting("background", self.background.into());
            if let Some(recorder) = &self.recorder {
                recorder.echo_settings(&mut context);
            }
        }
        Ok(context)
    }

    pub(crate) fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            if let (Ok(name), Ok(value)) = (
                HeaderName::from_bytes(name.as_bytes()),
                HeaderValue::from_str(value),
            ) {
                headers.append(name, value);
            }
        }
        headers
    }
}

/// The id of the response of a run, in dialects in which this server chooses it.
pub(crate) fn response_id(client: ClientDialect, run: &str) -> Option<String> {
    let suffix = run.strip_prefix("run_")?;
    match client {
        ClientDialect::Responses => Some(format!("resp_{suffix}")),
        ClientDialect::Chat => Some(format!("chatcmpl-{suffix}")),
        ClientDialect::Messages | ClientDialect::Gemini => None,
    }
}

/// The run of a response, if the id is that of a kept run.
pub(crate) fn run_of_response(response: &str) -> Option<String> {
    response
        .strip_prefix("resp_")
        .map(|suffix| format!("run_{suffix}"))
}

fn malformed(error: serde_json::Error) -> StoreError {
    StoreError::MalformedRow {
        table: "journal_runs",
        reason: error.to_string(),
    }
}
