//! Whether a run may go on after a turn, by what it has cost. What its client has left to spend is
//! known to whoever starts the run, not to the engine.

use std::fmt;
use std::sync::Arc;

/// Asked between the turns of a run. Neither waits nor fails.
#[derive(Clone)]
pub struct SpendCheck(Arc<dyn Fn(u64) -> bool + Send + Sync>);

impl SpendCheck {
    /// `allows` gets the cost in billionths of the turns that this server has made, and says
    /// whether there may be another.
    #[must_use]
    pub fn new(allows: impl Fn(u64) -> bool + Send + Sync + 'static) -> Self {
        SpendCheck(Arc::new(allows))
    }

    /// Whether there may be another turn after those that cost this much.
    pub(crate) fn allows(&self, spent_nanos: u64) -> bool {
        (self.0)(spent_nanos)
    }
}

impl fmt::Debug for SpendCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SpendCheck(…)")
    }
}
