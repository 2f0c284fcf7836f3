//! Receives the beats of workers, for as long as the gateway runs.
//!
//! All workers publish beats on one subject, so a beat can name another worker than the one that
//! sent it. It cannot name the start of that worker's process, which only gateways are told: a
//! beat that names another start of a worker that is alive counts only once that worker itself,
//! at its own subject, has said the same.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use prowess_bus::{Bus, Subscription};
use prowess_worker::protocol::{
    SILENCE_TIMEOUT, WorkerBeat, WorkerReply, WorkerRequest, beats_subject, decode, encode,
    requests_subject,
};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::WorkerRegistry;

/// How long to wait before subscribing again.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// How long a worker that was asked which start it is is not asked again.
const ASK_INTERVAL: Duration = Duration::from_millis(500);
/// Workers that are asked within that time.
const MAX_RECENT: usize = 64;

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
                Ok(beat) if registry.contradicts(&beat) => {
                    questions.ask(&bus, &namespace, &registry, beat.id);
                }
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

/// Questions to workers, which of two starts of their process is the present one.
#[derive(Default)]
struct Questions {
    /// When each worker was last asked.
    recent: HashMap<String, Instant>,
    /// Those that wait for an answer. They end with this.
    waiting: JoinSet<()>,
}

impl Questions {
    /// Asks a worker, unless it was just asked.
    fn ask(&mut self, bus: &Bus, namespace: &str, registry: &Arc<WorkerRegistry>, id: String) {
        while self.waiting.try_join_next().is_some() {}
        let now = Instant::now();
        self.recent
            .retain(|_, at| now.duration_since(*at) < ASK_INTERVAL);
        if self.recent.contains_key(&id) || self.recent.len() >= MAX_RECENT {
            return;
        }
        self.recent.insert(id.clone(), now);
        let subject = requests_subject(namespace, &id);
        let (bus, registry) = (bus.clone(), Arc::clone(registry));
        self.waiting.spawn(async move {
            match describe(&bus, &subject).await {
                Ok(beat) if beat.id == id => registry.observe(beat),
                Ok(_) => tracing::warn!(worker = id, "a worker describes another one"),
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
