//! How long a model that failed is not called for queries: so that a search does not wait for
//! a model that is down.

use std::time::Duration;

use tokio::time::Instant;

/// After the first failure; doubled by each that follows.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The failures since the last success.
#[derive(Debug, Default)]
pub(super) struct Pause {
    failures: u32,
    until: Option<Instant>,
}

impl Pause {
    pub(super) fn is_over(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() >= until)
    }

    pub(super) fn record_success(&mut self) {
        *self = Pause::default();
    }

    pub(super) fn record_failure(&mut self) {
        let doubled = 2_u32.saturating_pow(self.failures);
        let pause = FIRST_PAUSE.saturating_mul(doubled).min(MAX_PAUSE);
        self.failures = self.failures.saturating_add(1);
        self.until = Some(Instant::now() + pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_double_until_a_success() {
        let mut pause = Pause::default();
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            assert!(pause.is_over());
            pause.record_failure();
            tokio::time::advance(Duration::from_secs(seconds) - Duration::from_millis(1)).await;
            assert!(!pause.is_over(), "{seconds} seconds");
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        pause.record_success();
        pause.record_failure();
        tokio::time::advance(FIRST_PAUSE).await;
        assert!(pause.is_over());
    }
}
