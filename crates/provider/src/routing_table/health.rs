//! What is known of recent calls, by provider.

use std::sync::{Arc, PoisonError};

use super::RoutingTable;
use crate::health::{ProviderHealth, TargetHealth};
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
        let entries = self.models.iter().filter_map(|model| {
            let entry = match model.name.strip_suffix('*') {
                None => self.exact.get(&model.name)?,
                Some(prefix) => {
                    let mut patterns = self.patterns.iter();
                    &patterns.find(|(known, _)| known == prefix)?.1
                }
            };
            Arc::ptr_eq(&entry.provider, provider).then(|| TargetHealth {
                model: Some(model.name.clone()),
                ..entry.slot.breaker.health()
            })
        });
        let others = provider.slot.breaker.health();
        ProviderHealth {
            name: provider.name.clone(),
            kind: provider.kind,
            targets: entries.chain([others]).collect(),
        }
    }
}
