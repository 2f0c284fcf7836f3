//! A call in no dialect: a neutral request in, a neutral answer out.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use prowess_wire::neutral::{Request, Response, StreamEvent, replay};
use prowess_wire::{
    Dialect, Dropped, ReadContext, WriteOptions, read_error, read_response, write_request,
};

use crate::config::Price;
use crate::error::CallError;
use crate::events::EventStream;
use crate::http::{HttpAnswer, HttpRequest, Idle, headers, read_all, retry_after, should_retry};
use crate::key::{KeyError, Secret};
use crate::provider::{Engine, HttpEngine, Provider};
use crate::retry::Tries;
use crate::route::Target;
use crate::upstream::{Job, Task, Written};

/// The most bytes an answer that is no stream may have.
const MAX_ANSWER: usize = 64 << 20;
/// The most bytes of an error's body that are looked at.
pub(crate) const MAX_ERROR: usize = 1 << 20;

/// On whose behalf a call is made.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// A key of their own for the provider; used only where the provider allows it.
    pub key: Option<Secret>,
    /// The headers of their request. Passed on where the dialect stays the same; of a
    /// translated request only `anthropic-beta` and trace headers are.
    pub headers: HeaderMap,
}

impl Caller {
    /// Tells Anthropic of features, beside those that the caller names.
    pub fn wants_betas(&mut self, betas: &'static str) {
        let betas = HeaderValue::from_static(betas);
        self.headers.append("anthropic-beta", betas);
    }
}

/// An answer and where it came from.
#[derive(Debug)]
pub struct Reply {
    /// The provider that answered.
    pub provider: String,
    /// The model that answered, as the provider calls it.
    pub model: String,
    /// What its tokens cost, where that is configured.
    pub price: Option<Price>,
    /// What of the request could not be said in the provider's dialect.
    pub dropped: Vec<Dropped>,
    /// The answer.
    pub answer: Answer,
}

/// A neutral answer.
#[derive(Debug)]
pub enum Answer {
    /// To a request that asked for no stream.
    Whole(Box<Response>),
    /// To one that did.
    Stream(EventStream),
}

impl Target {
    /// Calls this model, once there is a place for the call.
    pub(crate) async fn call(
        &self,
        request: &Request,
        caller: &Caller,
    ) -> Result<Reply, CallError> {
        let permit = self.lane.enter().await?;
        let (mut answer, dropped) = match &self.provider.engine {
            Engine::Http(http) => self.call_upstream(http, request, caller).await?,
            Engine::Scripted(script) => (self.call_script(script, request).await?, Vec::new()),
        };
        if let (Answer::Stream(events), Some(permit)) = (&mut answer, permit) {
            events.hold(permit);
        }
        Ok(Reply {
            provider: self.provider.name.clone(),
            model: self.model.clone(),
            price: self.lane.price.clone(),
            dropped,
            answer,
        })
    }

    async fn call_upstream(
        &self,
        http: &HttpEngine,
        request: &Request,
        caller: &Caller,
    ) -> Result<(Answer, Vec<Dropped>), CallError> {
        let dialect = http.upstream.dialect(&self.model, request.origin);
        let mut outgoing = write_request(dialect, request, &self.write_options(http))?;
        if let Some(model) = outgoing.body.get_mut("model") {
            *model = self.model.as_str().into();
        }
        for dropped in &outgoing.dropped {
            tracing::debug!(
                field = dropped.field,
                why = dropped.why,
                "left out of the request"
            );
        }
        outgoing.context.model.clone_from(&self.model);
        let call = UpstreamCall {
            target: self,
            http,
            dialect,
            stream: request.stream,
            body: Bytes::from(outgoing.body.to_string()),
            headers: own_headers(request, dialect, caller),
            context: outgoing.context.with_id(new_id()),
            key: http.key_for(caller, &self.provider.name).await?,
        };
        Ok((call.answer().await?, outgoing.dropped))
    }
}

impl Target {
    /// What the model can do: as its name and server tell, and as its entry says.
    pub(crate) fn write_options(&self, http: &HttpEngine) -> WriteOptions {
        let known = http.upstream.write_options(&self.model);
        self.lane.write.apply(known)
    }
}

/// One call to an upstream, ready to be made as often as needed.
struct UpstreamCall<'a> {
    target: &'a Target,
    http: &'a HttpEngine,
    dialect: Dialect,
    stream: bool,
    body: Bytes,
    headers: HeaderMap,
    context: ReadContext,
    key: Option<Secret>,
}

impl UpstreamCall<'_> {
    async fn answer(&self) -> Result<Answer, CallError> {
        let mut tries = Tries::new(&self.http.retry);
        loop {
            let leave = self.target.lane.breaker.ask()?;
            let outcome = self.attempt().await;
            leave.tell(&outcome);
            match outcome {
                Ok(answer) => return Ok(answer),
                Err(error) => tries.again(error).await?,
            }
        }
    }

    async fn attempt(&self) -> Result<Answer, CallError> {
        let job = Job {
            task: Task::Generate,
            dialect: self.dialect,
            model: &self.target.model,
            stream: self.stream,
            body: self.body.clone(),
            headers: self.headers.clone(),
            written: Written::Here,
        };
        let answer = self.target.send(self.http, job, self.key.as_ref()).await?;
        if !answer.status.is_success() {
            let (error, _) = self
                .target
                .provider
                .error_of(self.http, self.dialect, answer, self.key.as_ref())
                .await?;
            return Err(error);
        }
        // Some servers do not stream although they were asked to.
        let is_json = answer
            .headers
            .get("content-type")
            .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        if self.stream && !is_json {
            return self.stream(answer).await;
        }
        let response = self.whole(answer).await?;
        if self.stream {
            let events = replay(response);
            return Ok(Answer::Stream(EventStream::ready(events)));
        }
        Ok(Answer::Whole(Box::new(response)))
    }

    /// Waits for the first event: until then the call can still fail as a whole, and be
    /// made again.
    async fn stream(&self, answer: HttpAnswer) -> Result<Answer, CallError> {
        let provider = &self.target.provider.name;
        let idle = self.http.client.timeouts().idle;
        let reader = self
            .http
            .upstream
            .reader(self.dialect, self.context.clone());
        let body = Idle::new(answer.body, idle);
        let mut events = EventStream::open(body, reader, provider, self.key.clone());
        match events.first().await {
            Some(StreamEvent::Error(error)) => Err(CallError::Upstream {
                provider: provider.clone(),
                error: Box::new(error.clone()),
                retry_after: None,
                should_retry: None,
            }),
            _ => Ok(Answer::Stream(events)),
        }
    }

    async fn whole(&self, answer: HttpAnswer) -> Result<Response, CallError> {
        let provider = &self.target.provider.name;
        let mut body = Idle::new(answer.body, self.http.client.timeouts().idle);
        let bytes = read_all(&mut body, MAX_ANSWER)
            .await
            .map_err(|error| error.to_call_error(provider))?
            .ok_or_else(|| CallError::AnswerTooLarge {
                provider: provider.clone(),
                limit: MAX_ANSWER,
            })?;
        read_response(self.dialect, &bytes, &self.context).map_err(|error| CallError::BadAnswer {
            provider: provider.clone(),
            reason: error.to_string(),
        })
    }
}

impl Target {
    /// Sends a request once.
    pub(crate) async fn send(
        &self,
        http: &HttpEngine,
        job: Job<'_>,
        key: Option<&Secret>,
    ) -> Result<HttpAnswer, CallError> {
        let request = self
            .provider
            .addressed(http, http.upstream.request(job, key))?;
        http.client.send(request).await
    }
}

impl Provider {
    /// A request to it, with the headers that all of them have.
    pub(crate) fn addressed(
        &self,
        http: &HttpEngine,
        request: Result<HttpRequest, KeyError>,
    ) -> Result<HttpRequest, CallError> {
        let mut request = request.map_err(|error| CallError::Key {
            provider: self.name.clone(),
            error,
        })?;
        http.add_headers(&mut request.headers);
        Ok(request)
    }

    /// What an error answer says, and its body, both without the key in them.
    pub(crate) async fn error_of(
        &self,
        http: &HttpEngine,
        dialect: Dialect,
        answer: HttpAnswer,
        key: Option<&Secret>,
    ) -> Result<(CallError, Bytes), CallError> {
        let mut body = Idle::new(answer.body, http.client.timeouts().idle);
        let bytes = read_all(&mut body, MAX_ERROR)
            .await
            .map_err(|error| error.to_call_error(&self.name))?
            .ok_or_else(|| CallError::AnswerTooLarge {
                provider: self.name.clone(),
                limit: MAX_ERROR,
            })?;
        let bytes = redacted(bytes, key);
        let mut error = read_error(dialect, answer.status.as_u16(), &bytes);
        if error.request_id.is_none() {
            error.request_id = request_id(&answer.headers);
        }
        let error = CallError::Upstream {
            provider: self.name.clone(),
            error: Box::new(error),
            retry_after: retry_after(&answer.headers, std::time::SystemTime::now()),
            should_retry: should_retry(&answer.headers),
        };
        Ok((error, bytes))
    }
}

/// Some servers repeat the key in the error that refuses it.
fn redacted(bytes: Vec<u8>, key: Option<&Secret>) -> Bytes {
    match (key, String::from_utf8(bytes)) {
        (Some(key), Ok(text)) => key.redact(text).into(),
        (None, Ok(text)) => text.into(),
        (_, Err(error)) => error.into_bytes().into(),
    }
}

fn request_id(headers: &HeaderMap) -> Option<String> {
    ["request-id", "x-request-id", "x-amzn-requestid"]
        .iter()
        .find_map(|name| headers.get(*name)?.to_str().ok())
        .map(str::to_owned)
}

/// The headers of a request in a dialect that is not the caller's own.
pub(crate) fn own_headers(request: &Request, dialect: Dialect, caller: &Caller) -> HeaderMap {
    let mut own = headers::own(request.stream);
    let betas = dialect == Dialect::Messages && request.origin == Dialect::Messages;
    let names = ["traceparent", "tracestate", "anthropic-beta"];
    for name in names.iter().take(if betas { 3 } else { 2 }) {
        for value in caller.headers.get_all(*name) {
            own.append(*name, value.clone());
        }
    }
    own
}

/// An id for an answer whose upstream gives none.
pub(crate) fn new_id() -> String {
    let letters = std::iter::repeat_with(fastrand::alphanumeric).take(24);
    format!("msg_{}", letters.collect::<String>())
}
