//! What a route may call, and in which order: the deployments of its model, and the fallbacks
//! of each kind of failure. The targets themselves are the route's.

use std::sync::Arc;

use super::group::DeploymentGroup;

/// The most targets that a route can have: those that were tried are bits of a number.
pub(crate) const MAX_TARGETS: usize = 64;

/// The deployments and fallbacks of a route.
#[derive(Debug)]
pub(crate) struct RoutePlan {
    pub(crate) primary: PlannedModel,
    /// For errors.
    pub(crate) errors: Vec<PlannedModel>,
    /// For requests that are too long.
    pub(crate) context: Vec<PlannedModel>,
    /// For requests that a filter refused.
    pub(crate) content_filter: Vec<PlannedModel>,
    /// Whether a conversation may prefer one of several deployments.
    pub(crate) prefers_deployments: bool,
}

/// One model of a plan: some consecutive targets of the route.
#[derive(Debug, Clone)]
pub(crate) struct PlannedModel {
    /// The place of its first target.
    pub(crate) first: usize,
    /// Its deployments; `None` for a single target without limits per minute.
    pub(crate) group: Option<Arc<DeploymentGroup>>,
}

impl RoutePlan {
    /// Whether one of its deployments has a limit of tokens per minute.
    pub(crate) fn limits_tokens(&self) -> bool {
        let fallbacks = [&self.errors, &self.context, &self.content_filter];
        let models = fallbacks.into_iter().flatten().chain([&self.primary]);
        let groups = models.filter_map(|model| model.group.as_ref());
        let slots = groups.flat_map(|group| &group.members);
        let mut states = slots.filter_map(|slot| slot.deployment.as_ref());
        states.any(|state| state.limits.tokens.is_some())
    }
}

impl PlannedModel {
    /// How many targets it has.
    pub(crate) fn len(&self) -> usize {
        self.group.as_ref().map_or(1, |group| group.members.len())
    }

    /// Whether there is a choice.
    pub(crate) fn has_choice(&self) -> bool {
        self.len() > 1
    }
}
