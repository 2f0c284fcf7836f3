//! Records when a key was last used, outside of the request path.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use prowess_store::{KeyRecord, Store};

/// Minimum time between two records of a key.
const RECORD_INTERVAL: Duration = Duration::from_secs(60);
/// Keys in the cache; when exceeded, the cache is cleared.
const MAX_TRACKED_KEYS: usize = 10_000;

/// The recently used keys.
#[derive(Default)]
pub(crate) struct KeyActivity(Mutex<HashMap<String, Instant>>);

impl KeyActivity {
    /// Records that a key was used, in the background.
    pub(super) fn record_use(&self, store: &Store, key: &Arc<KeyRecord>) {
        if !self.is_due(&key.id) {
            return;
        }
        let (store, key) = (store.clone(), key.clone());
        tokio::spawn(async move {
            if let Err(error) = store.touch_key(&key).await {
                tracing::warn!(key = key.id, %error, "cannot record the last use of a key");
            }
        });
    }

    fn is_due(&self, id: &str) -> bool {
        let Ok(mut seen) = self.0.lock() else {
            return false;
        };
        let now = Instant::now();
        if seen
            .get(id)
            .is_some_and(|at| now.duration_since(*at) < RECORD_INTERVAL)
        {
            return false;
        }
        if seen.len() >= MAX_TRACKED_KEYS {
            seen.clear();
        }
        seen.insert(id.to_owned(), now);
        true
    }
}
