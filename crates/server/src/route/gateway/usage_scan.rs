//! An upstream's bytes, unchanged, with an eye on the token counts among them.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::http::StatusCode;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use prowess_wire::ClientDialect;
use prowess_wire::neutral::{ApiError, TokenUsage};

use crate::meter::{Meter, UsageScanner};

/// About how many bytes of text make a token.
const BYTES_PER_TOKEN: u64 = 4;

type ChunkResult = Result<Bytes, Box<ApiError>>;

/// Bytes as they come, counted.
pub(super) struct UsageScan {
    body: BoxStream<'static, ChunkResult>,
    scanner: UsageScanner,
    meter: Meter,
    status: u16,
    request_bytes: usize,
    ended: bool,
}

impl UsageScan {
    pub(super) fn new(
        body: impl Stream<Item = ChunkResult> + Send + 'static,
        client: ClientDialect,
        status: StatusCode,
        request_bytes: usize,
        meter: Meter,
    ) -> UsageScan {
        UsageScan {
            body: body.boxed(),
            scanner: UsageScanner::new(client),
            meter,
            status: status.as_u16(),
            request_bytes,
            ended: false,
        }
    }
}

impl UsageScan {
    fn text_tokens(&self) -> u64 {
        self.scanner.text_bytes().div_ceil(BYTES_PER_TOKEN)
    }
}

impl Stream for UsageScan {
    type Item = ChunkResult;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ChunkResult>> {
        let chunk = ready!(self.body.poll_next_unpin(context));
        match &chunk {
            Some(Ok(bytes)) => self.scanner.push(bytes),
            Some(Err(error)) => {
                let code = error.code.as_deref().unwrap_or("upstream-error");
                self.meter.record_failure(error.status, code);
            }
            None => {
                self.ended = true;
                let status = self.status;
                self.meter.record_end(status);
            }
        }
        Poll::Ready(chunk)
    }
}

/// However it ends: what was found is counted, and what was not is guessed. Of a stream
/// of Chat Completions the counts come only when the client asked for them, and asking
/// on its behalf would change what it gets. In a stream of Messages the count of the
/// answer stands behind its text: a client that leaves before it has read the text all
/// the same.
impl Drop for UsageScan {
    fn drop(&mut self) {
        match self.scanner.usage() {
            Some(usage) => {
                self.meter.record_usage(usage);
                if !self.ended && self.scanner.has_uncounted_text() {
                    self.meter.record_estimate(&TokenUsage {
                        output_tokens: self.text_tokens(),
                        ..TokenUsage::default()
                    });
                }
            }
            None if self.status < 400 && self.scanner.events() > 0 => {
                self.meter.record_estimate(&TokenUsage {
                    input_tokens: self.request_bytes as u64 / BYTES_PER_TOKEN,
                    // Most servers send an event for each token, and some for several.
                    output_tokens: self.scanner.events().max(self.text_tokens()),
                    ..TokenUsage::default()
                });
            }
            None => {}
        }
    }
}
