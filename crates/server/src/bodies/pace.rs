//! Minimum transfer rate of a body.
//!
//! A slow body holds the resources of its request. So in addition to the idle timeout, it must
//! deliver some bytes in each time window once a grace period is over. Bytes of earlier
//! windows do not count: a fast start would pay for hours of trickling. Only time spent
//! waiting for the body counts, and a body that is already there costs no timer.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use axum::http::StatusCode;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use tokio::time::Instant;

use crate::error::HttpError;
use crate::settings::ServerSettings;

/// Time of waiting between two checks of the rate.
const RATE_WINDOW: Duration = Duration::from_secs(30);
/// Seconds' worth of bytes that must have arrived by the end of the grace period.
const GRACE_RATE_SECONDS: u64 = 1;

/// The rate check of one body.
#[derive(Debug)]
pub(crate) struct BodyPace {
    idle_timeout: Duration,
    grace: Duration,
    /// Bytes per second; 0 disables the check.
    rate: u64,
    /// None until the body is first waited for.
    window: Option<Window>,
}

/// A period of waiting in which some bytes must arrive.
#[derive(Debug, Clone, Copy)]
struct Window {
    left: Duration,
    /// Total bytes that must have been received at its end.
    needed: u64,
}

impl BodyPace {
    pub(crate) fn new(settings: &ServerSettings) -> BodyPace {
        BodyPace {
            idle_timeout: settings.idle,
            grace: settings.body_grace,
            rate: settings.min_body_rate,
            window: None,
        }
    }

    /// Waits for a future that more of the body completes. `received` returns the bytes
    /// received so far.
    pub(crate) async fn wait<F: Future>(
        &mut self,
        future: F,
        received: impl Fn() -> u64,
    ) -> Result<F::Output, HttpError> {
        let mut future = pin!(future);
        let first = poll_fn(|context| Poll::Ready(future.as_mut().poll(context)));
        if let Poll::Ready(output) = first.await {
            return Ok(output);
        }
        let mut quiet = Duration::ZERO;
        loop {
            let (before, start) = (received(), Instant::now());
            let deadline = start + self.next_check(quiet);
            let waiting = Waiting {
                pace: self,
                since: start,
            };
            let output = tokio::time::timeout_at(deadline, future.as_mut()).await;
            drop(waiting);
            if let Ok(output) = output {
                return Ok(output);
            }
            let waited = start.elapsed();
            let received = received();
            quiet = if received == before {
                quiet.saturating_add(waited)
            } else {
                Duration::ZERO
            };
            self.check(quiet, received)?;
        }
    }

    /// How long the body cannot violate a limit, after this long without data.
    fn next_check(&mut self, quiet: Duration) -> Duration {
        let stalled = self.idle_timeout.saturating_sub(quiet);
        match self.rate {
            0 => stalled,
            _ => self.window().left.min(stalled),
        }
    }

    /// Whether a body may continue with this many bytes received, after this long without data.
    fn check(&mut self, quiet: Duration, received: u64) -> Result<(), HttpError> {
        let window = *self.window();
        if self.rate > 0 && window.left.is_zero() {
            if received < window.needed {
                return Err(self.too_slow_error());
            }
            let more = self.rate.saturating_mul(RATE_WINDOW.as_secs());
            self.window = Some(Window {
                left: RATE_WINDOW,
                needed: received.saturating_add(more),
            });
        }
        if quiet >= self.idle_timeout {
            Err(self.stalled_error())
        } else {
            Ok(())
        }
    }

    fn count_wait(&mut self, waited: Duration) {
        let window = self.window();
        window.left = window.left.saturating_sub(waited);
    }

    fn window(&mut self) -> &mut Window {
        self.window.get_or_insert(Window {
            left: self.grace,
            needed: self.rate.saturating_mul(GRACE_RATE_SECONDS),
        })
    }

    fn stalled_error(&self) -> HttpError {
        let message = format!(
            "request body timed out: no data received for {} seconds",
            self.idle_timeout.as_secs()
        );
        HttpError::new(StatusCode::REQUEST_TIMEOUT, "body-stalled", message)
    }

    fn too_slow_error(&self) -> HttpError {
        let message = format!(
            "request body too slow: after {} seconds at least {} bytes per second are required",
            self.grace.as_secs(),
            self.rate
        );
        HttpError::new(StatusCode::REQUEST_TIMEOUT, "body-too-slow", message)
    }
}

/// Counts the time of a wait when it ends, also when its future is dropped before.
struct Waiting<'a> {
    pace: &'a mut BodyPace,
    since: Instant,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let waited = self.since.elapsed();
        self.pace.count_wait(waited);
    }
}

/// A body forwarded as it arrives; it ends with an error when it is too slow.
pub(crate) fn paced_body(
    body: axum::body::Body,
    settings: &ServerSettings,
) -> impl Stream<Item = Result<Bytes, std::io::Error>> + Send + use<> {
    let chunks = body.into_data_stream();
    let state = Some((chunks, BodyPace::new(settings), 0));
    stream::unfold(state, async |state| {
        let (mut chunks, mut pace, received) = state?;
        match pace.wait(chunks.next(), || received).await {
            Ok(None) => None,
            Ok(Some(Ok(chunk))) => {
                let received = received + chunk.len() as u64;
                Some((Ok(chunk), Some((chunks, pace, received))))
            }
            Ok(Some(Err(error))) => Some((Err(std::io::Error::other(error)), None)),
            Err(error) => Some((Err(std::io::Error::other(error.message)), None)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Duration = Duration::from_secs(60);
    const GRACE: Duration = Duration::from_secs(30);

    fn pace() -> BodyPace {
        BodyPace::new(&ServerSettings {
            idle: IDLE,
            body_grace: GRACE,
            min_body_rate: 1_000,
            ..ServerSettings::default()
        })
    }

    /// Checks a body that has these sizes at consecutive checks: returns the elapsed time and
    /// the reason of a refusal.
    fn simulate(pace: &mut BodyPace, sizes: &[u64]) -> (Duration, Option<&'static str>) {
        let (mut passed, mut quiet, mut before) = (Duration::ZERO, Duration::ZERO, 0);
        for &received in sizes {
            let look = pace.next_check(quiet);
            passed += look;
            quiet = if received == before {
                quiet + look
            } else {
                Duration::ZERO
            };
            before = received;
            pace.count_wait(look);
            if let Err(error) = pace.check(quiet, received) {
                return (passed, Some(error.code));
            }
        }
        (passed, None)
    }

    #[tokio::test]
    async fn a_body_that_is_there_is_not_waited_for() {
        let mut pace = pace();
        assert_eq!(pace.wait(async { 1 }, || 0).await.unwrap(), 1);
        assert!(pace.window.is_none());
    }

    #[test]
    fn a_body_that_trickles_is_refused_when_the_grace_is_over() {
        assert_eq!(simulate(&mut pace(), &[30]), (GRACE, Some("body-too-slow")));
        assert_eq!(simulate(&mut pace(), &[0]), (GRACE, Some("body-too-slow")));
    }

    #[test]
    fn what_came_fast_before_does_not_pay_for_trickling() {
        let fast = 32 << 20;
        let refused = simulate(&mut pace(), &[fast, fast + 29_999]);
        assert_eq!(refused, (GRACE + RATE_WINDOW, Some("body-too-slow")));
        // Nor does a window with many bytes.
        let refused = simulate(&mut pace(), &[fast, 2 * fast, 2 * fast + 60]);
        assert_eq!(refused, (GRACE + 2 * RATE_WINDOW, Some("body-too-slow")));
    }

    #[test]
    fn a_body_at_the_least_rate_may_take_its_time() {
        let sizes: Vec<_> = (0..100).map(|look| 1_000 + look * 30_000).collect();
        let passed = GRACE + 99 * RATE_WINDOW;
        assert_eq!(simulate(&mut pace(), &sizes), (passed, None));
    }

    #[test]
    fn only_the_time_of_waiting_counts_and_all_waits_together() {
        let mut pace = pace();
        for _ in 0..29 {
            pace.count_wait(Duration::from_secs(1));
        }
        assert_eq!(pace.next_check(Duration::ZERO), Duration::from_secs(1));
        assert_eq!(simulate(&mut pace, &[999]).1, Some("body-too-slow"));
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_a_wait_that_is_given_up_counts_too() {
        let second = Duration::from_secs(1);
        let mut pace = pace();
        for _ in 0..29 {
            let wait = pace.wait(std::future::pending::<()>(), || 30);
            assert!(tokio::time::timeout(second, wait).await.is_err());
        }
        assert!(pace.next_check(Duration::ZERO) <= second);
    }

    #[test]
    fn a_body_that_stands_still_is_refused() {
        let idle = Duration::from_secs(10);
        let mut pace = BodyPace {
            idle_timeout: idle,
            ..pace()
        };
        assert_eq!(simulate(&mut pace, &[0]), (idle, Some("body-stalled")));
    }

    #[test]
    fn without_a_least_rate_only_standing_still_counts() {
        let mut pace = BodyPace { rate: 0, ..pace() };
        assert_eq!(simulate(&mut pace, &[1, 2, 3]), (3 * IDLE, None));
        assert_eq!(simulate(&mut pace, &[0]), (IDLE, Some("body-stalled")));
    }
}
