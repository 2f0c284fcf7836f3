//! Delays errors of a tenant that is at its limit.
//!
//! A client may retry the moment it is refused. If it were refused at once, its retries
//! would occupy the processor and delay everybody else, however cheap each refusal is.
//! While it waits here it uses its own requests and containers, which are limited per
//! tenant.

use crate::error::Error;
use std::time::Duration;

const REFUSAL_DELAY: Duration = Duration::from_secs(1);

/// Returns the same result; an error for a reached limit is delayed.
pub(super) async fn delay_refusal<T>(result: Result<T, Error>) -> Result<T, Error> {
    if result.as_ref().is_err_and(is_limit_error) {
        tokio::time::sleep(REFUSAL_DELAY).await;
    }
    result
}

fn is_limit_error(error: &Error) -> bool {
    matches!(
        error,
        Error::Busy { .. }
            | Error::ContainerQueueFull { .. }
            | Error::TooManyContainers { .. }
            | Error::DiskFull { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    async fn delay_of(result: Result<(), Error>) -> Duration {
        let start = Instant::now();
        let _ = delay_refusal(result).await;
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn only_refusals_for_a_limit_come_later() {
        let full = Error::TooManyContainers {
            held: 2,
            allowed: 2,
        };
        assert_eq!(delay_of(Err(full)).await, REFUSAL_DELAY);
        assert_eq!(delay_of(Ok(())).await, Duration::ZERO);
        assert_eq!(delay_of(Err(Error::LauncherGone)).await, Duration::ZERO);
    }
}
