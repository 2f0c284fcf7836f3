//! `/providers/NAME/…`: any path of a provider's API, with the provider's credentials.
//!
//! The account is shared: what one tenant stores there, others with this permission can read.
//! So it has a scope of its own, which only the operator gives; a key that is limited to models
//! has no access, as a path may lead to any model.

use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, UPGRADE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use http_body_util::Limited;
use prowess_provider::config::Price;
use prowess_provider::{EndpointBody, EndpointResponse, ProviderPathRequest, Providers, Route};
use prowess_wire::raw::RawObject;
use prowess_wire::{ClientDialect, excerpt};

use super::read_input::content_length;
use super::reply::{EndpointReply, reply};
use crate::app::App;
use crate::auth::{Permission, Principal, while_accessible};
use crate::bodies::{BodyReservation, paced_body};
use crate::dialect::client_dialect;
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::limits::Estimate;
use crate::meter::Meter;
use crate::read_body::read_body;
use crate::request_id::RequestId;
use crate::request_log;
use crate::route::gateway::error::GatewayError;
use crate::route::gateway::request::client_credentials;

/// What precedes a provider's name.
const PREFIX: &str = "/providers/";
/// The model in usage rows, where a request names none.
const NO_MODEL: &str = "(none)";

/// Passes a request on to a path of a provider.
pub(super) async fn forward_path(
    State(app): State<App>,
    principal: Principal,
    PathParams((provider, _)): PathParams<(String, String)>,
    request: Request,
) -> Result<Response, HttpError> {
    principal.require(Permission::UseProviders)?;
    let (parts, body) = request.into_parts();
    let id = parts.extensions.get::<RequestId>().copied();
    let id = id.unwrap_or_default();
    let client = client_dialect(parts.uri.path(), &parts.headers);
    let call = PathCall {
        app: &app,
        principal: &principal,
        provider: &provider,
    };
    match call.respond(parts, body, (client, id)).await {
        Ok(response) => Ok(response),
        Err(failure) => failure.render(client, id),
    }
}

struct PathCall<'a> {
    app: &'a App,
    principal: &'a Principal,
    provider: &'a str,
}

/// What was read of a body.
struct PathInput<'a> {
    body: Option<EndpointBody>,
    bytes: usize,
    model: Option<String>,
    stream: bool,
    /// What a request that names a model may use.
    estimate: Estimate,
    /// Of the bytes that were read; kept for as long as they are.
    reservation: Option<BodyReservation<'a>>,
}

impl PathCall<'_> {
    async fn respond(
        &self,
        parts: Parts,
        body: Body,
        (client, id): (ClientDialect, RequestId),
    ) -> Result<Response, GatewayError> {
        let key = self.principal.key();
        if let Some(key) = key {
            self.app.limits().count_request(key)?;
            if !key.limits.models.is_empty() {
                return Err(limited_key_error(&key.prefix).into());
            }
        }
        let providers = self.providers()?;
        if parts.headers.contains_key(UPGRADE) {
            return Err(upgrade_error().into());
        }
        let mut headers = parts.headers;
        let input = self.read(&headers, body).await?;
        let name = input.model.as_deref().unwrap_or(NO_MODEL);
        let model = format!("{}/{name}", self.provider);
        request_log::record_model(&model);
        let usage = usage_dialect(providers, &model, parts.uri.path());
        let mut meter = Meter::start(self.app, self.principal, usage, &model, input.stream);
        meter.set_operation("provider_path");
        meter.set_trace(
            self.app
                .telemetry()
                .map(|telemetry| telemetry.begin(&mut headers)),
        );
        meter.mark_routed();
        let route = input
            .model
            .as_ref()
            .and_then(|_| providers.route(&model).ok());
        let price = route.as_ref().and_then(known_price);
        let request = ProviderPathRequest {
            method: parts.method,
            path: path_below(parts.uri.path()),
            query: parts.uri.query().map(str::to_owned),
            body: input.body,
        };
        let credentials = client_credentials(headers);
        let sent = async {
            self.admit(route.as_ref(), input.estimate, &mut meter)
                .await?;
            let sent = providers.forward_path(self.provider, request, &credentials);
            Ok::<EndpointResponse, GatewayError>(Box::pin(sent).await?)
        };
        let mut lost = self
            .principal
            .lost_access(self.app, Permission::UseProviders);
        let sent = while_accessible(&mut lost, Box::pin(sent)).await;
        let sent = sent.inspect_err(|refusal| meter.record_lost_access(refusal))?;
        match sent {
            Ok(response) => {
                let name = input.model.as_deref().unwrap_or_default();
                meter.set_target(&response.provider, name, price.as_ref());
                meter.set_provider_kind(response.provider_kind);
                Ok(reply(EndpointReply {
                    response,
                    meter,
                    lost,
                    client,
                    id,
                    usage,
                    request_bytes: input.bytes,
                    generates_text: false,
                }))
            }
            Err(failure) => {
                let (status, code) = failure.status_and_code();
                meter.record_failure(status, &code);
                Err(failure)
            }
        }
    }

    /// The providers, if the one that is named can be called.
    fn providers(&self) -> Result<&Providers, HttpError> {
        let providers = self.app.settings().providers.as_ref();
        let has_it =
            |providers: &&Providers| providers.names().iter().any(|name| name == self.provider);
        providers.filter(has_it).ok_or_else(|| {
            let message = format!(
                "no provider `{}` is configured here, or its key is not set",
                excerpt(self.provider)
            );
            HttpError::new(StatusCode::NOT_FOUND, "provider-not-found", message)
        })
    }

    /// JSON is read, to know its model; all else is sent on as it arrives.
    async fn read(&self, headers: &HeaderMap, body: Body) -> Result<PathInput<'_>, GatewayError> {
        let mut input = PathInput {
            body: None,
            bytes: 0,
            model: None,
            stream: false,
            estimate: Estimate::default(),
            reservation: None,
        };
        if body.is_end_stream() {
            return Ok(input);
        }
        let settings = self.app.settings();
        if !is_json(headers) {
            let limit = usize::try_from(settings.file_bytes).unwrap_or(usize::MAX);
            let rest = paced_body(Body::new(Limited::new(body, limit)), settings);
            let rest = Body::from_stream(rest);
            let empty = EndpointBody::unchanged(Bytes::new());
            input.body = Some(empty.followed_by(rest, content_length(headers)));
            return Ok(input);
        }
        let tenant = &self.principal.tenant;
        let read = read_body(self.app, tenant, body, settings.request_bytes).await?;
        let (bytes, reservation) = read.into_parts();
        if may_have_fields(&bytes) {
            let raw = RawObject::parse(&bytes)?;
            // A duplicate field could be read differently here and at the upstream.
            raw.check_unique()?;
            input.estimate = Estimate::from_request(&bytes, &raw);
            let fields = raw.routing_fields();
            (input.model, input.stream) = (fields.model, fields.stream);
        }
        input.bytes = bytes.len();
        input.body = Some(EndpointBody::unchanged(bytes));
        input.reservation = Some(reservation);
        Ok(input)
    }

    /// Checks the key's rates and its budget.
    async fn admit(
        &self,
        route: Option<&Route>,
        estimate: Estimate,
        meter: &mut Meter,
    ) -> Result<(), GatewayError> {
        let (limits, store) = (self.app.limits(), self.app.store());
        match (self.principal.key(), route) {
            (None, _) => {}
            (Some(key), Some(route)) => {
                let admitted = limits.admit(store, key, route, Some(estimate)).await?;
                meter.set_reservation(admitted);
            }
            (Some(key), None) => limits.admit_without_model(store, key).await?,
        }
        Ok(())
    }
}

/// The path at the provider, encoded as the client sent it.
fn path_below(path: &str) -> String {
    let named = path.strip_prefix(PREFIX).unwrap_or(path);
    let rest = named.find('/').and_then(|at| named.get(at..));
    rest.unwrap_or("/").to_owned()
}

fn known_price(route: &Route) -> Option<Price> {
    route.targets().first()?.price().cloned()
}

/// The dialect whose names the token counts of a response have.
fn usage_dialect(providers: &Providers, model: &str, path: &str) -> ClientDialect {
    let route = providers.route(model).ok();
    let kind = route.as_ref().and_then(|route| route.targets().first());
    match kind.map(|target| target.kind()) {
        Some("anthropic") => ClientDialect::Messages,
        Some("gemini" | "vertex") => ClientDialect::Gemini,
        _ if path.ends_with("/completions") || path.ends_with("/embeddings") => ClientDialect::Chat,
        _ => ClientDialect::Responses,
    }
}

/// Whether an upstream may read fields in a body, in any encoding of JSON: not in an empty one, a
/// list, a text, a number or a word.
fn may_have_fields(body: &[u8]) -> bool {
    let mut bytes = body.iter().filter(|byte| !byte.is_ascii_whitespace());
    match (bytes.next(), bytes.next()) {
        (None, _) => false,
        // Of two bytes for each character.
        (_, Some(0)) => true,
        (Some(first), _) => !matches!(first, b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n'),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

fn limited_key_error(prefix: &str) -> HttpError {
    let message = format!(
        "key `{prefix}` is limited to models, and a path of a provider may lead to any; use a key \
         without `models`"
    );
    HttpError::new(StatusCode::FORBIDDEN, "key-limited-to-models", message)
}

fn upgrade_error() -> HttpError {
    let message = "a path of a provider takes no WebSocket and no other upgrade; send a plain \
                   request";
    HttpError::new(StatusCode::NOT_IMPLEMENTED, "upgrade-unsupported", message)
}
