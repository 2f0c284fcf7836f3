//! Receives the beats of workers, for as long as the gateway runs.
//!
//! All workers publish beats on one subject, so a beat can name another worker than the one that
//! sent it, or one that does not exist. It cannot name the start of another worker's process, which
//! only gateways are told: a beat of a worker that is not known, or that names another start of one
//! that is, counts only once that worker itself, at its own subject, has answered. This takes one
//! exchange of messages, right after the first beat.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use prowess_bus::{Bus, Subscription, subject};
use prowess_worker::protocol::{
    SILENCE_TIMEOUT, WorkerBeat, WorkerReply, WorkerRequest, beats_subject, decode, encode,
    requests_subject,
};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::WorkerRegistry;

/// How long to wait before subscribing again.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Within this time, a worker is asked once which start it is.
const ASK_INTERVAL: Duration = Duration::from_millis(500);
/// Workers that are asked within that time: all those of a large cluster at the start of a gateway,
/// and no more if somebody invents workers without end.
const MAX_RECENT: usize = 1_024;
/// Questions that wait for an answer. Those to workers that do not exist end at once.
const MAX_WAITING: usize = 2 * MAX_RECENT;

/// Passes beats on to the registry.
pub(crate) async fn listen(
    bus: Bus,
    namespace: String,
    mut beats: Subscription,
    registry: Arc<WorkerRegistry>,
) {
    let mut is_reported = false;
    let mut questions = Questions::default();
    loop {
        while let Some(message) = beats.next().await {
            match decode::<WorkerBeat>(&message.payload) {
                Ok(beat) if registry.knows(&beat) => registry.observe(beat),
                Ok(beat) => questions.ask(&bus, &namespace, &registry, beat.id),
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

/// Questions to workers, which start of their process is the present one.
#[derive(Default)]
struct Questions {
    /// Workers that were asked in the present interval.
    recent: HashSet<String>,
    /// When that began.
    since: Option<Instant>,
    /// Those that wait for an answer. They end with this.
    waiting: JoinSet<()>,
}

impl Questions {
    /// Asks a worker, unless it was just asked.
    fn ask(&mut self, bus: &Bus, namespace: &str, registry: &Arc<WorkerRegistry>, id: String) {
        // The id becomes part of the subject.
        if subject::token(&id).is_err() {
            return;
        }
        while self.waiting.try_join_next().is_some() {}
        let now = Instant::now();
        let is_over = |since| now.duration_since(since) >= ASK_INTERVAL;
        if self.since.is_none_or(is_over) {
            self.recent.clear();
            self.since = Some(now);
        }
        let is_full = self.recent.len() >= MAX_RECENT || self.waiting.len() >= MAX_WAITING;
        if is_full || !self.recent.insert(id.clone()) {
            return;
        }
        let subject = requests_subject(namespace, &id);
        let (bus, registry) = (bus.clone(), Arc::clone(registry));
        self.waiting.spawn(async move {
            match describe(&bus, &subject).await {
                Ok(beat) if beat.id == id => registry.observe(beat),
                Ok(_) => tracing::warn!(
                    worker = id,
                    "a worker describes itself with the id of another"
                ),
                Err(why) => tracing::debug!(worker = id, why, "a worker does not describe itself"),
            }
        });
    }
}

/// What the worker that receives requests on this subject says of itself.
async fn describe(bus: &Bus, subject: &str) -> Result<WorkerBeat, String> {
    let question = encode(&WorkerRequest::Describe).map_err(|error| error.to_string())?;
    let answer = bus.request(subject, question, SILENCE_TIMEOUT).await;
    let answer = answer.map_err(|error| error.to_string())?;
    match decode::<WorkerReply>(&answer.payload) {
        Ok(WorkerReply::Described(beat)) => Ok(*beat),
        Ok(_) => Err("it answers something else".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
