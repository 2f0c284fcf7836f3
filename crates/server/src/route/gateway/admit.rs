//! Admits a call to a model: its key's rate limit and budget, and the route to the model.

use prowess_provider::{ClientRequest, ModelTask, Route, RouteError};

use super::error::GatewayError;
use super::request::GatewayRequest;
use crate::app::App;
use crate::limits::{Estimate, RequestRefusal};
use crate::meter::Meter;

impl GatewayRequest<'_> {
    /// The route to a model, if the key may use it now.
    pub(super) async fn admit(
        &self,
        incoming: &ClientRequest<'_>,
        meter: &mut Meter,
    ) -> Result<Route, GatewayError> {
        let (model, body, raw) = (incoming.model, incoming.body, incoming.raw);
        let key = self.principal.key();
        if let Some(key) = key {
            // Unknown models count too: each request is answered and recorded.
            self.app.limits().count_request(key)?;
            if !key.limits.allows_model(model) {
                return Err(RequestRefusal::model_not_allowed(key, model).into());
            }
        }
        let mut route = resolve_route(self.app, model)?;
        route.set_owner(self.principal.tenant.as_str());
        meter.mark_routed();
        if let Some(key) = key {
            let (limits, store) = (self.app.limits(), self.app.store());
            // Counting tokens uses none.
            let generates = self.endpoint.task != ModelTask::CountTokens;
            let estimate = generates.then(|| match (&self.endpoint.path, self.endpoint.task) {
                (_, ModelTask::Embed) => Estimate::from_embedding_request(body),
                (Some(_), _) => Estimate::from_gemini_request(body, raw),
                (None, _) => Estimate::from_request(body, raw),
            });
            meter.set_reservation(limits.admit(store, key, &route, estimate).await?);
        }
        Ok(route)
    }
}

/// The route to a model.
pub(crate) fn resolve_route(app: &App, model: &str) -> Result<Route, RouteError> {
    match &app.settings().providers {
        Some(providers) => providers.route(model),
        None => Err(RouteError::Unknown {
            name: model.to_owned(),
            hint: "; no providers are configured".to_owned(),
        }),
    }
}
