//! A request that needs a run of the engine, answered like any other.

use std::pin::pin;

use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use futures_util::StreamExt;
use prowess_engine::{Engine, RunError, RunEvent, RunRequest, RunStream, SpendCheck};
use prowess_provider::{ClientCredentials, ClientRequest, InputTokenCount, Route, RouteDecision};
use prowess_store::TenantId;
use prowess_wire::neutral::{Response as NeutralResponse, ResponseCollector, StreamEvent};
use prowess_wire::{ClientDialect, Dropped, ReplyContext};

use super::client_reply::ClientReply;
use super::clock::unix_now;
use super::error::GatewayError;
use super::reply::write_route_header;
use crate::auth::while_accessible;
use crate::meter::{Meter, UsageTap};

/// Header with the id of the run.
const RUN_HEADER: HeaderName = HeaderName::from_static("prowess-run");

/// Tenant, route and credentials of a run.
pub(super) struct RunContext {
    pub(super) tenant: TenantId,
    /// The setting of the key.
    pub(super) auto: Option<bool>,
    /// Turns that the request allows.
    pub(super) max_turns: Option<u32>,
    /// Whether it may go on after a turn.
    pub(super) spend_check: Option<SpendCheck>,
    pub(super) route: Route,
    pub(super) credentials: ClientCredentials,
}

impl RunContext {
    fn run_request(self, incoming: &ClientRequest<'_>) -> Result<RunRequest, GatewayError> {
        Ok(RunRequest {
            tenant: self.tenant,
            client: incoming.client,
            request: incoming.to_neutral()?,
            members: Vec::new(),
            auto: self.auto,
            max_turns: self.max_turns,
            spend_check: self.spend_check,
            route: self.route,
            credentials: self.credentials,
        })
    }
}

/// Counts the input tokens of a run's first turn.
pub(super) async fn count_tokens(
    engine: &Engine,
    run_context: RunContext,
    incoming: ClientRequest<'_>,
) -> Result<InputTokenCount, GatewayError> {
    let request = run_context.run_request(&incoming)?;
    Ok(engine.count_tokens(request).await?)
}

/// A run whose response has started.
pub(super) struct StartedRun {
    run: RunStream,
    dropped: Vec<Dropped>,
    /// Why the model of its first turn responds, if there was a choice.
    decision: Option<Box<RouteDecision>>,
    context: ReplyContext,
    stream: bool,
}

/// Starts a run. Dropping the future, or its result, ends the run.
pub(super) async fn start(
    engine: &Engine,
    run_context: RunContext,
    incoming: ClientRequest<'_>,
    meter: &mut Meter,
) -> Result<StartedRun, GatewayError> {
    let request = run_context.run_request(&incoming)?;
    let stream = request.request.stream;
    let context = ReplyContext::for_request(&request.request, unix_now());
    let route_targets: Vec<_> = request.route.targets().to_vec();
    let mut run = engine
        .start_tracked(request, meter.interrupted_row())
        .await?;
    meter.set_run(run.take_usage());
    meter.begin_run(run.id(), &route_targets);
    let mut first = run.wait_for_start().await?;
    let decision = first.as_mut().and_then(|turn| turn.decision.take());
    if let Some(turn) = &first {
        meter.set_target(&turn.provider, &turn.model, turn.price.as_ref());
        let mut targets = route_targets.iter();
        if let Some(target) = targets.find(|target| target.provider() == turn.provider) {
            meter.set_provider_kind(target.kind());
        }
    }
    Ok(StartedRun {
        run,
        dropped: first.map(|turn| turn.dropped).unwrap_or_default(),
        decision,
        context,
        stream,
    })
}

impl StartedRun {
    /// Sends the response to the client.
    pub(super) async fn respond(self, mut reply: ClientReply) -> Result<Response, GatewayError> {
        let name = HeaderValue::from_str(self.run.id());
        let tap = reply.meter.usage_tap();
        let mut response = if self.stream {
            let to_client = move |event| std::future::ready(client_event(event, &tap));
            let events = self.run.filter_map(to_client);
            reply.respond_streamed(events, self.context, &self.dropped)
        } else {
            let collected = {
                let collecting = pin!(collect_response(reply.client, self.run, &tap));
                while_accessible(&mut reply.lost, collecting).await
            };
            let collected = collected.inspect_err(|refusal| {
                reply.meter.record_lost_access(refusal);
            })?;
            match collected {
                Ok(whole) => {
                    reply
                        .respond_whole(&whole, self.context, &self.dropped)
                        .await
                }
                Err(error) => {
                    let failure = GatewayError::from(error);
                    let (status, code) = failure.status_and_code();
                    reply.meter.record_failure(status, &code);
                    return Err(failure);
                }
            }
        };
        if let Ok(name) = name {
            response.headers_mut().insert(RUN_HEADER, name);
        }
        if let Some(decision) = &self.decision {
            write_route_header(decision, response.headers_mut());
        }
        Ok(response)
    }
}

/// The event for the client, if a run event has one.
fn client_event(event: RunEvent, tap: &UsageTap) -> Option<StreamEvent> {
    match event {
        RunEvent::Usage(usage) => {
            tap.record_usage(&usage);
            None
        }
        RunEvent::Response(event) => Some(event),
        RunEvent::Failed(error) => Some(StreamEvent::Error(error.to_api_error())),
        RunEvent::Step(step) => {
            tap.record_step(&step);
            None
        }
    }
}

/// The complete response of a run.
async fn collect_response(
    client: ClientDialect,
    mut run: RunStream,
    tap: &UsageTap,
) -> Result<NeutralResponse, RunError> {
    let mut collector = ResponseCollector::new(client.into());
    let broken = |error| RunError::ResponseInterrupted(Box::new(error));
    while let Some(event) = run.next().await {
        match event {
            RunEvent::Response(event) => {
                let event = strip_foreign_fields(client, event);
                collector.push(event).map_err(broken)?;
            }
            RunEvent::Failed(error) => return Err(error),
            RunEvent::Usage(usage) => tap.record_usage(&usage),
            RunEvent::Step(step) => tap.record_step(&step),
        }
    }
    collector.finish().map_err(broken)
}

/// Unknown fields of a message are Anthropic's; other clients do not get them.
fn strip_foreign_fields(client: ClientDialect, mut event: StreamEvent) -> StreamEvent {
    if let StreamEvent::MessageStart { rest, .. } = &mut event
        && client != ClientDialect::Messages
    {
        rest.clear();
    }
    event
}
