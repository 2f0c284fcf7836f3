//! What a message of another gateway changes here.

use prowess_bus::BusMessage;
use prowess_bus::payload;
use serde::de::DeserializeOwned;

use super::cache_drops::{self, CacheDropMessage};
use super::gateway_beat::GatewayBeat;
use super::link::ClusterLink;
use super::rates_message::RatesMessage;
use super::subjects::Topic;
use crate::app::App;

/// Applies a message. This gateway receives its own, too.
pub(super) fn receive(app: &App, link: &ClusterLink, message: &BusMessage) {
    match link.subjects().topic(&message.subject) {
        Some(Topic::Beat) => {
            if let Some(beat) = read::<GatewayBeat>(link, message) {
                link.note_gateway(beat);
            }
        }
        Some(Topic::Runs) => app.local_runs().wake(),
        // The store has it already: this only says when to look.
        Some(Topic::Cancel { run }) => app.local_runs().notice_cancel(run),
        Some(Topic::Caches) => {
            if let Some(dropped) = read::<CacheDropMessage>(link, message) {
                cache_drops::apply(app.store(), link, &dropped);
            }
        }
        Some(Topic::Rates) => {
            if let Some(rates) = read::<RatesMessage>(link, message)
                && rates.boot != link.boot()
            {
                app.limits().apply(&rates.boot, &rates.keys);
            }
        }
        None => {}
    }
}

fn read<T: DeserializeOwned>(link: &ClusterLink, message: &BusMessage) -> Option<T> {
    match payload::decode(&message.payload) {
        Ok(content) => Some(content),
        Err(error) => {
            link.note_unreadable(&message.subject, &error);
            None
        }
    }
}
