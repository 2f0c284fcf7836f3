//! A request that needs a run of the engine's, answered as any other is.

use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use bytes::Bytes;
use futures_util::StreamExt;
use prowess_engine::{Engine, Run, RunError, RunEvent, RunRequest};
use prowess_provider::{Caller, Route, Task};
use prowess_store::TenantId;
use prowess_wire::neutral::{Collector, Response as Whole, StreamEvent};
use prowess_wire::{Client, ReplyContext, StreamWriter, read_request};

use super::answer;
use super::failure::Failure;
use super::forward::Wanted;
use super::stream::Written;
use crate::context::RequestId;
use crate::error::ApiError;

/// Names the run, by which its record is found.
const RUN: HeaderName = HeaderName::from_static("prowess-run");

/// Who asks, what for, and whom.
pub(super) struct Asked {
    pub(super) tenant: TenantId,
    pub(super) wanted: Wanted,
    pub(super) route: Route,
    pub(super) caller: Caller,
}

/// Runs a request. Dropping the future, or the stream it gives, ends the run.
pub(super) async fn run(
    engine: &Engine,
    asked: Asked,
    body: &Bytes,
    id: &RequestId,
) -> Result<Response, Failure> {
    let client = asked.wanted.client;
    if asked.wanted.task != Task::Generate {
        let message = "tokens of a request that names stored skills cannot be counted; leave \
                       `container` out of it";
        return Err(ApiError::bad_request("skills-not-counted", message).into());
    }
    let request = read_request(client, body)?;
    let stream = request.stream;
    let context = ReplyContext::of(&request, answer::now());
    let asked = RunRequest {
        tenant: asked.tenant,
        client,
        request,
        members: Vec::new(),
        route: asked.route,
        caller: asked.caller,
    };
    let mut run = engine.start(asked).await?;
    let name = HeaderValue::from_str(run.id());
    let dropped = run.begun().await?;
    let mut response = if stream {
        let writer = StreamWriter::new(client, context);
        let events = run.filter_map(|event| std::future::ready(told(event)));
        answer::streamed(Written::new(events, writer, id.clone()))
    } else {
        answer::whole(client, &collect(client, run).await?, &context)
    };
    answer::name_dropped(&mut response, &dropped);
    if let Ok(name) = name {
        response.headers_mut().insert(RUN, name);
    }
    Ok(response)
}

/// What a client hears of a run.
fn told(event: RunEvent) -> Option<StreamEvent> {
    match event {
        RunEvent::Answer(event) => Some(event),
        RunEvent::Failed(error) => Some(StreamEvent::Error(error.to_api_error())),
        RunEvent::Step(_) | RunEvent::Extra(_) => None,
    }
}

/// The whole answer of a run.
async fn collect(client: Client, mut run: Run) -> Result<Whole, RunError> {
    let mut collector = Collector::new(client.into());
    let mut extra = Default::default();
    let broken = |error| RunError::Broken(Box::new(error));
    while let Some(event) = run.next().await {
        match event {
            RunEvent::Answer(event) => collector.push(event).map_err(broken)?,
            RunEvent::Failed(error) => return Err(error),
            RunEvent::Extra(fields) => extra = fields,
            RunEvent::Step(_) => {}
        }
    }
    let mut whole = collector.finish().map_err(broken)?;
    if client != Client::Messages {
        // Unknown fields of a message are Anthropic's.
        whole.rest.clear();
    }
    whole.rest.extend(extra);
    Ok(whole)
}
