//! The road every request to a model takes.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName};
use axum::response::Response;
use bytes::Bytes;
use prowess_provider::{Caller as OnBehalf, Forwarded, Incoming, Route, RouteError, Secret, Task};
use prowess_wire::raw::RawObject;
use prowess_wire::{Client, WireError};

use super::answer::{self, Reply};
use super::failure::Failure;
use super::stored::{self, Kept};
use super::{body, skills};
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::context::RequestId;
use crate::error::ApiError;
use crate::limits::Refusal;
use crate::meter::Meter;
use crate::telemetry::Parent;

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
    let id: RequestId = parts.extensions.get().cloned().unwrap_or_default();
    let asked = Asked {
        app,
        caller,
        wanted,
        // Nobody looks for a parent when nothing is traced.
        parent: app.telemetry().and_then(|_| Parent::of(&parts.headers)),
        on_behalf: on_behalf(parts.headers),
        id: &id,
    };
    match asked.answer(body).await {
        Ok(response) => Ok(response),
        Err(failure) => failure.tell(wanted.client, &id),
    }
}

/// Who asks, and how.
struct Asked<'a> {
    app: &'a App,
    caller: &'a Caller,
    wanted: Wanted,
    parent: Option<Parent>,
    on_behalf: OnBehalf,
    id: &'a RequestId,
}

impl Asked<'_> {
    async fn answer(&self, body: Bytes) -> Result<Response, Failure> {
        let raw = RawObject::parse(&body)?;
        let peek = raw.peek();
        let model = peek.model.ok_or_else(|| WireError::Missing {
            field: "model".to_owned(),
        })?;
        let Wanted { client, task } = self.wanted;
        let mut meter = Meter::start(self.app, self.caller, client, &model, peek.stream);
        if task != Task::Generate {
            meter.silence();
        }
        meter.within(self.parent.clone());
        match self
            .call(&body, &raw, &model, peek.stream, &mut meter)
            .await
        {
            Ok((forwarded, kept)) => {
                let reply = Reply {
                    client,
                    id: self.id.clone(),
                    asked_bytes: body.len(),
                    ping: self.app.settings().ping,
                    meter,
                    kept,
                };
                reply.give(forwarded).await
            }
            Err(failure) => {
                let (status, code) = failure.outline();
                meter.failed(status, &code);
                Err(failure)
            }
        }
    }

    async fn call(
        &self,
        body: &Bytes,
        raw: &RawObject<'_>,
        model: &str,
        stream: bool,
        meter: &mut Meter,
    ) -> Result<(Forwarded, Option<Kept>), Failure> {
        let Wanted { client, task } = self.wanted;
        let route = self.admitted(model).await?;
        skills::check(self.app, &self.caller.tenant, client, raw, &route).await?;
        let incoming = Incoming {
            client,
            task,
            body,
            raw,
            stream,
        };
        let on_behalf = &self.on_behalf;
        let prepared = stored::prepare(self.app, self.caller, &incoming, &route).await?;
        let (forwarded, kept) = match prepared {
            None => (route.forward(incoming, on_behalf).await?, None),
            Some((changed, kept)) => {
                let raw = RawObject::parse(&changed)?;
                let incoming = Incoming {
                    body: &changed,
                    raw: &raw,
                    ..incoming
                };
                (route.forward(incoming, on_behalf).await?, Some(kept))
            }
        };
        answer::note(meter, &forwarded, &route);
        Ok((forwarded, kept))
    }

    /// The way to a model, if the caller's key may take it now.
    async fn admitted(&self, model: &str) -> Result<Route, Failure> {
        let key = self.caller.key();
        if let Some(key) = key
            && !key.limits.allows_model(model)
        {
            return Err(Refusal::model(key, model).into());
        }
        let route = route(self.app, model)?;
        if let Some(key) = key {
            let limits = self.app.limits();
            limits.admit(self.app.store(), key, &route).await?;
        }
        Ok(route)
    }
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
