//! How slow a body may come.
//!
//! A body that trickles holds what its request holds. So besides never standing still for
//! long, it must come at a least average rate once a grace is over. A body that is there
//! already costs no timer.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::http::StatusCode;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::Instant;

use crate::error::ApiError;
use crate::settings::Settings;

/// The pace of one body.
#[derive(Debug)]
pub(crate) struct Pace {
    idle: Duration,
    grace: Duration,
    /// Bytes a second; 0 for any.
    rate: u64,
    /// When it was first waited for.
    started: Option<Instant>,
}

impl Pace {
    pub(crate) fn new(settings: &Settings) -> Pace {
        Pace {
            idle: settings.idle,
            grace: settings.body_grace,
            rate: settings.min_body_rate,
            started: None,
        }
    }

    /// Waits for something that more of the body makes ready. `received` says how many
    /// bytes have come so far.
    pub(crate) async fn wait<F: Future>(
        &mut self,
        future: F,
        received: impl Fn() -> u64,
    ) -> Result<F::Output, ApiError> {
        let mut future = pin!(future);
        let first = poll_fn(|context| Poll::Ready(future.as_mut().poll(context)));
        if let Poll::Ready(output) = first.await {
            return Ok(output);
        }
        let started = *self.started.get_or_insert_with(Instant::now);
        loop {
            let before = received();
            let deadline = self.next_look(started, before, Instant::now());
            if let Ok(output) = tokio::time::timeout_at(deadline, future.as_mut()).await {
                return Ok(output);
            }
            self.judge(started, before, received(), Instant::now())?;
        }
    }

    /// Until when nothing can be wrong.
    fn next_look(&self, started: Instant, received: u64, now: Instant) -> Instant {
        let stalled = now + self.idle;
        let too_slow = self.deadline(started, received);
        too_slow.map_or(stalled, |too_slow| too_slow.min(stalled))
    }

    /// Whether a body may go on whose next look is due. It had so many bytes before.
    fn judge(
        &self,
        started: Instant,
        before: u64,
        received: u64,
        now: Instant,
    ) -> Result<(), ApiError> {
        let due = self.deadline(started, received);
        if due.is_some_and(|due| due <= now) {
            return Err(self.too_slow());
        }
        match received == before {
            true => Err(self.stalled()),
            false => Ok(()),
        }
    }

    /// When the next byte must be there for the average to hold.
    fn deadline(&self, started: Instant, received: u64) -> Option<Instant> {
        let seconds = received.checked_div(self.rate)?;
        started.checked_add(self.grace.saturating_add(Duration::from_secs(seconds)))
    }

    fn stalled(&self) -> ApiError {
        let message = format!(
            "no byte of the body came for {} seconds",
            self.idle.as_secs()
        );
        ApiError::new(StatusCode::REQUEST_TIMEOUT, "body-stalled", message)
    }

    fn too_slow(&self) -> ApiError {
        let message = format!(
            "the body came too slowly: after {} seconds it must come at {} bytes a second or more",
            self.grace.as_secs(),
            self.rate
        );
        ApiError::new(StatusCode::REQUEST_TIMEOUT, "body-too-slow", message)
    }
}

/// A body that is sent on as it comes; it breaks off when it comes too slowly.
pub(crate) fn paced(
    body: axum::body::Body,
    settings: &Settings,
) -> impl Stream<Item = Result<Bytes, std::io::Error>> + Send + use<> {
    let pieces = body.into_data_stream();
    let state = Some((pieces, Pace::new(settings), 0));
    stream::unfold(state, async |state| {
        let (mut pieces, mut pace, received) = state?;
        match pace.wait(pieces.next(), || received).await {
            Ok(None) => None,
            Ok(Some(Ok(piece))) => {
                let received = received + piece.len() as u64;
                Some((Ok(piece), Some((pieces, pace, received))))
            }
            Ok(Some(Err(error))) => Some((Err(std::io::Error::other(error)), None)),
            Err(error) => Some((Err(std::io::Error::other(error.message)), None)),
        }
    })
}

/// A body whose bytes are counted as they come, for whoever waits behind a parser.
pub(crate) struct Counted<B> {
    body: B,
    received: Arc<AtomicU64>,
}

impl<B> Counted<B> {
    pub(crate) fn new(body: B, received: Arc<AtomicU64>) -> Counted<B> {
        Counted { body, received }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Counted<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.get_mut();
        let frame = ready!(Pin::new(&mut this.body).poll_frame(context));
        if let Some(data) = frame
            .as_ref()
            .and_then(|frame| frame.as_ref().ok()?.data_ref())
        {
            this.received
                .fetch_add(data.len() as u64, Ordering::Relaxed);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Duration = Duration::from_secs(60);
    const GRACE: Duration = Duration::from_secs(30);

    fn pace() -> Pace {
        Pace::new(&Settings {
            idle: IDLE,
            body_grace: GRACE,
            min_body_rate: 1_000,
            ..Settings::default()
        })
    }

    /// What becomes of a body that is next looked at after a time, and when that is.
    fn looked(before: u64, received: u64) -> (Duration, Option<&'static str>) {
        let (pace, started) = (pace(), Instant::now());
        let look = pace.next_look(started, before, started);
        let verdict = pace.judge(started, before, received, look);
        (look - started, verdict.err().map(|error| error.code))
    }

    #[tokio::test]
    async fn a_body_that_is_there_is_not_waited_for() {
        let mut pace = pace();
        assert_eq!(pace.wait(async { 1 }, || 0).await.unwrap(), 1);
        assert!(pace.started.is_none());
    }

    #[test]
    fn a_body_that_trickles_is_refused_when_the_grace_is_over() {
        assert_eq!(looked(0, 30), (GRACE, Some("body-too-slow")));
        assert_eq!(looked(0, 0), (GRACE, Some("body-too-slow")));
    }

    #[test]
    fn a_body_at_the_least_rate_may_take_its_time() {
        // After 29 seconds' worth of bytes the rate has to be looked at in 59 seconds.
        assert_eq!(looked(29_000, 59_000), (Duration::from_secs(59), None));
        assert_eq!(looked(40_000, 100_000), (IDLE, None));
    }

    #[test]
    fn a_body_that_stands_still_is_refused() {
        assert_eq!(looked(1 << 30, 1 << 30), (IDLE, Some("body-stalled")));
    }

    #[test]
    fn without_a_least_rate_only_standing_still_counts() {
        let pace = Pace { rate: 0, ..pace() };
        let started = Instant::now();
        let look = pace.next_look(started, 0, started);
        assert_eq!(look - started, IDLE);
        assert!(pace.judge(started, 0, 1, look).is_ok());
        assert!(pace.judge(started, 0, 0, look).is_err());
    }
}
