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
        let key = self.principal.key();
        self.count(incoming.model)?;
        let mut route = resolve_route(self.app, incoming.model)?;
        route.set_owner(self.principal.tenant.as_str());
        meter.mark_routed();
        if let Some(key) = key {
            let (limits, store) = (self.app.limits(), self.app.store());
            let estimate = self.estimate(incoming);
            meter.set_reservation(limits.admit(store, key, &route, estimate).await?);
        }
        Ok(route)
    }

    /// Counts a request, if its key may use the model.
    pub(super) fn count(&self, model: &str) -> Result<(), GatewayError> {
        let Some(key) = self.principal.key() else {
            return Ok(());
        };
        // Unknown models count too: each request is answered and recorded.
        self.app.limits().count_request(key)?;
        if !key.limits.allows_model(model) {
            return Err(RequestRefusal::model_not_allowed(key, model).into());
        }
        Ok(())
    }

    /// Admits a request again whose body has changed, because it continues from what is stored
    /// here. It is not counted as another request.
    pub(super) fn admit_changed(
        &self,
        incoming: &ClientRequest<'_>,
        route: &Route,
        meter: &mut Meter,
    ) -> Result<(), GatewayError> {
        if let Some(key) = self.principal.key() {
            let (limits, before) = (self.app.limits(), meter.take_reservation());
            let estimate = self.estimate(incoming);
            meter.set_reservation(limits.admit_again(key, route, estimate, before)?);
        }
        Ok(())
    }

    /// What a request may use; none for one that counts tokens, which uses none.
    fn estimate(&self, incoming: &ClientRequest<'_>) -> Option<Estimate> {
        let (body, raw) = (incoming.body, incoming.raw);
        let generates = self.endpoint.task != ModelTask::CountTokens;
        generates.then(|| match (&self.endpoint.path, self.endpoint.task) {
            (_, ModelTask::Embed) => Estimate::from_embedding_request(body),
            (Some(_), _) => Estimate::from_gemini_request(body, raw),
            (None, _) => Estimate::from_request(body, raw),
        })
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
