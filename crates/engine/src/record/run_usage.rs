//! The usage of a foreground run, from whoever counts it.

use std::sync::Arc;

use prowess_store::UsageRow;

use super::foreground::ForegroundRuns;

/// The right to report what a foreground run has used. Once the run has a row in the store, its
/// usage is written together with the end of the row: otherwise a server that dies between the
/// two would count it twice, or not at all.
#[derive(Debug)]
pub struct RunUsage {
    runs: Arc<ForegroundRuns>,
    run: String,
    is_reported: bool,
}

impl RunUsage {
    pub(super) fn new(runs: Arc<ForegroundRuns>, run: String) -> Self {
        RunUsage {
            runs,
            run,
            is_reported: false,
        }
    }

    /// Reports the usage of the whole run. Returns it if the run has no row: then it is the
    /// caller's to write.
    #[must_use]
    pub fn report(mut self, usage: UsageRow) -> Option<UsageRow> {
        self.is_reported = true;
        self.runs.set_usage(&self.run, Some(usage))
    }
}

impl Drop for RunUsage {
    fn drop(&mut self) {
        if !self.is_reported {
            // Nobody counts it.
            drop(self.runs.set_usage(&self.run, None));
        }
    }
}
