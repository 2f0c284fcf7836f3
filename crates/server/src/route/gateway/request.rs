//! A call to a model with its principal and options, as far as they are known before its body
//! is parsed.

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};
use prowess_provider::{ClientCredentials, ModelTask, SecretText};
use prowess_wire::WireError;
use prowess_wire::raw::RawObject;

use super::endpoint::Endpoint;
use crate::app::App;
use crate::auth::Principal;
use crate::error::HttpError;
use crate::extract::Query;
use crate::google::ModelMethod;
use crate::kept_runs::keep::KeepHeaders;
use crate::meter::Meter;
use crate::request_id::RequestId;
use crate::telemetry::TraceParent;

/// Header with the client's own key for the provider.
const PROVIDER_KEY_HEADER: HeaderName = HeaderName::from_static("prowess-provider-key");
/// Prefix of headers meant for this server only.
const OWN_HEADER_PREFIX: &str = "prowess-";

/// A request with its principal and options.
pub(super) struct GatewayRequest<'a> {
    pub(super) app: &'a App,
    pub(super) principal: &'a Principal,
    pub(super) endpoint: Endpoint,
    /// Whether a stream is one JSON array instead of events.
    pub(super) json_array: bool,
    parent: Option<TraceParent>,
    pub(super) credentials: ClientCredentials,
    /// What the headers say about keeping its run.
    pub(super) keep: KeepHeaders,
    pub(super) id: RequestId,
}

impl<'a> GatewayRequest<'a> {
    pub(super) fn new(
        app: &'a App,
        principal: &'a Principal,
        endpoint: Endpoint,
        mut parts: Parts,
        id: RequestId,
    ) -> Result<GatewayRequest<'a>, HttpError> {
        Ok(GatewayRequest {
            app,
            principal,
            json_array: is_json_array(&endpoint, parts.uri.query()),
            endpoint,
            // No trace parent is parsed when tracing is off.
            parent: app
                .telemetry()
                .and_then(|_| TraceParent::from_headers(&parts.headers)),
            keep: KeepHeaders::read(&mut parts.headers, &app.settings().webhooks)?,
            credentials: client_credentials(parts.headers),
            id,
        })
    }

    /// Model and stream flag: from the path, or from the body.
    pub(super) fn model_and_stream(
        &self,
        raw: &RawObject<'_>,
    ) -> Result<(String, bool), WireError> {
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

    /// A meter that follows the request to the end of its response.
    pub(super) fn start_meter(&self, model: &str, stream: bool) -> Meter {
        let client = self.endpoint.client;
        let mut meter = Meter::start(self.app, self.principal, client, model, stream);
        if self.endpoint.task == ModelTask::CountTokens {
            meter.disable();
        }
        meter.set_parent(self.parent.clone());
        meter
    }
}

/// Google's streams are events only with `alt=sse`.
fn is_json_array(endpoint: &Endpoint, query: Option<&str>) -> bool {
    let streams = endpoint.path.as_ref().map(|path| path.method) == Some(ModelMethod::Stream);
    streams && Query::parse(query.unwrap_or_default()).get("alt") != Some("sse")
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
