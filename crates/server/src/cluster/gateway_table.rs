//! The gateways that were seen lately, by their beats.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::gateway_beat::GatewayBeat;

/// How long a gateway counts as alive after a beat: a few may be lost.
pub(crate) const ALIVE_TIME: Duration = Duration::from_secs(4);
/// How long it is shown after its last beat.
const SHOWN_TIME: Duration = Duration::from_secs(60);
/// Gateways that are remembered.
const MAX_GATEWAYS: usize = 1_000;

/// Gateways by what names their processes.
#[derive(Debug, Default)]
pub(super) struct GatewayTable(Mutex<HashMap<String, SeenBeat>>);

#[derive(Debug)]
struct SeenBeat {
    beat: GatewayBeat,
    at: Instant,
}

/// A gateway, and when it was last seen.
#[derive(Debug, Clone)]
pub(crate) struct SeenGateway {
    pub(crate) beat: GatewayBeat,
    pub(crate) age: Duration,
    pub(crate) is_alive: bool,
}

impl GatewayTable {
    /// Notes a beat.
    pub(super) fn note(&self, beat: GatewayBeat) {
        let now = Instant::now();
        let mut table = self.lock();
        table.retain(|_, seen| now.duration_since(seen.at) < SHOWN_TIME);
        if table.len() < MAX_GATEWAYS || table.contains_key(&beat.boot) {
            table.insert(beat.boot.clone(), SeenBeat { beat, at: now });
        }
    }

    /// All of them, by name.
    pub(super) fn seen(&self) -> Vec<SeenGateway> {
        let now = Instant::now();
        let table = self.lock();
        let seen = table.values().map(|seen| {
            let age = now.duration_since(seen.at);
            SeenGateway {
                beat: seen.beat.clone(),
                age,
                is_alive: age < ALIVE_TIME,
            }
        });
        let mut all: Vec<SeenGateway> = seen.filter(|seen| seen.age < SHOWN_TIME).collect();
        all.sort_by(|a, b| (&a.beat.id, &a.beat.boot).cmp(&(&b.beat.id, &b.beat.boot)));
        all
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, SeenBeat>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beat(id: &str, boot: &str) -> GatewayBeat {
        GatewayBeat {
            id: id.to_owned(),
            boot: boot.to_owned(),
            ..GatewayBeat::default()
        }
    }

    fn shown(table: &GatewayTable) -> Vec<(String, bool)> {
        let seen = table.seen().into_iter();
        seen.map(|seen| (seen.beat.boot, seen.is_alive)).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_gateway_is_not_alive_and_then_forgotten() {
        let table = GatewayTable::default();
        table.note(beat("b", "2"));
        table.note(beat("a", "1"));
        let both = |alive| vec![("1".to_owned(), alive), ("2".to_owned(), alive)];
        assert_eq!(shown(&table), both(true));
        tokio::time::advance(ALIVE_TIME).await;
        assert_eq!(shown(&table), both(false));
        tokio::time::advance(SHOWN_TIME).await;
        assert!(table.seen().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn no_flood_of_names_fills_the_memory() {
        let table = GatewayTable::default();
        for number in 0..MAX_GATEWAYS + 10 {
            table.note(beat("a", &number.to_string()));
        }
        assert_eq!(table.seen().len(), MAX_GATEWAYS);
    }
}
