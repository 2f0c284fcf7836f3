//! What a table of a new configuration keeps of the one before it: what is known of models that
//! both have.

use super::RoutingTable;
use super::entry::{EntryDeployment, RouteEntry};

impl RoutingTable {
    /// Goes on where an earlier table is, for the providers and deployments that both have.
    pub(crate) fn take_over(&self, previous: &RoutingTable) {
        for provider in &self.providers {
            let mut before = previous.providers.iter();
            if let Some(before) = before.find(|before| before.name == provider.name) {
                provider.slot.take_over(&before.slot);
            }
        }
        for entry in &self.entries {
            let mut before = previous.entries.iter();
            if let Some(before) = before.find(|before| before.name == entry.name) {
                entry.take_over(before);
            }
        }
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
