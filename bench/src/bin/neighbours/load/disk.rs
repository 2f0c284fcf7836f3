//! Commands that write, each into a container of its own, until the disk's share is used
//! several times over.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use prowess_bench::server::ScriptedCommand;

use super::{NoiseSource, UNDER_WAY, workers};

const PART: &str = "commands that write 16 MB";
const IN_FLIGHT: usize = 4;
const MAX_WRITES: usize = 100;
const AFTER_REFUSAL: Duration = Duration::from_millis(100);

pub(super) async fn run(source: NoiseSource) {
    let count = Arc::new(AtomicUsize::new(0));
    workers(IN_FLIGHT, || write(source.clone(), Arc::clone(&count))).await;
}

async fn write(source: NoiseSource, count: Arc<AtomicUsize>) {
    while !source.stop.is_due() && count.fetch_add(1, Ordering::Relaxed) < MAX_WRITES {
        let run = source.tenant.run(&source.skill, ScriptedCommand::Write);
        let Some(outcome) = source.stop.unless_due(run).await else {
            source.tally.add(PART, UNDER_WAY, 1);
            return;
        };
        source.tally.count(PART, &outcome);
        if !outcome.is_done() {
            source.stop.pause(AFTER_REFUSAL).await;
        }
    }
}
