//! A call in the client's own dialect: bytes in, bytes out, untouched but for the
//! model's name and the auth.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use prowess_wire::neutral::Usage;
use prowess_wire::raw::{Edit, RawObject};
use prowess_wire::{Client, counts_key, is_error, raw, read_counts};

use crate::call::Caller;
use crate::config::Price;
use crate::error::CallError;
use crate::http::{ByteStream, HttpAnswer, Idle, headers, read_ahead};
use crate::key::Secret;
use crate::limit::Permit;
use crate::provider::{Engine, HttpEngine};
use crate::retry::Tries;
use crate::route::{Forwarded, Incoming, Target};
use crate::upstream::{Job, Task, Written};

/// How much of an answer that is no stream is read before the client is told of it.
const AHEAD: usize = 1 << 20;

/// An upstream's answer as it came.
#[derive(Debug)]
pub struct Passed {
    /// The provider that answered.
    pub provider: String,
    /// The model that was asked, as the provider calls it.
    pub model: String,
    /// What its tokens cost, where that is configured.
    pub price: Option<Price>,
    /// The status.
    pub status: StatusCode,
    /// The headers, without those about the connection.
    pub headers: HeaderMap,
    /// What an answer that is no stream and was read to its end says that it cost.
    pub usage: Option<Usage>,
    /// The body.
    pub body: ByteStream,
}

/// An answer that is an error, in both forms: to be judged, and to be passed on.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) error: CallError,
    pub(crate) reply: Option<Box<Passed>>,
}

impl From<CallError> for Refused {
    fn from(error: CallError) -> Self {
        Refused { error, reply: None }
    }
}

impl Refused {
    /// What the client gets: the upstream's own answer, if there was one.
    pub(crate) fn into_answer(self) -> Result<Forwarded, CallError> {
        match self.reply {
            Some(reply) => Ok(Forwarded::Passed(reply)),
            None => Err(self.error),
        }
    }
}

impl Target {
    /// Passes a request on to this model, once there is a place for the call.
    pub(crate) async fn pass(
        &self,
        incoming: Incoming<'_>,
        caller: &Caller,
    ) -> Result<Passed, Refused> {
        let Engine::Http(http) = &self.provider.engine else {
            let unsupported = CallError::Unsupported {
                provider: self.provider.name.clone(),
                what: "take bytes as they are",
            };
            return Err(unsupported.into());
        };
        let permit = self.lane.enter().await?;
        let call = PassCall {
            target: self,
            http,
            incoming,
            body: self.body_of(incoming),
            caller,
            key: http.key_for(caller, &self.provider.name).await?,
        };
        call.answer(permit).await
    }

    /// The client's body with our name for the model in it.
    fn body_of(&self, incoming: Incoming<'_>) -> Bytes {
        if incoming.client == Client::Gemini {
            return gemini_body(&incoming, &self.model);
        }
        let named = incoming.raw.get_str("model");
        if named.as_deref() == Some(self.model.as_str()) {
            return incoming.body.clone();
        }
        incoming.raw.with_str("model", &self.model).into()
    }
}

/// A Gemini client's body: the path names the model, and a body that names one as well, or
/// holds a request to be counted that does, is to mean the same.
fn gemini_body(incoming: &Incoming<'_>, model: &str) -> Bytes {
    const COUNTED: &str = "generateContentRequest";
    let name = format!("models/{model}");
    let named = |raw: &RawObject<'_>| raw.get("model").is_some();
    if named(incoming.raw) {
        return incoming.raw.with_str("model", &name).into();
    }
    let counted = incoming.raw.get_either(COUNTED);
    let counted = counted.and_then(|json| RawObject::parse(json.as_bytes()).ok());
    match counted.filter(named) {
        Some(counted) if incoming.task == Task::CountTokens => {
            let counted = counted.with_str("model", &name);
            let counted = String::from_utf8_lossy(&counted).into_owned();
            let edits = [COUNTED, "generate_content_request"];
            let there = edits
                .into_iter()
                .find(|key| incoming.raw.get(key).is_some());
            let key = there.unwrap_or(COUNTED);
            incoming.raw.edited(&[Edit::Set(key, &counted)]).into()
        }
        _ => incoming.body.clone(),
    }
}

/// The client's headers, as far as they are for the upstream.
pub(crate) fn headers_of(caller: &Caller, own_key: bool) -> HeaderMap {
    let mut headers = headers::to_upstream(&caller.headers, own_key);
    headers
        .entry(header::CONTENT_TYPE)
        .or_insert(HeaderValue::from_static("application/json"));
    headers
}

/// One request to be passed on, as often as needed.
struct PassCall<'a> {
    target: &'a Target,
    http: &'a HttpEngine,
    incoming: Incoming<'a>,
    body: Bytes,
    caller: &'a Caller,
    key: Option<Secret>,
}

impl PassCall<'_> {
    async fn answer(&self, permit: Option<Permit>) -> Result<Passed, Refused> {
        let mut tries = Tries::new(&self.http.retry);
        loop {
            let mut refusal = None;
            let leave = self.target.lane.breaker.ask()?;
            let outcome = self.attempt(&mut refusal).await;
            leave.tell(&outcome);
            match outcome {
                Ok(passed) => {
                    let body = passed.body.holding(permit);
                    return Ok(Passed { body, ..passed });
                }
                Err(error) => tries.again(error).await.map_err(|error| Refused {
                    error,
                    reply: refusal,
                })?,
            }
        }
    }

    async fn attempt(&self, refusal: &mut Option<Box<Passed>>) -> Result<Passed, CallError> {
        let job = Job {
            task: self.incoming.task,
            dialect: self.incoming.client.into(),
            model: &self.target.model,
            stream: self.incoming.stream,
            body: self.body.clone(),
            headers: headers_of(self.caller, self.http.uses_key_of(self.caller)),
            written: Written::ByClient {
                array: self.incoming.array,
            },
        };
        let dialect = job.dialect;
        let key = self.key.as_ref();
        let answer = self.target.send(self.http, job, key).await?;
        if answer.status.is_success() {
            return self.begin(answer).await;
        }
        let (status, headers) = (answer.status, answer.headers.clone());
        let provider = &self.target.provider;
        let told = provider.error_of(self.http, dialect, answer, key);
        let (error, body) = Box::pin(told).await?;
        // An error that the client would not understand is told in other words.
        if is_error(self.incoming.client, &body) {
            let mut headers = headers::to_client(headers);
            headers.insert(header::CONTENT_LENGTH, body.len().into());
            let body = ByteStream::whole(body, &self.target.provider.name);
            *refusal = Some(Box::new(self.passed(status, headers, body)));
        }
        Err(error)
    }

    /// A stream passes as it comes. Of anything else the beginning, and usually all, is
    /// read first: while the client has heard nothing, there can still be an error
    /// instead of an answer that breaks off or is no JSON.
    async fn begin(&self, answer: HttpAnswer) -> Result<Passed, CallError> {
        let provider = &self.target.provider.name;
        let mut body = Idle::new(answer.body, self.http.client.timeouts().idle);
        let mut usage = None;
        let streamed = self.incoming.stream && self.incoming.array;
        let body = if streamed || is_event_stream(&answer.headers) {
            ByteStream::new(body, provider)
        } else {
            let read = read_ahead(&mut body, AHEAD).await;
            let (start, all) = read.map_err(|error| error.to_call_error(provider))?;
            if all {
                usage = self.usage_of(&start)?;
                ByteStream::whole(start, provider)
            } else {
                ByteStream::begun(start, body, provider)
            }
        };
        let headers = headers::to_client(answer.headers);
        let passed = self.passed(answer.status, headers, body);
        Ok(Passed { usage, ..passed })
    }

    /// The token counts of an answer, which must be JSON.
    fn usage_of(&self, answer: &[u8]) -> Result<Option<Usage>, CallError> {
        match raw::field(answer, counts_key(self.incoming.client)) {
            Ok(usage) => {
                Ok(usage.and_then(|usage| read_counts(self.incoming.client, usage.as_bytes())))
            }
            Err(error) => Err(CallError::BadAnswer {
                provider: self.target.provider.name.clone(),
                reason: error.to_string(),
            }),
        }
    }

    fn passed(&self, status: StatusCode, headers: HeaderMap, body: ByteStream) -> Passed {
        Passed {
            provider: self.target.provider.name.clone(),
            model: self.target.model.clone(),
            price: self.target.lane.price.clone(),
            status,
            headers,
            usage: None,
            body,
        }
    }
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("text/event-stream")
}
