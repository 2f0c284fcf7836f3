//! Stored contents as streams, and contents as streams for the store.

use std::io;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use prowess_sandbox::{ContentReader, FileStream};
use prowess_store::ContentStream;
use std::io::Read;

/// Bytes that are read at once.
const CHUNK_BYTES: u64 = 256 << 10;

/// The content of a file from the store.
pub(crate) fn stream_of(size: u64, content: ContentStream) -> FileStream {
    let body = content.map(|chunk| chunk.map_err(io::Error::other));
    FileStream {
        size,
        body: Box::pin(body),
    }
}

/// Content that is in memory, for the store.
pub(crate) fn stream_bytes(bytes: Bytes) -> impl Stream<Item = io::Result<Bytes>> + Send {
    stream::iter([Ok(bytes)])
}

/// Content that can only be read on a thread for blocking work.
pub(crate) fn stream_reader(reader: ContentReader) -> impl Stream<Item = io::Result<Bytes>> + Send {
    stream::try_unfold(reader, |mut reader| async move {
        let read = tokio::task::spawn_blocking(move || {
            let mut chunk = Vec::new();
            (&mut reader).take(CHUNK_BYTES).read_to_end(&mut chunk)?;
            Ok::<_, io::Error>((Bytes::from(chunk), reader))
        });
        let (chunk, reader) = read.await.map_err(io::Error::other)??;
        Ok((!chunk.is_empty()).then_some((chunk, reader)))
    })
}
