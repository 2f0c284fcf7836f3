//! A configured model: its deployments, and its fallbacks.

use std::sync::{Arc, OnceLock};

use super::known_prices::KnownPrices;
use crate::deployments::group::DeploymentGroup;
use crate::deployments::plan::RoutePlan;
use crate::model_slot::ModelSlot;
use crate::provider::Provider;
use crate::route::Route;
use crate::target::Target;

/// A configured model.
#[derive(Debug)]
pub(super) struct RouteEntry {
    pub(super) name: String,
    /// At least one.
    pub(super) deployments: Vec<EntryDeployment>,
    /// The same, if there is a choice or a limit per minute.
    pub(super) group: Option<Arc<DeploymentGroup>>,
    pub(super) fallbacks: OnceLock<EntryFallbacks>,
}

/// One deployment of a configured model.
#[derive(Debug)]
pub(super) struct EntryDeployment {
    pub(super) provider: Arc<Provider>,
    pub(super) model: Option<String>,
    pub(super) slot: Arc<ModelSlot>,
}

/// The fallbacks of a configured model.
#[derive(Debug)]
pub(super) struct EntryFallbacks {
    /// Those for errors first, then those for requests that are too long, then those for
    /// refusals of filters.
    pub(super) targets: Vec<Target>,
    /// `None` if deployments and fallbacks are tried in their order.
    pub(super) plan: Option<Arc<RoutePlan>>,
}

impl RouteEntry {
    /// The route of a client's name, whose `rest` was matched by the `*`.
    pub(super) fn route(&self, name: &str, rest: &str, prices: &KnownPrices) -> Route {
        let fallbacks = self.fallbacks.get();
        let count = fallbacks.map_or(0, |fallbacks| fallbacks.targets.len());
        let mut targets = Vec::with_capacity(self.deployments.len() + count);
        targets.extend(self.own_targets(name, rest, prices));
        if let Some(fallbacks) = fallbacks {
            targets.extend_from_slice(&fallbacks.targets);
        }
        Route {
            name: name.to_owned(),
            targets,
            plan: fallbacks.and_then(|fallbacks| fallbacks.plan.clone()),
            owner: 0,
        }
    }

    /// Its deployments, without fallbacks.
    pub(super) fn own_targets<'e>(
        &'e self,
        name: &'e str,
        rest: &'e str,
        prices: &'e KnownPrices,
    ) -> impl Iterator<Item = Target> + 'e {
        self.deployments.iter().map(move |deployment| {
            let model = self.upstream_model(deployment, name, rest);
            // The price of a model that has only one name is found once, in its slot.
            let is_pattern = deployment.model_pattern(&self.name).ends_with('*');
            let slot = &deployment.slot;
            let has_price = slot.price.is_some() || slot.base_model.is_some();
            let known_price = match is_pattern && !has_price {
                true => prices.find(&deployment.provider, &model),
                false => None,
            };
            Target {
                provider: Arc::clone(&deployment.provider),
                slot: Arc::clone(&deployment.slot),
                model,
                known_price,
            }
        })
    }

    /// The model name sent to the provider.
    fn upstream_model(&self, deployment: &EntryDeployment, name: &str, rest: &str) -> String {
        match &deployment.model {
            Some(model) => match model.strip_suffix('*') {
                Some(prefix) => format!("{prefix}{rest}"),
                None => model.clone(),
            },
            None if self.name.ends_with('*') => name.to_owned(),
            None => self.name.clone(),
        }
    }
}

impl EntryDeployment {
    /// The model name sent to the provider, perhaps with a `*`.
    pub(super) fn model_pattern<'e>(&'e self, entry: &'e str) -> &'e str {
        self.model.as_deref().unwrap_or(entry)
    }
}
