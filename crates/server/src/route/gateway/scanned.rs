//! An upstream's bytes, unchanged, with an eye on the token counts among them.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::http::StatusCode;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use prowess_wire::Client;
use prowess_wire::neutral::{ApiError, Usage};

use crate::meter::{Meter, Scanner};

/// About how many bytes of text make a token.
const BYTES_PER_TOKEN: u64 = 4;

type Piece = Result<Bytes, Box<ApiError>>;

/// Bytes as they come, counted.
pub(super) struct Scanned {
    body: BoxStream<'static, Piece>,
    scanner: Scanner,
    meter: Meter,
    status: u16,
    asked_bytes: usize,
    ended: bool,
}

impl Scanned {
    pub(super) fn new(
        body: impl Stream<Item = Piece> + Send + 'static,
        client: Client,
        status: StatusCode,
        asked_bytes: usize,
        meter: Meter,
    ) -> Scanned {
        Scanned {
            body: body.boxed(),
            scanner: Scanner::new(client),
            meter,
            status: status.as_u16(),
            asked_bytes,
            ended: false,
        }
    }
}

impl Scanned {
    fn text_tokens(&self) -> u64 {
        self.scanner.text_bytes().div_ceil(BYTES_PER_TOKEN)
    }
}

impl Stream for Scanned {
    type Item = Piece;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Piece>> {
        let piece = ready!(self.body.poll_next_unpin(context));
        match &piece {
            Some(Ok(bytes)) => self.scanner.push(bytes),
            Some(Err(error)) => {
                let code = error.code.as_deref().unwrap_or("upstream-error");
                self.meter.failed(error.status, code);
            }
            None => {
                self.ended = true;
                let status = self.status;
                self.meter.ended(status);
            }
        }
        Poll::Ready(piece)
    }
}

/// However it ends: what was found is counted, and what was not is guessed. Of a stream
/// of Chat Completions the counts come only when the client asked for them, and asking
/// on its behalf would change what it gets. In a stream of Messages the count of the
/// answer stands behind its text: a client that leaves before it has read the text all
/// the same.
impl Drop for Scanned {
    fn drop(&mut self) {
        match self.scanner.usage() {
            Some(usage) => {
                self.meter.used(usage);
                if !self.ended && self.scanner.has_uncounted_text() {
                    self.meter.guess(&Usage {
                        output_tokens: self.text_tokens(),
                        ..Usage::default()
                    });
                }
            }
            None if self.status < 400 && self.scanner.events() > 0 => {
                self.meter.guess(&Usage {
                    input_tokens: self.asked_bytes as u64 / BYTES_PER_TOKEN,
                    // Most servers send an event for each token, and some for several.
                    output_tokens: self.scanner.events().max(self.text_tokens()),
                    ..Usage::default()
                });
            }
            None => {}
        }
    }
}
