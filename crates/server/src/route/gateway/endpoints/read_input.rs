//! The body of a request to an endpoint, read as far as its model.

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use prowess_provider::EndpointBody;
use prowess_store::TenantId;
use prowess_wire::WireError;
use prowess_wire::raw::RawObject;

use super::body_problem::BodyProblem;
use super::endpoint_table::GatewayEndpoint;
use super::form_input::read_form;
use super::input::EndpointInput;
use crate::app::App;
use crate::limits::Estimate;
use crate::read_body::read_body;
use crate::route::gateway::error::GatewayError;

/// Reads a JSON object, or a form until its model is known.
pub(super) async fn read_input<'a>(
    app: &'a App,
    tenant: &'a TenantId,
    endpoint: &GatewayEndpoint,
    headers: &HeaderMap,
    body: Body,
) -> Result<EndpointInput<'a>, GatewayError> {
    let content_type = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    if let Some(content_type) = content_type.filter(|kind| is_form(kind)) {
        let length = content_length(headers);
        // A file is no text, and what follows it is not known yet.
        let estimate = Estimate::from_output(endpoint.output_tokens.unwrap_or_default());
        return read_form(app, tenant, content_type, length, estimate, body).await;
    }
    let read = read_body(app, tenant, body, app.settings().request_bytes).await?;
    let (bytes, reservation) = read.into_parts();
    let raw = RawObject::parse(&bytes)?;
    // A duplicate field could be read differently here and at the upstream.
    raw.check_unique()?;
    let fields = raw.routing_fields();
    let default = endpoint.default_model.map(str::to_owned);
    let model = fields.model.or(default).ok_or_else(|| WireError::Missing {
        field: "model".to_owned(),
    })?;
    let estimate = match endpoint.output_tokens {
        Some(output) => Estimate::from_request_or(&bytes, &raw, output),
        None => Estimate::from_embedding_request(&bytes),
    };
    Ok(EndpointInput {
        model,
        bytes: bytes.len(),
        stream: fields.stream,
        estimate,
        body: EndpointBody::json(bytes.clone()),
        problem: BodyProblem::default(),
        reservation,
    })
}

fn is_form(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("multipart/form-data")
}

/// The length of a body, if the client names it.
pub(super) fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
