//! A flood of runs whose commands keep a processor busy: more than run and wait at once.

use std::time::Duration;

use prowess_bench::server::ScriptedCommand;

use super::{NoiseSource, UNDER_WAY, workers};

pub(super) const PART: &str = "runs that burn 200 ms";
/// More than a server of few cores runs and lets wait by default.
const IN_FLIGHT: usize = 320;
const AFTER_REFUSAL: Duration = Duration::from_millis(100);

pub(super) async fn run(source: NoiseSource) {
    workers(IN_FLIGHT, || flood(source.clone())).await;
}

async fn flood(source: NoiseSource) {
    while !source.stop.is_due() {
        let run = source.tenant.run(&source.skill, ScriptedCommand::Burn);
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
