//! Receives the beats of workers, for as long as the gateway runs.

use std::sync::Arc;
use std::time::Duration;

use prowess_bus::{Bus, Subscription};
use prowess_worker::protocol::{WorkerBeat, beats_subject, decode};

use super::WorkerRegistry;

/// How long to wait before subscribing again.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Passes beats on to the registry.
pub(crate) async fn listen(
    bus: Bus,
    namespace: String,
    mut beats: Subscription,
    registry: Arc<WorkerRegistry>,
) {
    let mut is_reported = false;
    loop {
        while let Some(message) = beats.next().await {
            match decode::<WorkerBeat>(&message.payload) {
                Ok(beat) => registry.observe(beat),
                Err(error) if !is_reported => {
                    tracing::warn!(%error, "the announcement of a worker cannot be read");
                    is_reported = true;
                }
                Err(_) => {}
            }
        }
        if let Some(error) = beats.refusal() {
            tracing::error!(%error, "announcements of workers cannot be received");
        }
        beats = loop {
            tokio::time::sleep(RETRY_DELAY).await;
            if let Ok(again) = bus.subscribe(&beats_subject(&namespace)).await {
                break again;
            }
        };
    }
}
