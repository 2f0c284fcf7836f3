//! What a table of a new configuration keeps of the one before it: what is known of models that
//! both have.

use std::sync::{Arc, PoisonError};

use super::RoutingTable;
use super::entry::{EntryDeployment, RouteEntry};
use crate::provider::Provider;
use crate::well_known;

impl RoutingTable {
    /// Goes on where an earlier table is, for the providers and deployments that both have.
    pub(crate) fn take_over(&self, previous: &RoutingTable) {
        for before in previous.used_providers() {
            if let Some(provider) = self.same_provider(&before.name) {
                provider.take_over(&before);
            }
        }
        for entry in &self.entries {
            let mut before = previous.entries.iter();
            if let Some(before) = before.find(|before| before.name == entry.name) {
                entry.take_over(before);
            }
        }
    }

    /// The configured providers, and the well-known ones that have been used.
    fn used_providers(&self) -> Vec<Arc<Provider>> {
        let used = self
            .well_known
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let all = self.providers.iter().chain(used.values());
        all.cloned().collect()
    }

    /// The provider that this name has here, configured or well-known.
    fn same_provider(&self, name: &str) -> Option<Arc<Provider>> {
        if let Some(configured) = self.configured_provider(name) {
            return Some(configured);
        }
        self.well_known_provider(well_known::by_name(name)?).ok()
    }
}

impl RouteEntry {
    fn take_over(&self, previous: &RouteEntry) {
        let place_of = |before: &EntryDeployment| {
            let mut own = self.deployments.iter();
            own.position(|own| {
                own.provider.name == before.provider.name && own.model == before.model
            })
        };
        let places: Vec<Option<usize>> = previous.deployments.iter().map(place_of).collect();
        for (before, place) in previous.deployments.iter().zip(&places) {
            if let Some(own) = place.and_then(|place| self.deployments.get(place)) {
                own.slot.take_over(&before.slot);
            }
        }
        if let (Some(own), Some(before)) = (&self.group, &previous.group)
            && let (Some(own), Some(before)) = (&own.sticky, &before.sticky)
        {
            own.take_over(before, &places);
        }
    }
}
