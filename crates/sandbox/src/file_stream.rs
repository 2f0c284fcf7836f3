//! The content of a file of a container, in parts.

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::pin::Pin;

/// Bytes that are read from a file at once.
const CHUNK_BYTES: u64 = 256 << 10;

/// The content of a file of a container. It is read as it is asked for.
pub struct FileStream {
    /// Length in bytes.
    pub size: u64,
    /// The content.
    pub body: Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>,
}

impl FileStream {
    /// A content that is in memory.
    #[must_use]
    pub fn from_bytes(bytes: Bytes) -> Self {
        Self {
            size: bytes.len() as u64,
            body: Box::pin(stream::iter((!bytes.is_empty()).then_some(Ok(bytes)))),
        }
    }

    /// The first bytes of the content, at most `max`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn read_up_to(mut self, max: u64) -> io::Result<Vec<u8>> {
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        while bytes.len() < max
            && let Some(chunk) = self.body.next().await
        {
            let mut chunk = chunk?;
            chunk.truncate(max - bytes.len());
            // A file in one part is copied only where others use the part too.
            if bytes.is_empty() {
                bytes = Vec::from(chunk);
            } else {
                bytes.extend_from_slice(&chunk);
            }
        }
        Ok(bytes)
    }
}

impl From<File> for FileStream {
    fn from(file: File) -> Self {
        match file.metadata() {
            Ok(about) => Self {
                size: about.len(),
                body: Box::pin(read_file(file)),
            },
            Err(error) => Self {
                size: 0,
                body: Box::pin(stream::iter([Err(error)])),
            },
        }
    }
}

impl fmt::Debug for FileStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStream")
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

/// A file in parts, each read on a thread for blocking work. A part that is shorter than the
/// others is the last one.
fn read_file(file: File) -> impl Stream<Item = io::Result<Bytes>> + Send {
    stream::try_unfold(Some(file), |file| async move {
        let Some(mut file) = file else {
            return Ok(None);
        };
        let read = tokio::task::spawn_blocking(move || {
            let mut chunk = Vec::new();
            (&mut file).take(CHUNK_BYTES).read_to_end(&mut chunk)?;
            let has_more = chunk.len() as u64 == CHUNK_BYTES;
            Ok::<_, io::Error>((Bytes::from(chunk), has_more.then_some(file)))
        });
        let (chunk, rest) = read.await.map_err(io::Error::other)??;
        Ok((!chunk.is_empty()).then_some((chunk, rest)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, Write};

    fn file_with(content: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        file.rewind().unwrap();
        file
    }

    #[tokio::test]
    async fn a_file_is_read_in_parts_and_whole() {
        let part = usize::try_from(CHUNK_BYTES).unwrap();
        for length in [0, 1, part - 1, part, part + 1, 2 * part] {
            let content: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let stream = FileStream::from(file_with(&content));
            assert_eq!(stream.size, length as u64);
            let chunks: Vec<_> = stream.body.map(Result::unwrap).collect().await;
            assert!(chunks.iter().all(|chunk| !chunk.is_empty()));
            assert!(chunks.iter().all(|chunk| chunk.len() <= part));
            assert_eq!(chunks.concat(), content);
            let stream = FileStream::from(file_with(&content));
            assert_eq!(stream.read_up_to(u64::MAX).await.unwrap(), content);
        }
    }

    #[tokio::test]
    async fn no_more_is_read_than_requested() {
        let stream = || FileStream::from_bytes(Bytes::from_static(b"content"));
        assert_eq!(stream().read_up_to(3).await.unwrap(), b"con");
        assert_eq!(stream().read_up_to(0).await.unwrap(), b"");
        assert_eq!(stream().read_up_to(7).await.unwrap(), b"content");
        let empty = FileStream::from_bytes(Bytes::new());
        assert_eq!(empty.read_up_to(9).await.unwrap(), b"");
    }
}
