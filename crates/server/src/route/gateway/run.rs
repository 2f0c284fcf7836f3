//! A request that needs a run of the engine's, answered as any other is.

use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use futures_util::StreamExt;
use prowess_engine::{Engine, Run, RunError, RunEvent, RunRequest};
use prowess_provider::{Caller, Counted, Incoming, Route};
use prowess_store::TenantId;
use prowess_wire::neutral::{Collector, Response as Whole, StreamEvent};
use prowess_wire::{Client, Dropped, ReplyContext};

use super::answer::{self, Reply};
use super::failure::Failure;
use crate::meter::{Meter, Tap};

/// Names the run, by which its record is found.
const RUN: HeaderName = HeaderName::from_static("prowess-run");

/// Who asks, and whom.
pub(super) struct Asked {
    pub(super) tenant: TenantId,
    pub(super) route: Route,
    pub(super) caller: Caller,
}

impl Asked {
    fn run_request(self, incoming: &Incoming<'_>) -> Result<RunRequest, Failure> {
        Ok(RunRequest {
            tenant: self.tenant,
            client: incoming.client,
            request: incoming.read()?,
            members: Vec::new(),
            route: self.route,
            caller: self.caller,
        })
    }
}

/// Counts the tokens that a run would begin with.
pub(super) async fn count(
    engine: &Engine,
    asked: Asked,
    incoming: Incoming<'_>,
) -> Result<Counted, Failure> {
    let asked = asked.run_request(&incoming)?;
    Ok(engine.count(asked).await?)
}

/// A run whose answer has begun.
pub(super) struct Begun {
    run: Run,
    dropped: Vec<Dropped>,
    context: ReplyContext,
    stream: bool,
}

/// Starts a run. Dropping the future, or what it gives, ends the run.
pub(super) async fn begin(
    engine: &Engine,
    asked: Asked,
    incoming: Incoming<'_>,
    meter: &mut Meter,
) -> Result<Begun, Failure> {
    let asked = asked.run_request(&incoming)?;
    let stream = asked.request.stream;
    let context = ReplyContext::of(&asked.request, answer::now());
    let kinds: Vec<_> = asked.route.targets().to_vec();
    let mut run = engine.start(asked).await?;
    let first = run.begun().await?;
    if let Some(turn) = &first {
        meter.answered_by(&turn.provider, &turn.model, turn.price.as_ref());
        let mut targets = kinds.iter();
        if let Some(target) = targets.find(|target| target.provider() == turn.provider) {
            meter.kind(target.kind());
        }
    }
    Ok(Begun {
        run,
        dropped: first.map(|turn| turn.dropped).unwrap_or_default(),
        context,
        stream,
    })
}

impl Begun {
    /// Gives the answer to the client.
    pub(super) async fn give(self, mut reply: Reply) -> Result<Response, Failure> {
        let name = HeaderValue::from_str(self.run.id());
        let tap = reply.meter.tap();
        let mut response = if self.stream {
            let heard = move |event| std::future::ready(told(event, &tap));
            let events = self.run.filter_map(heard);
            reply.streamed(events, self.context, &self.dropped)
        } else {
            match collect(reply.client, self.run, &tap).await {
                Ok(whole) => reply.whole(&whole, self.context, &self.dropped).await,
                Err(error) => {
                    let failure = Failure::from(error);
                    let (status, code) = failure.outline();
                    reply.meter.failed(status, &code);
                    return Err(failure);
                }
            }
        };
        if let Ok(name) = name {
            response.headers_mut().insert(RUN, name);
        }
        Ok(response)
    }
}

/// What a client hears of a run.
fn told(event: RunEvent, tap: &Tap) -> Option<StreamEvent> {
    match event {
        RunEvent::Used(usage) => {
            tap.used(&usage);
            None
        }
        RunEvent::Answer(event) => Some(event),
        RunEvent::Failed(error) => Some(StreamEvent::Error(error.to_api_error())),
        RunEvent::Step(_) => None,
    }
}

/// The whole answer of a run.
async fn collect(client: Client, mut run: Run, tap: &Tap) -> Result<Whole, RunError> {
    let mut collector = Collector::new(client.into());
    let broken = |error| RunError::Broken(Box::new(error));
    while let Some(event) = run.next().await {
        match event {
            RunEvent::Answer(event) => {
                let event = of_client(client, event);
                collector.push(event).map_err(broken)?;
            }
            RunEvent::Failed(error) => return Err(error),
            RunEvent::Used(usage) => tap.used(&usage),
            RunEvent::Step(_) => {}
        }
    }
    collector.finish().map_err(broken)
}

/// Unknown fields of a message are Anthropic's, and mean nothing to others.
fn of_client(client: Client, mut event: StreamEvent) -> StreamEvent {
    if let StreamEvent::MessageStart { rest, .. } = &mut event
        && client != Client::Messages
    {
        rest.clear();
    }
    event
}
