//! A request to an endpoint of the model that it names.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::response::Response;
use prowess_provider::{EndpointRequest, EndpointResponse, Route};
use prowess_wire::ClientDialect;

use super::endpoint_table::GatewayEndpoint;
use super::read_input::read_input;
use super::reply::{EndpointReply, reply};
use crate::app::App;
use crate::auth::{Permission, Principal, while_accessible};
use crate::error::HttpError;
use crate::limits::{Estimate, RequestRefusal};
use crate::meter::Meter;
use crate::request_id::RequestId;
use crate::request_log;
use crate::route::gateway::admit::resolve_route;
use crate::route::gateway::error::GatewayError;
use crate::route::gateway::request::client_credentials;
use crate::route::unmatched::not_found;

/// Passes a request on to its model.
pub(super) async fn forward(
    State(app): State<App>,
    principal: Principal,
    request: Request,
) -> Result<Response, HttpError> {
    principal.require(Permission::UseModels)?;
    let (parts, body) = request.into_parts();
    let Some(endpoint) = GatewayEndpoint::find(parts.uri.path()) else {
        return Err(not_found(parts.method, parts.uri).await);
    };
    let id = parts.extensions.get::<RequestId>().copied();
    let id = id.unwrap_or_default();
    let call = EndpointCall {
        app: &app,
        principal: &principal,
        endpoint,
    };
    match call.respond(parts, body, id).await {
        Ok(response) => Ok(response),
        Err(failure) => failure.render(ClientDialect::Chat, id),
    }
}

struct EndpointCall<'a> {
    app: &'a App,
    principal: &'a Principal,
    endpoint: &'static GatewayEndpoint,
}

impl EndpointCall<'_> {
    async fn respond(
        &self,
        parts: Parts,
        body: Body,
        id: RequestId,
    ) -> Result<Response, GatewayError> {
        let (app, endpoint) = (self.app, self.endpoint);
        let tenant = &self.principal.tenant;
        let mut headers = parts.headers;
        let input = read_input(app, tenant, endpoint, &headers, body).await?;
        request_log::record_model(&input.model);
        let (usage, stream) = (endpoint.usage, input.stream);
        let mut meter = Meter::start(app, self.principal, usage, &input.model, stream);
        meter.set_operation(endpoint.operation);
        meter.set_trace(
            app.telemetry()
                .map(|telemetry| telemetry.begin(&mut headers)),
        );
        let request_bytes = input.bytes;
        let problem = input.problem.clone();
        let credentials = client_credentials(headers);
        let sent = async {
            let route = self.admit(&input.model, input.estimate, &mut meter).await?;
            let request = EndpointRequest {
                endpoint: endpoint.upstream_path,
                body: input.body,
            };
            let response = Box::pin(route.forward_endpoint(request, &credentials)).await?;
            Ok::<EndpointResponse, GatewayError>(response)
        };
        let mut lost = self.principal.lost_access(app, Permission::UseModels);
        let sent = while_accessible(&mut lost, Box::pin(sent)).await;
        let sent = sent.inspect_err(|refusal| meter.record_lost_access(refusal))?;
        match sent {
            Ok(response) => {
                meter.set_target(&response.provider, &response.model, response.price.as_ref());
                meter.set_provider_kind(response.provider_kind);
                Ok(reply(EndpointReply {
                    response,
                    meter,
                    lost,
                    client: ClientDialect::Chat,
                    id,
                    usage,
                    request_bytes,
                    generates_text: endpoint.generates_text,
                }))
            }
            Err(failure) => {
                let failure = problem.take().map_or(failure, GatewayError::from);
                let (status, code) = failure.status_and_code();
                meter.record_failure(status, &code);
                Err(failure)
            }
        }
    }

    /// The route to the model, if the key may use it now.
    async fn admit(
        &self,
        model: &str,
        estimate: Estimate,
        meter: &mut Meter,
    ) -> Result<Route, GatewayError> {
        let key = self.principal.key();
        let limits = self.app.limits();
        if let Some(key) = key {
            // Unknown models count too: each request is answered and recorded.
            limits.count_request(key)?;
            if !key.limits.allows_model(model) {
                return Err(RequestRefusal::model_not_allowed(key, model).into());
            }
        }
        let mut route = resolve_route(self.app, model)?;
        route.set_owner(self.principal.tenant.as_str());
        meter.mark_routed();
        if let Some(key) = key {
            let admitted = limits.admit(self.app.store(), key, &route, Some(estimate));
            meter.set_reservation(admitted.await?);
        }
        Ok(route)
    }
}
