//! The body of a response, unchanged, for as long as the client has access, and what its token
//! counts tell of the request's cost.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::{FutureExt, Stream, StreamExt};
use prowess_provider::ByteStream;
use prowess_wire::neutral::{ApiError, TokenUsage};

use crate::auth::LostAccess;
use crate::error::to_neutral;
use crate::meter::{Meter, UsageScanner};

/// Approximate bytes of text per token.
const BYTES_PER_TOKEN: u64 = 4;

/// A body that is metered as it passes.
pub(super) struct MeteredBody {
    /// None once the client may not have the rest of it.
    pub(super) body: Option<ByteStream>,
    pub(super) lost: LostAccess,
    /// None for a body that is no JSON.
    pub(super) scanner: Option<UsageScanner>,
    pub(super) meter: Meter,
    pub(super) status: u16,
    pub(super) request_bytes: usize,
    /// Whether the tokens of a stream of text without counts are estimated.
    pub(super) estimates: bool,
}

impl Stream for MeteredBody {
    type Item = Result<Bytes, Box<ApiError>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.body.is_none() {
            return Poll::Ready(None);
        }
        // First: chunks may always be ready.
        if let Poll::Ready(refusal) = self.lost.poll_unpin(context) {
            // Cancels the upstream's work.
            self.body = None;
            self.meter.record_lost_access(&refusal);
            return Poll::Ready(Some(Err(Box::new(to_neutral(&refusal, None)))));
        }
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let chunk = ready!(body.poll_next_unpin(context));
        match &chunk {
            Some(Ok(bytes)) => {
                if let Some(scanner) = &mut self.scanner {
                    scanner.push(bytes);
                }
            }
            Some(Err(error)) => {
                let code = error.code.as_deref().unwrap_or("upstream-error");
                self.meter.record_failure(error.status, code);
            }
            None => match self.status {
                failed @ 400.. => self.meter.record_failure(failed, "upstream-error"),
                status => self.meter.record_end(status),
            },
        }
        Poll::Ready(chunk)
    }
}

/// However it ends: counts that were found are recorded. A response without counts tells nothing
/// of its cost, whatever the price of the model's tokens.
impl Drop for MeteredBody {
    fn drop(&mut self) {
        let scanner = self.scanner.as_ref();
        let usage = scanner.and_then(UsageScanner::usage);
        // Seconds of sound, or searches, are no tokens.
        let usage = usage.filter(|usage| usage.total_input() > 0 || usage.output_tokens > 0);
        if let Some(usage) = usage {
            self.meter.record_usage(&usage);
            return;
        }
        let events = scanner.map_or(0, UsageScanner::events);
        if self.status >= 400 {
            return;
        }
        if !self.estimates || events == 0 {
            self.meter.discard_price();
            return;
        }
        let text = scanner.map_or(0, UsageScanner::text_bytes);
        self.meter.record_estimate(&TokenUsage {
            input_tokens: self.request_bytes as u64 / BYTES_PER_TOKEN,
            output_tokens: events.max(text.div_ceil(BYTES_PER_TOKEN)),
            ..TokenUsage::default()
        });
    }
}
