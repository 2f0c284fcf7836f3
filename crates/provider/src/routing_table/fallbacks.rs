//! The fallbacks of configured models, and the plans of routes that have a choice.

use std::sync::Arc;

use super::RoutingTable;
use super::entry::{EntryFallbacks, RouteEntry};
use crate::config::{ModelConfig, ProviderConfigError};
use crate::deployments::group::DeploymentGroup;
use crate::deployments::plan::{MAX_TARGETS, PlannedModel, RoutePlan};
use crate::route_error::RouteError;
use crate::target::Target;

impl RoutingTable {
    /// Resolves the names of fallbacks, once all names are known.
    pub(super) fn add_fallbacks(
        &self,
        model: &ModelConfig,
        entry: &RouteEntry,
    ) -> Result<(), ProviderConfigError> {
        let own = entry.deployments.len();
        let mut targets = Vec::new();
        let mut planned = |setting: &str, names: &[String]| {
            let mut models = Vec::with_capacity(names.len());
            for name in names {
                let resolved = self.fallback_targets(name).map_err(|error| {
                    let entry = format!("models.{}.{setting}", model.name);
                    ProviderConfigError::Fallback { entry, error }
                })?;
                let first = own + targets.len();
                targets.extend(resolved.0);
                models.push(PlannedModel {
                    first,
                    group: resolved.1,
                });
            }
            Ok::<_, ProviderConfigError>(models)
        };
        let errors = planned("fallbacks", &model.fallbacks)?;
        let context = planned("context_fallbacks", &model.context_fallbacks)?;
        let content_filter = planned("content_filter_fallbacks", &model.content_filter_fallbacks)?;
        let primary = PlannedModel {
            first: 0,
            group: entry.group.clone(),
        };
        let has_group = |model: &PlannedModel| model.group.is_some();
        let needs_plan = has_group(&primary)
            || errors.iter().any(has_group)
            || !context.is_empty()
            || !content_filter.is_empty();
        let count = own + targets.len();
        if needs_plan && count > MAX_TARGETS {
            return Err(ProviderConfigError::TooManyTargets {
                entry: format!("models.{}", model.name),
                count,
                limit: MAX_TARGETS,
            });
        }
        let all = [&errors, &context, &content_filter].into_iter().flatten();
        let prefers_deployments = all.chain([&primary]).any(|model| {
            let group = model.group.as_ref();
            group.is_some_and(|group| group.sticky.is_some())
        });
        let plan = needs_plan.then(|| {
            Arc::new(RoutePlan {
                prefers_deployments,
                primary,
                errors,
                context,
                content_filter,
            })
        });
        // Set once per entry, so it cannot fail.
        let _ = entry.fallbacks.set(EntryFallbacks { targets, plan });
        Ok(())
    }

    /// The deployments of a fallback. Its own fallbacks are not followed.
    fn fallback_targets(
        &self,
        name: &str,
    ) -> Result<(Vec<Target>, Option<Arc<DeploymentGroup>>), RouteError> {
        match self.find_entry(name) {
            Some((entry, rest)) => {
                let targets = entry.own_targets(name, rest, &self.known_prices);
                Ok((targets.collect(), entry.group.clone()))
            }
            None => Ok((vec![self.plain_target(name)?], None)),
        }
    }
}
