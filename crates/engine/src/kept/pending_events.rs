//! Events of a run that are not stored yet, with the numbers that they get.

use prowess_store::EventChunk;
use tokio::time::{Duration, Instant};

/// Events that wait to be stored.
#[derive(Debug)]
pub(super) struct PendingEvents {
    /// The number of the first event that is not stored.
    next_seq: i64,
    /// JSON of events that are not stored yet.
    events: Vec<String>,
    bytes: usize,
    log_bytes: u64,
    /// When events were last taken, whether there were any or not.
    taken: Instant,
}

impl PendingEvents {
    /// None, after a log whose last event has this number, and that has so many bytes.
    pub(super) fn after(last_seq: i64, log_bytes: u64) -> Self {
        PendingEvents {
            next_seq: last_seq + 1,
            events: Vec::new(),
            bytes: 0,
            log_bytes,
            taken: Instant::now(),
        }
    }

    /// Adds the JSON of an event.
    pub(super) fn push(&mut self, json: String) {
        self.bytes += json.len();
        self.log_bytes += json.len() as u64;
        self.events.push(json);
    }

    /// Bytes of the events that wait, and of the whole log with them.
    pub(super) fn sizes(&self) -> (usize, u64) {
        (self.bytes, self.log_bytes)
    }

    /// For how long events can have waited.
    pub(super) fn longest_wait(&self) -> Duration {
        self.taken.elapsed()
    }

    /// Takes the events that wait. Their numbers are taken once they are stored: what a refused
    /// step would have stored leaves no gap.
    pub(super) fn take(&mut self) -> Option<EventChunk> {
        let events = std::mem::take(&mut self.events);
        self.bytes = 0;
        self.taken = Instant::now();
        let count = i64::try_from(events.len())
            .ok()
            .filter(|count| *count > 0)?;
        let first_seq = self.next_seq;
        Some(EventChunk {
            first_seq,
            last_seq: first_seq + count - 1,
            body: format!("[{}]", events.join(",")),
        })
    }

    /// The events up to this number are stored.
    pub(super) fn set_stored(&mut self, last_seq: i64) {
        self.next_seq = last_seq + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn events_wait_at_most_since_others_were_taken() {
        let mut pending = PendingEvents::after(-1, 0);
        tokio::time::advance(Duration::from_millis(30)).await;
        pending.push("1".to_owned());
        assert_eq!(pending.longest_wait(), Duration::from_millis(30));
        // As a step does.
        assert!(pending.take().is_some());
        pending.push("2".to_owned());
        tokio::time::advance(Duration::from_millis(20)).await;
        assert_eq!(pending.longest_wait(), Duration::from_millis(20));
        assert!(pending.take().is_some() && pending.take().is_none());
        assert_eq!(pending.longest_wait(), Duration::ZERO);
    }
}
