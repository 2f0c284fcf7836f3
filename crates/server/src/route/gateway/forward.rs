//! Handles every call to a model.

use std::sync::Arc;

use axum::Json;
use axum::http::header::ALLOW;
use axum::http::{HeaderMap, HeaderName, Method, Request};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use hyper::body::Body;
use prowess_provider::{
    ClientCredentials, ClientRequest, ForwardOutcome, ModelTask, Route, RouteError, SecretText,
    Target,
};
use prowess_wire::WireError;
use prowess_wire::raw::RawObject;
use serde_json::Value;
use tower::BoxError;

use super::body;
use super::compact;
use super::conversation::{self, AnswerRecorder};
use super::error::GatewayError;
use super::file_tracking::{self, FileTracker};
use super::reply::{self, ClientReply};
use super::run::{self, StartedRun};
use super::{Endpoint, allowed_methods};
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::context::RequestId;
use crate::error::HttpError;
use crate::extract::Query;
use crate::google::ModelMethod;
use crate::limits::{Estimate, RequestRefusal};
use crate::meter::Meter;
use crate::request_log;
use crate::route::method_not_allowed;
use crate::telemetry::TraceParent;

/// Header with the client's own key for the provider.
const PROVIDER_KEY_HEADER: HeaderName = HeaderName::from_static("prowess-provider-key");
/// Prefix of headers meant for this server only.
const OWN_HEADER_PREFIX: &str = "prowess-";

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
        let allowed = allowed_methods(parts.uri.path());
        let refusal = method_not_allowed(parts.method, parts.uri).into_response();
        return Ok(([(ALLOW, allowed)], refusal).into_response());
    }
    let client = endpoint.client;
    let principal = Principal::authenticate(&parts, app).await?;
    principal.require(Permission::UseModels)?;
    let tenant_request = principal
        .key()
        .map(|_| app.tenant_requests().begin(&principal.tenant));
    let tenant_request = tenant_request.transpose()?;
    let settings = app.settings();
    let body = body::read_body(app, &principal.tenant, body, settings.request_bytes).await?;
    let gateway_request = GatewayRequest {
        app,
        principal: &principal,
        json_array: is_json_array(&endpoint, parts.uri.query()),
        endpoint,
        // No trace parent is parsed when tracing is off.
        parent: app
            .telemetry()
            .and_then(|_| TraceParent::from_headers(&parts.headers)),
        credentials: client_credentials(parts.headers),
        id,
    };
    // Boxed: the future is large and would otherwise be moved through every layer around this
    // one.
    match Box::pin(gateway_request.respond(body.bytes)).await {
        Ok(mut response) => {
            // Held until the end of the response.
            if let Some(tenant_request) = tenant_request {
                response.extensions_mut().insert(Arc::new(tenant_request));
            }
            Ok(response)
        }
        Err(failure) => failure.render(client, id),
    }
}

/// How a request is answered.
enum Outcome {
    Forwarded(ForwardOutcome),
    /// With a response built here.
    Answered(Value),
    Run(Box<StartedRun>),
}

/// A request with its principal and options.
struct GatewayRequest<'a> {
    app: &'a App,
    principal: &'a Principal,
    endpoint: Endpoint,
    /// Whether a stream is one JSON array instead of events.
    json_array: bool,
    parent: Option<TraceParent>,
    credentials: ClientCredentials,
    id: RequestId,
}

impl GatewayRequest<'_> {
    async fn respond(&self, body: Bytes) -> Result<Response, GatewayError> {
        let raw = RawObject::parse(&body)?;
        // A duplicate field could be read differently here and at the upstream.
        raw.check_unique()?;
        let (client, task) = (self.endpoint.client, self.endpoint.task);
        let (model, stream) = self.model_and_stream(&raw)?;
        request_log::record_model(&model);
        let mut meter = Meter::start(self.app, self.principal, client, &model, stream);
        if task == ModelTask::CountTokens {
            meter.disable();
        }
        meter.set_parent(self.parent.clone());
        match self.call(&body, &raw, &model, stream, &mut meter).await {
            Ok((outcome, recorder)) => {
                let reply = ClientReply {
                    client,
                    id: self.id,
                    request_bytes: body.len(),
                    json_array: self.json_array,
                    ping: self.app.settings().ping_interval,
                    meter,
                    recorder,
                };
                match outcome {
                    Outcome::Forwarded(forwarded) => {
                        let tracker = FileTracker::for_answer(
                            self.app,
                            self.principal,
                            client,
                            &raw,
                            &forwarded,
                        );
                        let response = reply.respond(forwarded).await?;
                        Ok(file_tracking::track_files(tracker, response))
                    }
                    Outcome::Answered(body) => Ok(Json(body).into_response()),
                    Outcome::Run(started) => Box::pin(started.respond(reply)).await,
                }
            }
            Err(failure) => {
                let (status, code) = failure.status_and_code();
                meter.record_failure(status, &code);
                Err(failure)
            }
        }
    }

    /// Model and stream flag: from the path, or from the body.
    fn model_and_stream(&self, raw: &RawObject<'_>) -> Result<(String, bool), WireError> {
        if let Some(path) = &self.endpoint.path {
            raw.check_unique_names()?;
            return Ok((path.model.clone(), path.method == ModelMethod::Stream));
        }
        let peek = raw.routing_fields();
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
    ) -> Result<(Outcome, Option<AnswerRecorder>), GatewayError> {
        let (client, task) = (self.endpoint.client, self.endpoint.task);
        let route = self.admit(model, body, raw, meter).await?;
        let incoming = ClientRequest {
            client,
            task,
            body,
            raw,
            model,
            stream,
            json_array: self.json_array,
        };
        let needs_run = self.needs_run(&incoming, &route).await?;
        let prepared =
            conversation::prepare(self.app, self.principal, &incoming, &route, needs_run).await?;
        let Some((changed, recorder)) = prepared else {
            return Ok((
                self.call_route(incoming, route, needs_run, meter).await?,
                None,
            ));
        };
        let raw = RawObject::parse(&changed)?;
        let incoming = ClientRequest {
            body: &changed,
            raw: &raw,
            ..incoming
        };
        // Stored items may contain calls of an earlier run.
        let needs_run = needs_run || self.needs_run(&incoming, &route).await?;
        let shift = recorder
            .as_ref()
            .map(AnswerRecorder::shift)
            .unwrap_or_default();
        let outcome = self.call_route(incoming, route, needs_run, meter).await;
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
        if task == ModelTask::Compact {
            return Ok(false);
        }
        Ok(engine.needs_run(tenant, client, body, raw, route).await?)
    }

    async fn call_route(
        &self,
        incoming: ClientRequest<'_>,
        route: Route,
        needs_run: bool,
        meter: &mut Meter,
    ) -> Result<Outcome, GatewayError> {
        if needs_run {
            let context = run::RunContext {
                tenant: self.principal.tenant.clone(),
                route,
                credentials: self.credentials.clone(),
            };
            // Few requests become a run; boxed so that the others stay small.
            if incoming.task == ModelTask::CountTokens {
                let counted =
                    Box::pin(run::count_tokens(self.app.engine(), context, incoming)).await?;
                return Ok(Outcome::Forwarded(ForwardOutcome::TokenCount(counted)));
            }
            let started = Box::pin(run::start(self.app.engine(), context, incoming, meter)).await?;
            return Ok(Outcome::Run(Box::new(started)));
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

    /// The route to a model, if the key may use it now.
    async fn admit(
        &self,
        model: &str,
        body: &Bytes,
        raw: &RawObject<'_>,
        meter: &mut Meter,
    ) -> Result<Route, GatewayError> {
        let key = self.principal.key();
        if let Some(key) = key {
            // Unknown models count too: each request is answered and recorded.
            self.app.limits().count_request(key)?;
            if !key.limits.allows_model(model) {
                return Err(RequestRefusal::model_not_allowed(key, model).into());
            }
        }
        let route = resolve_route(self.app, model)?;
        meter.mark_routed();
        if let Some(key) = key {
            let (limits, store) = (self.app.limits(), self.app.store());
            // Counting tokens uses none.
            let generates = self.endpoint.task != ModelTask::CountTokens;
            let estimate = generates.then(|| match self.endpoint.path {
                Some(_) => Estimate::from_gemini_request(body, raw),
                None => Estimate::from_request(body, raw),
            });
            meter.set_reservation(limits.admit(store, key, &route, estimate).await?);
        }
        Ok(route)
    }
}

/// Google's streams are events only with `alt=sse`.
fn is_json_array(endpoint: &Endpoint, query: Option<&str>) -> bool {
    let streams = endpoint.path.as_ref().map(|path| path.method) == Some(ModelMethod::Stream);
    streams && Query::parse(query.unwrap_or_default()).get("alt") != Some("sse")
}

fn resolve_route(app: &App, model: &str) -> Result<Route, RouteError> {
    match &app.settings().providers {
        Some(providers) => providers.route(model),
        None => Err(RouteError::Unknown {
            name: model.to_owned(),
            hint: "; no providers are configured".to_owned(),
        }),
    }
}

/// What the provider receives of the client: its headers, except those meant for this server.
pub(in crate::route) fn client_credentials(mut headers: HeaderMap) -> ClientCredentials {
    let key = headers
        .get(PROVIDER_KEY_HEADER)
        .and_then(|key| key.to_str().ok());
    let key = key.map(SecretText::new);
    let ours: Vec<HeaderName> = headers
        .keys()
        .filter(|name| name.as_str().starts_with(OWN_HEADER_PREFIX))
        .cloned()
        .collect();
    for name in ours {
        headers.remove(name);
    }
    ClientCredentials { key, headers }
}
