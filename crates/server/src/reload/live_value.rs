//! A value that can be replaced while others use it.
//!
//! Who takes it keeps what it took: nobody sees parts of two values. Taking it needs no lock,
//! so that requests do not wait for each other.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::watch;

/// A value, and who waits for another one.
#[derive(Debug)]
pub(crate) struct LiveValue<T> {
    current: ArcSwap<T>,
    /// How often it was replaced.
    replaced: watch::Sender<u64>,
}

impl<T> LiveValue<T> {
    pub(crate) fn new(first: Arc<T>) -> LiveValue<T> {
        LiveValue {
            current: ArcSwap::new(first),
            replaced: watch::Sender::new(0),
        }
    }

    /// The current value.
    pub(crate) fn load(&self) -> Arc<T> {
        self.current.load_full()
    }

    /// Replaces the value for all who take it from now on.
    pub(crate) fn replace(&self, value: Arc<T>) {
        self.current.store(value);
        self.replaced.send_modify(|count| *count += 1);
    }

    /// Changes when the value was replaced.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.replaced.subscribe()
    }
}
