//! Responses to clients that wait for a kept run, or follow it. A client that leaves does not
//! end the run.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{Stream, stream};
use prowess_engine::LogEvent;
use prowess_store::{Error as StoreError, JournalRun, TenantId};
use prowess_wire::neutral::StreamEvent;
use prowess_wire::{ClientDialect, ReplyContext, StreamWriter};
use tokio::time::timeout;

use super::numbered_events::NumberedEvents;
use super::outcome::RunOutcome;
use super::response_object::response_object;
use super::run_events::RunEvents;
use super::stored_request::StoredRequest;
use super::written_log::write_log_event;
use crate::app::App;
use crate::auth::LostAccess;
use crate::error::{HttpError, to_neutral};
use crate::render;
use crate::route::gateway::UnsupportedFields;
use crate::stored_answer::StoredAnswer;

/// Header with the id of the run.
pub(crate) const RUN_HEADER: HeaderName = HeaderName::from_static("prowess-run");
/// How long a stream is silent before a ping, if none is configured.
pub(super) const PING_INTERVAL: Duration = Duration::from_secs(15);

/// A run to attach to.
pub(crate) struct Attachment {
    pub(super) app: App,
    pub(super) tenant: TenantId,
    pub(super) run: String,
    request: StoredRequest,
}

/// Who is sent the response of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Requester {
    /// The request that has begun it.
    First,
    /// One that was sent again. Many may be, and each reads a result that may be large.
    Repeated,
}

/// How a client follows the events of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FollowOptions {
    /// The number of the last event that it has.
    pub(crate) after: Option<u64>,
    /// Whether events carry their numbers as ids.
    pub(crate) adds_ids: bool,
    /// Whether a stream of a Gemini client is one JSON array.
    pub(crate) json_array: bool,
    /// Whether a run that fails before its response starts is an error response.
    pub(crate) waits_for_start: bool,
}

impl Attachment {
    /// A run of a tenant that has this request.
    pub(crate) fn new(app: &App, tenant: TenantId, run: String, request: StoredRequest) -> Self {
        Attachment {
            app: app.clone(),
            tenant,
            run,
            request,
        }
    }

    /// The run of a tenant.
    ///
    /// # Errors
    /// When the tenant has no such run.
    pub(crate) async fn open(app: &App, tenant: &TenantId, run: &str) -> Result<Self, HttpError> {
        // A request may be large, and anybody of the tenant may follow its run.
        let _permit = app.transfers().acquire_stored_read(tenant).await?;
        let stored = app.store().journal_request(tenant, run).await?;
        Attachment::from_stored(app, tenant, run, &stored)
    }

    /// The run of a tenant, if there is one. Its request counts for the answer that is made of it.
    ///
    /// # Errors
    /// When the store fails, or there is no memory for the request.
    pub(crate) async fn find(
        app: &App,
        tenant: &TenantId,
        run: &str,
        answer: &mut StoredAnswer,
    ) -> Result<Option<Self>, HttpError> {
        let stored = match app.store().journal_request(tenant, run).await {
            Err(StoreError::NotFound { .. } | StoreError::NulInText) => return Ok(None),
            stored => stored?,
        };
        answer.count(std::str::from_utf8(&stored).ok()).await?;
        Attachment::from_stored(app, tenant, run, &stored).map(Some)
    }

    fn from_stored(
        app: &App,
        tenant: &TenantId,
        run: &str,
        stored: &[u8],
    ) -> Result<Self, HttpError> {
        let request = StoredRequest::parse(stored)?;
        Ok(Attachment::new(
            app,
            tenant.clone(),
            run.to_owned(),
            request,
        ))
    }

    /// The run.
    pub(crate) fn run(&self) -> &str {
        &self.run
    }

    pub(crate) fn request(&self) -> &StoredRequest {
        &self.request
    }

    /// The run as it is now.
    pub(crate) async fn current(&self) -> Result<JournalRun, HttpError> {
        let store = self.app.store();
        Ok(store.journal_run(&self.tenant, &self.run).await?)
    }

    /// The response that a client gets which sent the request, now or again, for as long as it
    /// has access.
    pub(crate) async fn respond(
        self,
        requester: Requester,
        lost: LostAccess,
    ) -> Result<Response, HttpError> {
        let request = &self.request;
        let options = FollowOptions {
            adds_ids: !request.json_array,
            json_array: request.json_array,
            waits_for_start: !request.background,
            after: None,
        };
        let name = HeaderValue::from_str(&self.run);
        let mut response = match (request.stream, request.background) {
            (true, _) => self.follow(options, lost).await?,
            (false, true) => self.show(requester).await?,
            (false, false) => tokio::select! {
                response = self.wait(requester) => response?,
                refusal = lost => return Err(refusal),
            },
        };
        if let Ok(name) = name {
            response.headers_mut().insert(RUN_HEADER, name);
        }
        Ok(response)
    }

    /// The run as an object of the Responses API.
    pub(crate) async fn response_object(&self) -> Result<serde_json::Value, HttpError> {
        response_object(&self.current().await?, &self.request)
    }

    /// Waits for the end of the run.
    async fn wait(&self, requester: Requester) -> Result<Response, HttpError> {
        let mut events = RunEvents::new(&self.app, &self.tenant, &self.run);
        let mut unsupported = UnsupportedFields::default();
        while let Some(more) = events.next().await? {
            for event in more {
                if let LogEvent::Dropped(fields) = event {
                    unsupported.add_names(fields.iter().map(|(field, _)| field.as_str()));
                }
            }
        }
        let mut answer = self.begin_answer(requester).await?;
        let run = events.read_run().await?;
        count_result(&mut answer, &run).await?;
        let mut response = outcome_response(&run, self.request.client())?;
        unsupported.write_header(response.headers_mut());
        Ok(send(answer, response))
    }

    /// The run as it is now, for a client that does not wait for its end.
    async fn show(&self, requester: Requester) -> Result<Response, HttpError> {
        let mut answer = self.begin_answer(requester).await?;
        let run = self.current().await?;
        count_result(&mut answer, &run).await?;
        let response = match self.request.client() {
            ClientDialect::Responses => Json(response_object(&run, &self.request)?).into_response(),
            // Only Responses has an object for a response that is not complete.
            _ => (StatusCode::ACCEPTED, Json(render::kept_run(&run))).into_response(),
        };
        Ok(send(answer, response))
    }

    /// Memory for the answer that is made of the run's result. The request that began the run needs
    /// no permit for it: sent again after a refusal, it would begin another run.
    async fn begin_answer(&self, requester: Requester) -> Result<Option<StoredAnswer>, HttpError> {
        match requester {
            Requester::First => Ok(None),
            Requester::Repeated => {
                let answer = StoredAnswer::begin(&self.app, &self.tenant).await?;
                Ok(Some(answer))
            }
        }
    }

    /// The events of the run as a stream in its client's dialect, for as long as the client has
    /// access.
    pub(crate) async fn follow(
        self,
        options: FollowOptions,
        mut lost: LostAccess,
    ) -> Result<Response, HttpError> {
        let client = self.request.client();
        let mut context = self.context()?;
        context.json_array = options.json_array;
        let mut events = RunEvents::new(&self.app, &self.tenant, &self.run);
        let mut first = Vec::new();
        let mut unsupported = UnsupportedFields::default();
        if options.waits_for_start {
            let has_started = |events: &[LogEvent]| {
                let is_response = |event: &LogEvent| matches!(event, LogEvent::Response(_));
                events.iter().any(is_response)
            };
            while !has_started(&first) {
                let next = tokio::select! {
                    next = events.next() => next?,
                    refusal = &mut lost => return Err(refusal),
                };
                match next {
                    Some(more) => first.extend(more),
                    None => break,
                }
            }
            for event in &first {
                if let LogEvent::Dropped(fields) = event {
                    unsupported.add_names(fields.iter().map(|(field, _)| field.as_str()));
                }
            }
            if failed_at_start(&first) {
                // It is written when the run has ended.
                while events.next().await?.is_some() {}
                return outcome_response(&events.read_run().await?, client);
            }
        }
        let kind = if options.json_array {
            "application/json; charset=utf-8"
        } else {
            "text/event-stream; charset=utf-8"
        };
        let headers = [
            (CONTENT_TYPE, kind),
            (CACHE_CONTROL, "no-cache"),
            (HeaderName::from_static("x-accel-buffering"), "no"),
        ];
        let follower = Follower {
            writer: StreamWriter::new(client, context.clone()),
            client,
            context,
            lost,
            numbers: NumberedEvents::new(options.after, options.adds_ids),
            is_numbered: !options.json_array,
            ping: self.app.settings().ping_interval.unwrap_or(PING_INTERVAL),
            events,
            first: Some(first),
            is_over: false,
        };
        let mut response = (headers, Body::from_stream(follower.into_stream())).into_response();
        unsupported.write_header(response.headers_mut());
        Ok(response)
    }

    fn context(&self) -> Result<ReplyContext, HttpError> {
        let context = self.request.reply_context(&self.run);
        context.map_err(|error| HttpError::internal("run-malformed", &error))
    }
}

/// Counts the result of a run for the answer that is made of it.
async fn count_result(
    answer: &mut Option<StoredAnswer>,
    run: &JournalRun,
) -> Result<(), HttpError> {
    match answer {
        Some(answer) => answer.count(run.result.as_deref()).await,
        None => Ok(()),
    }
}

fn send(answer: Option<StoredAnswer>, response: Response) -> Response {
    match answer {
        Some(answer) => answer.send(response),
        None => response,
    }
}

/// Whether the run has failed before its response started.
fn failed_at_start(events: &[LogEvent]) -> bool {
    let mut responses = events.iter().filter_map(|event| match event {
        LogEvent::Response(event) => Some(&**event),
        _ => None,
    });
    matches!(responses.next(), Some(StreamEvent::Error(_)) | None)
}

/// The response for a run that has ended.
fn outcome_response(run: &JournalRun, client: ClientDialect) -> Result<Response, HttpError> {
    let outcome = RunOutcome::from_run(run)?;
    let outcome = outcome.unwrap_or_else(|| RunOutcome::without_result(run.state));
    let forbids_retry = outcome.forbids_retry();
    let (status, body) = outcome.render(client);
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    let mut response = (status, Json(body)).into_response();
    if forbids_retry {
        let value = HeaderValue::from_static("false");
        response.headers_mut().insert("x-should-retry", value);
    }
    Ok(response)
}

/// Writes the events of a run for one client.
struct Follower {
    events: RunEvents,
    /// Events that were read already.
    first: Option<Vec<LogEvent>>,
    writer: StreamWriter,
    client: ClientDialect,
    context: ReplyContext,
    numbers: NumberedEvents,
    is_numbered: bool,
    ping: Duration,
    lost: LostAccess,
    is_over: bool,
}

impl Follower {
    fn into_stream(self) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
        stream::unfold(self, |mut follower| async move {
            let bytes = follower.next_bytes().await?;
            Some((Ok(Bytes::from(bytes)), follower))
        })
    }

    async fn next_bytes(&mut self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        while out.is_empty() {
            if self.is_over {
                return None;
            }
            let next = match self.first.take() {
                Some(first) => Ok(Ok(Some(first))),
                None => tokio::select! {
                    biased;
                    refusal = &mut self.lost => {
                        self.refuse(&refusal, &mut out);
                        return Some(out);
                    }
                    next = timeout(self.ping, self.events.next()) => next,
                },
            };
            let events = match next {
                Err(_) => {
                    self.writer.write(&StreamEvent::Ping, &mut out);
                    return Some(out);
                }
                Ok(Ok(Some(events))) => events,
                Ok(Ok(None)) => {
                    self.is_over = true;
                    return None;
                }
                Ok(Err(error)) => {
                    // The client reconnects.
                    tracing::warn!(%error, "cannot read the events of a run");
                    return None;
                }
            };
            for event in events {
                self.write(event, &mut out);
            }
        }
        Some(out)
    }

    /// Ends the stream of a client that may not follow the run any more. The run goes on, so this
    /// is no event of it: it has no number, and the response has not failed.
    fn refuse(&mut self, refusal: &HttpError, out: &mut Vec<u8>) {
        self.is_over = true;
        let event = StreamEvent::Error(to_neutral(refusal, None));
        if self.is_numbered {
            StreamWriter::new(self.client, self.context.clone()).write(&event, out);
        } else {
            // The end of its array.
            self.writer.write(&event, out);
        }
    }

    fn write(&mut self, event: LogEvent, out: &mut Vec<u8>) {
        let mut bytes = Vec::new();
        write_log_event(&event, &mut self.writer, &mut bytes);
        if self.is_numbered {
            self.numbers.write(&bytes, out);
        } else {
            out.extend_from_slice(&bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use prowess_store::{
        BeginOutcome, EndOutcome, NewJournalRun, RunResult, RunState, Store, StoreConfig,
    };
    use serde_json::json;

    use super::*;
    use crate::kept_runs::stored_request::NewStoredRequest;
    use crate::settings::ServerSettings;

    /// A request whose run has ended.
    async fn ended(store: &Store, tenant: &TenantId, background: bool) -> (String, StoredRequest) {
        let request = StoredRequest::new(NewStoredRequest {
            client: ClientDialect::Messages,
            model: "m",
            stream: false,
            json_array: false,
            background,
            headers: &HeaderMap::new(),
            body: br#"{"model":"m","max_tokens":1,"messages":[]}"#,
            auto: None,
            max_turns: None,
            created: 0,
            recorder: None,
            webhook: None,
        });
        let run = Store::new_run_id().unwrap();
        let new = NewJournalRun {
            id: &run,
            api_key: None,
            dialect: "messages",
            model: "m",
            kept: true,
            format: 1,
            idempotency_key: None,
            request_digest: "d",
            request: &request.to_bytes().unwrap(),
        };
        let lease = Duration::from_secs(600);
        let started = store.begin_run(tenant, &new, "a", lease).await.unwrap();
        let BeginOutcome::Started(lease) = started else {
            panic!("{started:?}");
        };
        let result = RunResult {
            state: RunState::Completed,
            body: &RunOutcome::Response(json!({"id": "msg_1"})).to_json(),
            events: None,
        };
        let outcome = store.end_run(&lease, &result, &[]).await.unwrap();
        assert_eq!(outcome, EndOutcome::Ended);
        (run, request)
    }

    #[tokio::test]
    async fn a_repeated_request_waits_for_its_tenants_turn_to_read_a_result() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreConfig::local(folder.path())).await;
        let store = store.unwrap();
        let settings = ServerSettings {
            upload_wait: Duration::ZERO,
            ..ServerSettings::default()
        };
        let app = App::new(store.clone(), settings);
        let tenant = TenantId::default_tenant();
        for (background, status) in [(false, StatusCode::OK), (true, StatusCode::ACCEPTED)] {
            let (run, request) = ended(&store, &tenant, background).await;
            let respond = async |requester| {
                let attachment =
                    Attachment::new(&app, tenant.clone(), run.clone(), request.clone());
                let lost: LostAccess = Box::pin(std::future::pending());
                let response = attachment.respond(requester, lost).await;
                response.map_or_else(|error| error.status, |response| response.status())
            };
            let mut reads = Vec::new();
            while let Ok(permit) = app.transfers().acquire_stored_read(&tenant).await {
                reads.push(permit);
            }
            let refused = respond(Requester::Repeated).await;
            assert_eq!(refused, StatusCode::TOO_MANY_REQUESTS, "{background}");
            assert_eq!(respond(Requester::First).await, status);
            drop(reads);
            assert_eq!(respond(Requester::Repeated).await, status);
        }
    }
}
