//! The start of a stream that is passed through. While the client has received nothing, an error
//! with which the stream begins can still lead to another attempt, or to another model.

use std::time::Duration;

use bytes::Bytes;
use http_body::Body;
use prowess_wire::neutral::ApiError;
use prowess_wire::{ClientDialect, FirstEvent, FirstEventFinder};

use crate::http::{BodyError, IdleTimeoutBody, concat_chunks};

/// How much of a stream is read to find its first event. Errors are far shorter.
const MAX_START_BYTES: usize = 64 << 10;

/// What was read of a stream, all of which is for the client.
#[derive(Debug)]
pub(crate) struct StreamStart {
    pub(crate) bytes: Bytes,
    /// The error that is the first event.
    pub(crate) error: Option<Box<ApiError>>,
}

/// Reads a stream up to its first event. One whose first event is too long, or not complete in
/// time, has no error as far as is known.
///
/// # Errors
/// When the body ends early, or nothing arrives for too long.
pub(crate) async fn read_stream_start<B>(
    client: ClientDialect,
    body: &mut IdleTimeoutBody<B>,
    limit: Duration,
) -> Result<StreamStart, BodyError>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::error::Error,
{
    let mut chunks = Vec::new();
    let first = read_first_event(client, body, &mut chunks);
    let first = match tokio::time::timeout(limit, first).await {
        Ok(first) => first?,
        Err(_) => FirstEvent::Other,
    };
    Ok(StreamStart {
        bytes: concat_chunks(chunks),
        error: match first {
            FirstEvent::Error(error) => Some(error),
            FirstEvent::Other => None,
        },
    })
}

async fn read_first_event<B>(
    client: ClientDialect,
    body: &mut IdleTimeoutBody<B>,
    chunks: &mut Vec<Bytes>,
) -> Result<FirstEvent, BodyError>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::error::Error,
{
    let mut finder = FirstEventFinder::new(client);
    let mut size = 0;
    while size < MAX_START_BYTES {
        let Some(chunk) = body.next_chunk().await.transpose()? else {
            return Ok(finder.finish());
        };
        size += chunk.len();
        let first = finder.push(&chunk);
        chunks.push(chunk);
        if let Some(first) = first {
            return Ok(first);
        }
    }
    Ok(FirstEvent::Other)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use http_body::Frame;
    use tokio::time::Instant;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const FAILED: &str = "data: {\"error\":{\"message\":\"full\"}}\n\n";

    /// Yields these chunks, then stays pending.
    struct Unfinished(VecDeque<&'static str>);

    impl Body for Unfinished {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            match self.0.pop_front() {
                Some(chunk) => {
                    Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(chunk.as_bytes())))))
                }
                None => Poll::Pending,
            }
        }
    }

    fn unfinished<const N: usize>(chunks: [&'static str; N]) -> IdleTimeoutBody<Unfinished> {
        IdleTimeoutBody::new(Unfinished(chunks.into()), 30 * SECOND)
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_behind_the_first_event_is_awaited() {
        let mut body = unfinished([": waiting\n\n", FAILED, "data: [DONE]\n\n"]);
        let start = read_stream_start(ClientDialect::Chat, &mut body, SECOND);
        let start = start.await.unwrap();
        assert_eq!(start.bytes, format!(": waiting\n\n{FAILED}"));
        assert_eq!(start.error.unwrap().message, "full");
        let next = body.next_chunk().await.unwrap().unwrap();
        assert_eq!(next, "data: [DONE]\n\n");
    }

    #[tokio::test(start_paused = true)]
    async fn a_first_event_is_awaited_up_to_a_limit() {
        let began = Instant::now();
        let mut body = unfinished([": waiting\n\n"]);
        let start = read_stream_start(ClientDialect::Chat, &mut body, SECOND);
        let start = start.await.unwrap();
        assert_eq!(start.bytes, ": waiting\n\n");
        assert_eq!(start.error, None);
        assert_eq!(began.elapsed().as_secs(), 1);

        // A body in which nothing arrives fails by itself.
        let mut silent = unfinished([]);
        let start = read_stream_start(ClientDialect::Chat, &mut silent, 60 * SECOND);
        assert_eq!(start.await.unwrap_err(), BodyError::Idle(30 * SECOND));
    }
}
