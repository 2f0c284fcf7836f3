//! The way of every call to a model: authenticate, read, find the model, admit, decide between a
//! run and a forwarded request, call, reply.

use std::pin::pin;
use std::sync::Arc;

use axum::Json;
use axum::http::header::ALLOW;
use axum::http::request::Parts;
use axum::http::{Method, Request};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use hyper::body::Body;
use prowess_provider::{ClientRequest, ForwardOutcome, ModelTask, Route, Target};
use prowess_wire::raw::RawObject;
use prowess_wire::{ClientDialect, WireError};
use serde_json::Value;
use tower::BoxError;

use super::client_reply::ClientReply;
use super::compact;
use super::conversation::{self, AnswerRecorder};
use super::endpoint::Endpoint;
use super::error::GatewayError;
use super::file_tracking::{self, FileTracker};
use super::keep_run::KeptReply;
use super::reply;
use super::request::GatewayRequest;
use super::request_memory::RequestMemory;
use super::run::{self, StartedRun};
use crate::app::App;
use crate::auth::{LostAccess, Permission, Principal, while_accessible};
use crate::error::HttpError;
use crate::meter::Meter;
use crate::read_body::read_body;
use crate::request_id::RequestId;
use crate::request_log;
use crate::route::unmatched::method_not_allowed;

/// Forwards a request to its model and returns the response.
pub(crate) async fn forward<B>(
    app: &App,
    endpoint: Endpoint,
    request: Request<B>,
    id: RequestId,
) -> Result<Response, HttpError>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    let (parts, body) = request.into_parts();
    if parts.method != Method::POST {
        return Ok(refuse_method(&endpoint, parts));
    }
    let principal = Principal::authenticate(&parts, app).await?;
    principal.require(Permission::UseModels)?;
    let tenant_request = principal
        .key()
        .map(|_| app.tenant_requests().begin(&principal.tenant))
        .transpose()?;
    let limit = app.settings().request_bytes;
    let body = read_body(app, &principal.tenant, body, limit).await?;
    let (bytes, reservation) = body.into_parts();
    let mut memory = RequestMemory::new(reservation);
    let client = endpoint.client;
    let request = GatewayRequest::new(app, &principal, endpoint, parts, id)?;
    // Boxed: the future is large and would otherwise be moved through every layer around this
    // one.
    let answered = request.respond(&bytes, &mut memory).await;
    match answered {
        Ok(response) => {
            let mut response = memory.attach(app.body_budget(), response);
            // Held until the end of the response.
            if let Some(tenant_request) = tenant_request {
                response.extensions_mut().insert(Arc::new(tenant_request));
            }
            Ok(response)
        }
        Err(failure) => failure.render(client, id),
    }
}

fn refuse_method(endpoint: &Endpoint, parts: Parts) -> Response {
    let refusal = method_not_allowed(parts.method, parts.uri).into_response();
    ([(ALLOW, endpoint.allowed_methods)], refusal).into_response()
}

/// How a request is answered.
enum Outcome {
    Forwarded(ForwardOutcome),
    /// With a response built here.
    Answered(Value),
    Run(Box<StartedRun>),
    /// By a run that goes on without its client.
    Kept(Box<KeptReply>),
}

/// The outcome of a request, and what stores its response.
type RecordedOutcome = (Outcome, Option<AnswerRecorder>);

/// Whether a response needs what its request contained until its end: the messages of a run, what
/// is stored with the response, or the settings that it repeats.
fn needs_request(client: ClientDialect, (outcome, recorder): &RecordedOutcome) -> bool {
    let is_made_of_it = match outcome {
        Outcome::Run(_) => true,
        Outcome::Forwarded(ForwardOutcome::Translated { .. }) => client == ClientDialect::Responses,
        Outcome::Forwarded(_) | Outcome::Answered(_) | Outcome::Kept(_) => false,
    };
    is_made_of_it || recorder.is_some()
}

impl GatewayRequest<'_> {
    fn respond<'a, 'm: 'a>(
        &'a self,
        body: &'a Bytes,
        memory: &'a mut RequestMemory<'m>,
    ) -> BoxFuture<'a, Result<Response, GatewayError>> {
        Box::pin(async move {
            let raw = parse_body(body)?;
            let (model, stream) = self.model_and_stream(&raw)?;
            request_log::record_model(&model);
            let mut meter = self.start_meter(&model, stream);
            let incoming = ClientRequest {
                client: self.endpoint.client,
                task: self.endpoint.task,
                body,
                raw: &raw,
                model: &model,
                stream,
                json_array: self.json_array,
            };
            let mut lost = self.principal.lost_access(self.app, Permission::UseModels);
            let called = {
                let call = pin!(self.call(incoming, &mut meter, memory));
                while_accessible(&mut lost, call).await
            };
            let called = called.inspect_err(|refusal| meter.record_lost_access(refusal))?;
            match called {
                Ok(outcome) => {
                    if needs_request(self.endpoint.client, &outcome) {
                        memory.keep();
                    }
                    self.reply(outcome, body, &raw, meter, lost).await
                }
                Err(failure) => {
                    let (status, code) = failure.status_and_code();
                    meter.record_failure(status, &code);
                    Err(failure)
                }
            }
        })
    }

    /// Admits the request, adds the stored conversation that it continues, and has it answered.
    async fn call(
        &self,
        incoming: ClientRequest<'_>,
        meter: &mut Meter,
        memory: &mut RequestMemory<'_>,
    ) -> Result<RecordedOutcome, GatewayError> {
        if let Some(key) = self.keep.idempotency_key()
            && let Some(kept) = Box::pin(self.find_kept(key, &incoming)).await?
        {
            meter.mark_routed();
            return Ok((Outcome::Kept(Box::new(kept)), None));
        }
        let route = self.admit(&incoming, meter).await?;
        let mut needs_run = self.needs_run(&incoming, &route).await?;
        let keep = self.keep(&incoming)?;
        needs_run |= keep.is_some();
        let (app, principal) = (self.app, self.principal);
        let prepared =
            conversation::prepare(app, principal, &incoming, &route, needs_run, memory).await?;
        let Some((changed, recorder)) = prepared else {
            if let Some(keep) = keep {
                let kept =
                    Box::pin(self.keep_run(incoming, keep, route, None, incoming.body)).await?;
                return Ok((Outcome::Kept(Box::new(kept)), None));
            }
            let outcome = self
                .run_or_forward(incoming, route, needs_run, meter)
                .await?;
            return Ok((outcome, None));
        };
        let raw = RawObject::parse(&changed)?;
        let original = incoming.body;
        let incoming = ClientRequest {
            body: &changed,
            raw: &raw,
            ..incoming
        };
        self.admit_changed(&incoming, &route, meter)?;
        if let Some(keep) = keep {
            let kept = self.keep_run(incoming, keep, route, recorder.as_ref(), original);
            return Ok((Outcome::Kept(Box::new(Box::pin(kept).await?)), None));
        }
        // Stored items may contain calls of an earlier run.
        let needs_run = needs_run || self.needs_run(&incoming, &route).await?;
        let shift = recorder
            .as_ref()
            .map(AnswerRecorder::shift)
            .unwrap_or_default();
        let outcome = self.run_or_forward(incoming, route, needs_run, meter).await;
        let outcome =
            outcome.map_err(|failure| failure.map_field(|field| shift.client_path(field)))?;
        Ok((outcome, recorder))
    }

    /// Whether a request needs a run of the engine.
    async fn needs_run(
        &self,
        incoming: &ClientRequest<'_>,
        route: &Route,
    ) -> Result<bool, GatewayError> {
        let (engine, tenant) = (self.app.engine(), &self.principal.tenant);
        let ClientRequest {
            client,
            task,
            body,
            raw,
            ..
        } = *incoming;
        if matches!(task, ModelTask::Compact | ModelTask::Embed) {
            return Ok(false);
        }
        Ok(engine.needs_run(tenant, client, body, raw, route).await?)
    }

    async fn run_or_forward(
        &self,
        incoming: ClientRequest<'_>,
        route: Route,
        needs_run: bool,
        meter: &mut Meter,
    ) -> Result<Outcome, GatewayError> {
        if needs_run {
            // Few requests become a run; boxed so that the others stay small.
            return Box::pin(self.start_run(incoming, route, meter)).await;
        }
        let speaks = |target: &Target| target.supports_pass_through(incoming.client, incoming.task);
        if incoming.task == ModelTask::Compact && !route.targets().iter().all(speaks) {
            let compacted = compact::compact(&incoming, &route, &self.credentials, meter);
            return Ok(Outcome::Answered(Box::pin(compacted).await?));
        }
        let forwarded = route.forward(incoming, &self.credentials).await?;
        reply::record_target(meter, &forwarded, &route);
        Ok(Outcome::Forwarded(forwarded))
    }

    /// Starts a run, or counts the tokens of its first turn.
    async fn start_run(
        &self,
        incoming: ClientRequest<'_>,
        route: Route,
        meter: &mut Meter,
    ) -> Result<Outcome, GatewayError> {
        let engine = self.app.engine();
        let context = run::RunContext {
            tenant: self.principal.tenant.clone(),
            auto: self.principal.auto(),
            max_turns: self.max_turns,
            spend_check: meter.spend_check(),
            route,
            credentials: self.credentials.clone(),
        };
        if incoming.task == ModelTask::CountTokens {
            let counted = Box::pin(run::count_tokens(engine, context, incoming)).await?;
            return Ok(Outcome::Forwarded(ForwardOutcome::TokenCount(counted)));
        }
        let started = run::start(engine, context, incoming, meter).await?;
        Ok(Outcome::Run(Box::new(started)))
    }

    /// Sends the response to the client.
    async fn reply(
        &self,
        (outcome, recorder): RecordedOutcome,
        body: &Bytes,
        raw: &RawObject<'_>,
        meter: Meter,
        lost: LostAccess,
    ) -> Result<Response, GatewayError> {
        let client = self.endpoint.client;
        let is_uncharged = meter.is_uncharged();
        let reply = ClientReply {
            client,
            id: self.id,
            request_bytes: body.len(),
            json_array: self.json_array,
            ping: self.app.settings().ping_interval,
            meter,
            recorder,
            lost,
        };
        match outcome {
            Outcome::Forwarded(mut forwarded) => {
                let tracker =
                    FileTracker::for_answer(self.app, self.principal, client, raw, &forwarded);
                let decision = forwarded.take_decision();
                let mut response = reply.respond(forwarded).await;
                if let Some(decision) = decision {
                    reply::write_route_header(&decision, response.headers_mut());
                }
                if is_uncharged {
                    reply::write_unpriced_header(response.headers_mut());
                }
                Ok(file_tracking::track_files(tracker, response))
            }
            Outcome::Answered(body) => Ok(Json(body).into_response()),
            Outcome::Run(started) => {
                let mut response = Box::pin(started.respond(reply)).await?;
                if is_uncharged {
                    reply::write_unpriced_header(response.headers_mut());
                }
                Ok(response)
            }
            Outcome::Kept(kept) => Box::pin(kept.respond(self.app, reply.meter, reply.lost)).await,
        }
    }
}

/// Splits a body into its fields.
fn parse_body(body: &Bytes) -> Result<RawObject<'_>, WireError> {
    let raw = RawObject::parse(body)?;
    // A duplicate field could be read differently here and at the upstream.
    raw.check_unique()?;
    Ok(raw)
}
