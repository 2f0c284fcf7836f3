//! Waiting for a container that is in use.

use std::time::Duration;

use prowess_sandbox::Error as SandboxError;
use tokio::time::Instant;

use crate::error::RunError;

/// How long a run waits for a container that is in use.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// The first and the longest time between two attempts to get a container that is in use.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_millis(25), Duration::from_secs(1));

/// Repeated attempts to get a container.
pub(super) struct ContainerRetry {
    deadline: Instant,
    delay: Duration,
}

impl Default for ContainerRetry {
    fn default() -> Self {
        Self::until(Instant::now() + MAX_WAIT)
    }
}

impl ContainerRetry {
    pub(super) fn until(deadline: Instant) -> Self {
        Self {
            deadline,
            delay: RETRY_DELAYS.0,
        }
    }

    /// Waits before the next attempt, or fails if there is no time for one.
    pub(super) async fn wait(&mut self, container: &str) -> Result<(), RunError> {
        let now = Instant::now();
        if now >= self.deadline {
            let id = container.to_owned();
            return Err(RunError::Toolbox(SandboxError::ContainerBusy { id }.into()));
        }
        // Different delays, so that those who wait do not all try at the same moment.
        let delay = self.delay.mul_f64(0.5 + fastrand::f64());
        tokio::time::sleep_until(self.deadline.min(now + delay)).await;
        self.delay = RETRY_DELAYS.1.min(self.delay * 2);
        Ok(())
    }
}
