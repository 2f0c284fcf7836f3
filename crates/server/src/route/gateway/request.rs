//! A call to a model with its principal and options, as far as they are known before its body
//! is parsed.

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
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
use crate::telemetry::RequestTrace;

/// Header with the client's own key for the provider.
pub(in crate::route) const PROVIDER_KEY_HEADER: HeaderName =
    HeaderName::from_static("prowess-provider-key");
/// Header with the turns of the model after which a run pauses.
const MAX_TURNS_HEADER: HeaderName = HeaderName::from_static("prowess-max-turns");
/// Prefix of headers meant for this server only.
const OWN_HEADER_PREFIX: &str = "prowess-";

/// A request with its principal and options.
pub(super) struct GatewayRequest<'a> {
    pub(super) app: &'a App,
    pub(super) principal: &'a Principal,
    pub(super) endpoint: Endpoint,
    /// Whether a stream is one JSON array instead of events.
    pub(super) json_array: bool,
    /// Its trace, if there is telemetry.
    trace: Option<Box<RequestTrace>>,
    pub(super) credentials: ClientCredentials,
    /// What the headers say about keeping its run.
    pub(super) keep: KeepHeaders,
    /// Turns that its run may have; `None`: as configured.
    pub(super) max_turns: Option<u32>,
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
        // Without telemetry the client's trace headers pass unread.
        let telemetry = app.telemetry();
        let trace = telemetry.map(|telemetry| telemetry.begin(&mut parts.headers));
        let own = take_own_headers(&mut parts.headers);
        let keep = KeepHeaders::read(&own, &mut parts.headers, &app.settings().webhooks)?;
        let max_turns = match own.get(MAX_TURNS_HEADER) {
            None => None,
            Some(value) => Some(read_max_turns(value, app.engine().settings().limits.turns)?),
        };
        let credentials = to_credentials(&own, parts.headers);
        Ok(GatewayRequest {
            app,
            principal,
            json_array: is_json_array(&endpoint, parts.uri.query()),
            endpoint,
            trace,
            keep,
            credentials,
            max_turns,
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
        if self.endpoint.task == ModelTask::Embed {
            meter.set_operation("embeddings");
        }
        if self.endpoint.task == ModelTask::CountTokens {
            meter.disable();
        }
        meter.set_trace(self.trace.clone());
        meter
    }
}

/// Google's streams are events only with `alt=sse`.
fn is_json_array(endpoint: &Endpoint, query: Option<&str>) -> bool {
    let streams = endpoint.path.as_ref().map(|path| path.method) == Some(ModelMethod::Stream);
    streams && Query::parse(query.unwrap_or_default()).get("alt") != Some("sse")
}

/// Turns that a request allows: as many as the operator does, or fewer.
fn read_max_turns(value: &HeaderValue, limit: u32) -> Result<u32, HttpError> {
    let text = value.to_str().ok();
    let turns = text.and_then(|text| text.trim().parse::<u32>().ok());
    turns
        .filter(|turns| (1..=limit).contains(turns))
        .ok_or_else(|| {
            let message = format!(
                "`{MAX_TURNS_HEADER}` must be a number from 1 to {limit}, which this server \
                 allows; its operator can change turns under [skills] in prowess.toml"
            );
            HttpError::bad_request("max-turns-invalid", message)
        })
}

/// What the provider receives of the client: its headers, except those meant for this server.
pub(in crate::route) fn client_credentials(mut headers: HeaderMap) -> ClientCredentials {
    let own = take_own_headers(&mut headers);
    to_credentials(&own, headers)
}

/// The client's key for the provider, which is among the headers meant for this server, and the
/// other headers.
fn to_credentials(own: &HeaderMap, headers: HeaderMap) -> ClientCredentials {
    let key = own.get(PROVIDER_KEY_HEADER);
    let key = key.and_then(|key| key.to_str().ok());
    ClientCredentials {
        key: key.map(SecretText::new),
        headers,
    }
}

/// Takes the headers meant for this server out of those of a request. Most requests have none, and
/// then nothing is looked for among them.
fn take_own_headers(headers: &mut HeaderMap) -> HeaderMap {
    let is_own = |name: &&HeaderName| name.as_str().starts_with(OWN_HEADER_PREFIX);
    let names: Vec<HeaderName> = headers.keys().filter(is_own).cloned().collect();
    let mut own = HeaderMap::new();
    for name in names {
        for value in headers.get_all(&name) {
            own.append(name.clone(), value.clone());
        }
        headers.remove(name);
    }
    own
}
