//! Containers, made one after the other and never removed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::{NoiseSource, workers};

pub(super) const PART: &str = "containers";
const IN_FLIGHT: usize = 8;
const MAX_CONTAINERS: usize = 2_000;
const AFTER_REFUSAL: Duration = Duration::from_millis(100);

pub(super) async fn run(source: NoiseSource) {
    let count = Arc::new(AtomicUsize::new(0));
    workers(IN_FLIGHT, || make(source.clone(), Arc::clone(&count))).await;
}

async fn make(source: NoiseSource, count: Arc<AtomicUsize>) {
    while !source.stop.is_due() {
        let number = count.fetch_add(1, Ordering::Relaxed);
        if number >= MAX_CONTAINERS {
            return;
        }
        let name = format!("noise-{number}");
        let outcome = source.tenant.create_container(&name).await;
        source.tally.count(PART, &outcome);
        if !outcome.is_done() {
            source.stop.pause(AFTER_REFUSAL).await;
        }
    }
}
