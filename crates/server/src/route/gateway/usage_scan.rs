//! Passes an upstream's bytes unchanged and scans them for token counts, for as long as the client
//! has access.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::http::StatusCode;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, Stream, StreamExt};
use prowess_wire::ClientDialect;
use prowess_wire::neutral::{ApiError, TokenUsage};

use crate::auth::LostAccess;
use crate::error::to_neutral;
use crate::meter::{Meter, UsageScanner};

/// Approximate bytes of text per token.
const BYTES_PER_TOKEN: u64 = 4;

type ResponseChunk = Result<Bytes, Box<ApiError>>;

/// A byte stream with usage scanning.
pub(super) struct UsageScan {
    body: BoxStream<'static, ResponseChunk>,
    scanner: UsageScanner,
    meter: Meter,
    status: u16,
    request_bytes: usize,
    ended: bool,
    lost: LostAccess,
    refused: bool,
}

impl UsageScan {
    pub(super) fn new(
        body: impl Stream<Item = ResponseChunk> + Send + 'static,
        client: ClientDialect,
        status: StatusCode,
        request_bytes: usize,
        meter: Meter,
        lost: LostAccess,
    ) -> UsageScan {
        UsageScan {
            body: body.boxed(),
            scanner: UsageScanner::new(client),
            meter,
            status: status.as_u16(),
            request_bytes,
            ended: false,
            lost,
            refused: false,
        }
    }
}

impl UsageScan {
    fn text_tokens(&self) -> u64 {
        self.scanner.text_bytes().div_ceil(BYTES_PER_TOKEN)
    }
}

impl Stream for UsageScan {
    type Item = ResponseChunk;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<ResponseChunk>> {
        if self.refused {
            return Poll::Ready(None);
        }
        // First: chunks may always be ready.
        if let Poll::Ready(refusal) = self.lost.poll_unpin(context) {
            self.refused = true;
            // Cancels the upstream's work.
            self.body = stream::empty().boxed();
            self.meter.record_lost_access(&refusal);
            return Poll::Ready(Some(Err(Box::new(to_neutral(&refusal, None)))));
        }
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

/// However it ends: counts that were found are recorded, others are estimated. A Chat
/// Completions stream has counts only when the client requested them, and adding that option
/// would change its response. In a Messages stream the output count follows the text: a client
/// that leaves early has still received the text.
impl Drop for UsageScan {
    fn drop(&mut self) {
        match self.scanner.usage() {
            Some(usage) => {
                self.meter.record_usage(&usage);
                if !self.ended && self.scanner.has_uncounted_text() {
                    self.meter.record_estimate(&TokenUsage {
                        output_tokens: self.text_tokens(),
                        ..TokenUsage::default()
                    });
                }
            }
            None if self.status < 400 && self.scanner.events() > 0 => {
                let estimate = self.scanner.with_details(TokenUsage {
                    input_tokens: self.request_bytes as u64 / BYTES_PER_TOKEN,
                    // Most servers send one event per token, and some for several.
                    output_tokens: self.scanner.events().max(self.text_tokens()),
                    ..TokenUsage::default()
                });
                self.meter.record_estimate(&estimate);
            }
            None => {}
        }
    }
}
