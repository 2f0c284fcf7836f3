//! What is known of recent calls, by provider.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::RoutingTable;
use super::entry::{EntryDeployment, RouteEntry};
use crate::health::{DeploymentHealth, ProviderHealth, TargetHealth};
use crate::provider::Provider;

impl RoutingTable {
    /// All configured providers, and the well-known ones that have been used.
    pub(crate) fn health(&self) -> Vec<ProviderHealth> {
        let mut providers = self.providers.clone();
        let used = self
            .well_known
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut used: Vec<Arc<Provider>> = used.values().cloned().collect();
        used.sort_by(|one, other| one.name.cmp(&other.name));
        providers.extend(used);
        providers
            .iter()
            .map(|provider| self.provider_health(provider))
            .collect()
    }

    fn provider_health(&self, provider: &Arc<Provider>) -> ProviderHealth {
        let mut targets = Vec::new();
        for entry in &self.entries {
            for deployment in &entry.deployments {
                if Arc::ptr_eq(&deployment.provider, provider) {
                    targets.push(TargetHealth {
                        model: Some(entry.name.clone()),
                        deployment: deployment_health(entry, deployment),
                        ..deployment.slot.breaker.health()
                    });
                }
            }
        }
        targets.push(provider.slot.breaker.health());
        ProviderHealth {
            name: provider.name.clone(),
            kind: provider.kind,
            targets,
        }
    }
}

fn deployment_health(entry: &RouteEntry, deployment: &EntryDeployment) -> Option<DeploymentHealth> {
    let state = deployment.slot.deployment.as_ref()?;
    let states = entry.deployments.iter();
    let states = states.filter_map(|deployment| deployment.slot.deployment.as_ref());
    let all: u64 = states.map(|state| state.chosen()).sum();
    let chosen = state.chosen();
    let share = match all {
        0 => 0.0,
        all => chosen as f64 / all as f64,
    };
    let paused = state.paused_for();
    let cooling = deployment.slot.breaker.cooling();
    Some(DeploymentHealth {
        upstream_model: deployment.model_pattern(&entry.name).to_owned(),
        weight: state.weight,
        chosen,
        share,
        running: state.running(),
        latency: match state.latency_micros() {
            0 => None,
            micros => Some(Duration::from_micros(micros)),
        },
        cooldown: match cooling {
            Some((cause, _)) => Some(cause),
            None => paused.map(|_| "rate_limited"),
        },
        cooldown_left: cooling.map(|(_, left)| left).or(paused),
    })
}
