//! The road every request to a model takes.

use std::sync::Arc;

use axum::Json;
use axum::http::header::ALLOW;
use axum::http::{HeaderMap, HeaderName, Method as HttpMethod, Request};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use hyper::body::Body;
use prowess_provider::{
    Caller as OnBehalf, Forwarded, Incoming, Route, RouteError, Secret, Target, Task,
};
use prowess_wire::WireError;
use prowess_wire::raw::RawObject;
use serde_json::Value;
use tower::BoxError;

use super::answer::{self, Reply};
use super::body;
use super::compact;
use super::failure::Failure;
use super::named::{self, Watch};
use super::run::{self, Begun};
use super::stored::{self, Kept};
use super::{Wanted, allowed_methods};
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::context::RequestId;
use crate::error::ApiError;
use crate::extract::Query;
use crate::google::Method;
use crate::limits::{Estimate, Refusal};
use crate::meter::Meter;
use crate::route::wrong_method;
use crate::telemetry::Parent;

/// By this header a client brings a key of its own for the provider.
const KEY_HEADER: HeaderName = HeaderName::from_static("prowess-provider-key");
/// How headers begin that are meant for us alone.
const OURS: &str = "prowess-";

/// Forwards a request to its model and brings back the answer.
pub(crate) async fn forward<B>(
    app: &App,
    wanted: Wanted,
    request: Request<B>,
    id: RequestId,
) -> Result<Response, ApiError>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    let (parts, body) = request.into_parts();
    if parts.method != HttpMethod::POST {
        let allowed = allowed_methods(parts.uri.path());
        let refusal = wrong_method(parts.method, parts.uri).into_response();
        return Ok(([(ALLOW, allowed)], refusal).into_response());
    }
    let client = wanted.client;
    let caller = Caller::of(&parts, app).await?;
    caller.may(Need::UseModels)?;
    let underway = caller.key().map(|_| app.requests().begin(&caller.tenant));
    let underway = underway.transpose()?;
    let settings = app.settings();
    let body = body::read(app, &caller.tenant, body, settings.request_bytes).await?;
    let asked = Asked {
        app,
        caller: &caller,
        array: is_array(&wanted, parts.uri.query()),
        wanted,
        // Nobody looks for a parent when nothing is traced.
        parent: app.telemetry().and_then(|_| Parent::of(&parts.headers)),
        on_behalf: on_behalf(parts.headers),
        id,
    };
    // All that can become of a request is a large state, which would otherwise be moved
    // along with every layer around this one.
    match Box::pin(asked.answer(body.bytes)).await {
        Ok(mut response) => {
            // Until the end of the answer.
            if let Some(underway) = underway {
                response.extensions_mut().insert(Arc::new(underway));
            }
            Ok(response)
        }
        Err(failure) => failure.tell(client, id),
    }
}

/// How a request is being answered.
enum Called {
    Forwarded(Forwarded),
    /// With an answer of ours.
    Answered(Value),
    Run(Box<Begun>),
}

/// Who asks, and how.
struct Asked<'a> {
    app: &'a App,
    caller: &'a Caller,
    wanted: Wanted,
    /// Whether a stream is to be one JSON array, and no events.
    array: bool,
    parent: Option<Parent>,
    on_behalf: OnBehalf,
    id: RequestId,
}

impl Asked<'_> {
    async fn answer(&self, body: Bytes) -> Result<Response, Failure> {
        let raw = RawObject::parse(&body)?;
        // What is decided here by a field, the upstream decides by the same one.
        raw.check_unique()?;
        let (client, task) = (self.wanted.client, self.wanted.task);
        let (model, stream) = self.named(&raw)?;
        let mut meter = Meter::start(self.app, self.caller, client, &model, stream);
        if task == Task::CountTokens {
            meter.silence();
        }
        meter.within(self.parent.clone());
        match self.call(&body, &raw, &model, stream, &mut meter).await {
            Ok((called, kept)) => {
                let reply = Reply {
                    client,
                    id: self.id,
                    asked_bytes: body.len(),
                    array: self.array,
                    ping: self.app.settings().ping,
                    meter,
                    kept,
                };
                match called {
                    Called::Forwarded(forwarded) => {
                        let watch = Watch::over(self.app, self.caller, client, &raw, &forwarded);
                        let response = reply.give(forwarded).await?;
                        Ok(named::seen(watch, response))
                    }
                    Called::Answered(body) => Ok(Json(body).into_response()),
                    Called::Run(begun) => Box::pin(begun.give(reply)).await,
                }
            }
            Err(failure) => {
                let (status, code) = failure.outline();
                meter.failed(status, &code);
                Err(failure)
            }
        }
    }

    /// The model that is asked, and whether for a stream: in the path, or in the body.
    fn named(&self, raw: &RawObject<'_>) -> Result<(String, bool), WireError> {
        if let Some(path) = &self.wanted.path {
            raw.check_unique_names()?;
            return Ok((path.model.clone(), path.method == Method::Stream));
        }
        let peek = raw.peek();
        let model = peek.model.ok_or_else(|| WireError::Missing {
            field: "model".to_owned(),
        })?;
        Ok((model, peek.stream))
    }

    async fn call(
        &self,
        body: &Bytes,
        raw: &RawObject<'_>,
        model: &str,
        stream: bool,
        meter: &mut Meter,
    ) -> Result<(Called, Option<Kept>), Failure> {
        let (client, task) = (self.wanted.client, self.wanted.task);
        let route = self.admitted(model, body, raw, meter).await?;
        let incoming = Incoming {
            client,
            task,
            body,
            raw,
            model,
            stream,
            array: self.array,
        };
        let runs = self.runs(&incoming, &route).await?;
        let prepared = stored::prepare(self.app, self.caller, &incoming, &route, runs).await?;
        let Some((changed, kept)) = prepared else {
            return Ok((self.ask(incoming, route, runs, meter).await?, None));
        };
        let raw = RawObject::parse(&changed)?;
        let incoming = Incoming {
            body: &changed,
            raw: &raw,
            ..incoming
        };
        // What was said before may be what an earlier run told.
        let runs = runs || self.runs(&incoming, &route).await?;
        let shift = kept.as_ref().map(Kept::shift).unwrap_or_default();
        let called = self.ask(incoming, route, runs, meter).await;
        let called = called.map_err(|failure| failure.renamed(|field| shift.client_path(field)))?;
        Ok((called, kept))
    }

    /// Whether a request needs a run of the engine's.
    async fn runs(&self, incoming: &Incoming<'_>, route: &Route) -> Result<bool, Failure> {
        let (engine, tenant) = (self.app.engine(), &self.caller.tenant);
        let Incoming {
            client,
            task,
            body,
            raw,
            ..
        } = *incoming;
        if task == Task::Compact {
            return Ok(false);
        }
        Ok(engine.wants(tenant, client, body, raw, route).await?)
    }

    async fn ask(
        &self,
        incoming: Incoming<'_>,
        route: Route,
        runs: bool,
        meter: &mut Meter,
    ) -> Result<Called, Failure> {
        if runs {
            let asked = run::Asked {
                tenant: self.caller.tenant.clone(),
                route,
                caller: self.on_behalf.clone(),
            };
            // Few requests become a run; the others need no room for one.
            if incoming.task == Task::CountTokens {
                let counted = Box::pin(run::count(self.app.engine(), asked, incoming)).await?;
                return Ok(Called::Forwarded(Forwarded::Counted(counted)));
            }
            let begun = Box::pin(run::begin(self.app.engine(), asked, incoming, meter)).await?;
            return Ok(Called::Run(Box::new(begun)));
        }
        let speaks = |target: &Target| target.speaks(incoming.client, incoming.task);
        if incoming.task == Task::Compact && !route.targets().iter().all(speaks) {
            let compacted = compact::compact(&incoming, &route, &self.on_behalf, meter);
            return Ok(Called::Answered(Box::pin(compacted).await?));
        }
        let forwarded = route.forward(incoming, &self.on_behalf).await?;
        answer::note(meter, &forwarded, &route);
        Ok(Called::Forwarded(forwarded))
    }

    /// The way to a model, if the caller's key may take it now.
    async fn admitted(
        &self,
        model: &str,
        body: &Bytes,
        raw: &RawObject<'_>,
        meter: &mut Meter,
    ) -> Result<Route, Failure> {
        let key = self.caller.key();
        if let Some(key) = key {
            // Also those that name no model of theirs: each is answered and written down.
            self.app.limits().knock(key)?;
            if !key.limits.allows_model(model) {
                return Err(Refusal::model(key, model).into());
            }
        }
        let route = route(self.app, model)?;
        meter.routed();
        if let Some(key) = key {
            let (limits, store) = (self.app.limits(), self.app.store());
            // Counting tokens uses none.
            let generates = self.wanted.task != Task::CountTokens;
            let estimate = generates.then(|| match self.wanted.path {
                Some(_) => Estimate::of_gemini(body, raw),
                None => Estimate::of_request(body, raw),
            });
            meter.hold(limits.admit(store, key, &route, estimate).await?);
        }
        Ok(route)
    }
}

/// Google's streams are events only for those who ask for events.
fn is_array(wanted: &Wanted, query: Option<&str>) -> bool {
    let streams = wanted.path.as_ref().map(|path| path.method) == Some(Method::Stream);
    streams && Query::parse(query.unwrap_or_default()).get("alt") != Some("sse")
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
pub(in crate::route) fn on_behalf(mut headers: HeaderMap) -> OnBehalf {
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
