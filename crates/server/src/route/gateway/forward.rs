//! The road every request to a model takes.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName};
use axum::response::Response;
use bytes::Bytes;
use prowess_provider::{Caller as OnBehalf, Incoming, Route, RouteError, Secret, Task};
use prowess_wire::raw::RawObject;
use prowess_wire::{Client, WireError};

use super::failure::Failure;
use super::{answer, body, run};
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::context::RequestId;
use crate::error::ApiError;

/// By this header a client brings a key of its own for the provider.
const KEY_HEADER: &str = "prowess-provider-key";
/// How headers begin that are meant for us alone.
const OURS: &str = "prowess-";

/// What a client speaks and wants.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) client: Client,
    pub(super) task: Task,
}

/// Forwards a request to its model and brings back the answer.
pub(super) async fn forward(
    app: &App,
    caller: &Caller,
    wanted: Wanted,
    request: Request,
) -> Result<Response, ApiError> {
    caller.may(Need::UseModels)?;
    let (parts, body) = request.into_parts();
    let settings = app.settings();
    let body = body::read(body, settings.request_bytes, settings.idle).await?;
    let id = parts.extensions.get().cloned().unwrap_or_default();
    match call(app, caller, wanted, parts.headers, &body, &id).await {
        Ok(response) => Ok(response),
        Err(failure) => failure.response(wanted.client, &id),
    }
}

async fn call(
    app: &App,
    caller: &Caller,
    wanted: Wanted,
    headers: HeaderMap,
    body: &Bytes,
    id: &RequestId,
) -> Result<Response, Failure> {
    let raw = RawObject::parse(body)?;
    let peek = raw.peek();
    let model = peek.model.ok_or_else(|| WireError::Missing {
        field: "model".to_owned(),
    })?;
    let route = route(app, &model)?;
    let (engine, tenant) = (app.engine(), &caller.tenant);
    if engine
        .wants(tenant, wanted.client, body, &raw, &route)
        .await?
    {
        let asked = run::Asked {
            tenant: tenant.clone(),
            wanted,
            route,
            caller: on_behalf(headers),
        };
        return run::run(engine, asked, body, id).await;
    }
    let incoming = Incoming {
        client: wanted.client,
        task: wanted.task,
        body,
        raw: &raw,
        stream: peek.stream,
    };
    let forwarded = route.forward(incoming, &on_behalf(headers)).await?;
    answer::give(wanted.client, forwarded, id).await
}

fn route(app: &App, model: &str) -> Result<Route, RouteError> {
    match &app.settings().providers {
        Some(providers) => providers.route(model),
        None => Err(RouteError::Unknown {
            name: model.to_owned(),
            hint: "; this server was given no providers".to_owned(),
        }),
    }
}

/// What the provider is told of the client: its headers, but for those meant for us.
fn on_behalf(mut headers: HeaderMap) -> OnBehalf {
    let key = headers.get(KEY_HEADER).and_then(|key| key.to_str().ok());
    let key = key.map(Secret::new);
    let ours: Vec<HeaderName> = headers
        .keys()
        .filter(|name| name.as_str().starts_with(OURS))
        .cloned()
        .collect();
    for name in ours {
        headers.remove(name);
    }
    OnBehalf { key, headers }
}
