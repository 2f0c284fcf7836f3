//! A call in the client's own dialect: bytes in, bytes out, untouched but for the
//! model's name and the auth.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::call::Caller;
use crate::config::Price;
use crate::error::CallError;
use crate::http::{ByteStream, HttpAnswer, headers};
use crate::key::Secret;
use crate::limit::Permit;
use crate::provider::{Engine, HttpEngine};
use crate::retry::Tries;
use crate::route::{Forwarded, Incoming, Target};
use crate::upstream::Job;

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
            headers: headers_of(caller, http.uses_key_of(caller)),
            key: http.key_for(caller, &self.provider.name).await?,
        };
        call.answer(permit).await
    }

    /// The client's body with our name for the model in it.
    fn body_of(&self, incoming: Incoming<'_>) -> Bytes {
        let named = incoming.raw.get_str("model");
        if named.as_deref() == Some(self.model.as_str()) {
            return incoming.body.clone();
        }
        incoming.raw.with_str("model", &self.model).into()
    }
}

/// The client's headers, as far as they are for the upstream.
fn headers_of(caller: &Caller, own_key: bool) -> HeaderMap {
    let mut headers = headers::to_upstream(&caller.headers);
    if !own_key {
        // They choose an account of the key's owner, which is not the caller.
        headers.remove("openai-organization");
        headers.remove("openai-project");
        headers.remove("anthropic-workspace-id");
    }
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
    headers: HeaderMap,
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
                Ok(answer) => return Ok(self.passed(answer, permit)),
                Err(error) => tries.again(error).await.map_err(|error| Refused {
                    error,
                    reply: refusal,
                })?,
            }
        }
    }

    async fn attempt(&self, refusal: &mut Option<Box<Passed>>) -> Result<HttpAnswer, CallError> {
        let job = Job {
            task: self.incoming.task,
            dialect: self.incoming.client.into(),
            model: &self.target.model,
            stream: self.incoming.stream,
            body: self.body.clone(),
            headers: self.headers.clone(),
        };
        let dialect = job.dialect;
        let key = self.key.as_ref();
        let answer = self.target.send(self.http, job, key).await?;
        if answer.status.is_success() {
            return Ok(answer);
        }
        let (status, headers) = (answer.status, answer.headers.clone());
        let (error, body) = self
            .target
            .error_of(self.http, dialect, answer, key)
            .await?;
        let mut headers = headers::to_client(headers);
        headers.insert(header::CONTENT_LENGTH, body.len().into());
        let provider = self.target.provider.name.clone();
        *refusal = Some(Box::new(Passed {
            body: ByteStream::whole(body, &provider),
            model: self.target.model.clone(),
            price: self.target.lane.price.clone(),
            provider,
            status,
            headers,
        }));
        Err(error)
    }

    fn passed(&self, answer: HttpAnswer, permit: Option<Permit>) -> Passed {
        let provider = &self.target.provider.name;
        let idle = self.http.client.timeouts().idle;
        Passed {
            provider: provider.clone(),
            model: self.target.model.clone(),
            price: self.target.lane.price.clone(),
            status: answer.status,
            headers: headers::to_client(answer.headers),
            body: ByteStream::new(answer.body, idle, provider, permit),
        }
    }
}
