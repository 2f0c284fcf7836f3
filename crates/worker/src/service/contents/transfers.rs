//! GET and PUT of signed URLs. A URL is a secret while it is valid: it is in no error and in no
//! log line.

use super::cache::{ContentCache, PartialContent};
use bytes::BytesMut;
use prowess_sandbox::FileStream;
use prowess_skill::Digest;
use reqwest::header::CONTENT_LENGTH;
use reqwest::{Body, Client, Response, Url, redirect};
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Transfers at once.
const MAX_TRANSFERS: usize = 16;

/// How long nothing may arrive.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an upload may take besides its bytes, and the slowest rate of those.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(60);
const MIN_BYTES_PER_SECOND: u64 = 256 << 10;

/// Bytes that are written to the disk at once.
const WRITE_BYTES: usize = 1 << 20;

/// A failed transfer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransferError {
    #[error("it is not an http or https URL")]
    Url,
    #[error("the object storage answered with status {0}")]
    Status(u16),
    #[error("the object storage sent another content")]
    Content,
    #[error("the object storage did not answer in time")]
    Timeout,
    #[error("the object storage could not be reached: {0}")]
    Connection(reqwest::Error),
    #[error("it could not be read or written: {0}")]
    Io(#[from] io::Error),
}

impl TransferError {
    /// Whether the same may succeed a moment later.
    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            Self::Url | Self::Content | Self::Io(_) => false,
            Self::Status(status) => *status >= 500 || matches!(*status, 408 | 429),
            Self::Timeout | Self::Connection(_) => true,
        }
    }
}

/// Transfers of contents. The HTTP client is made for the first one.
#[derive(Debug)]
pub(crate) struct ContentTransfers {
    client: OnceLock<Client>,
    permits: Semaphore,
}

impl Default for ContentTransfers {
    fn default() -> Self {
        Self {
            client: OnceLock::new(),
            permits: Semaphore::new(MAX_TRANSFERS),
        }
    }
}

impl ContentTransfers {
    /// Fetches a content of this size into the cache.
    pub(crate) async fn download(
        &self,
        url: &str,
        digest: Digest,
        size: u64,
        cache: &Arc<ContentCache>,
    ) -> Result<(), TransferError> {
        let url = parse(url)?;
        let _permit = self.permits.acquire().await;
        let response = self.client()?.get(url).send();
        let mut response = in_time(IDLE_TIMEOUT, response).await?;
        check_status(&response)?;
        let mut part = blocking(cache, |cache| cache.new_part()).await?;
        let mut buffer = BytesMut::new();
        loop {
            let chunk = in_time(IDLE_TIMEOUT, response.chunk()).await?;
            let is_last = chunk.is_none();
            buffer.extend_from_slice(chunk.as_deref().unwrap_or_default());
            if part.size() + buffer.len() as u64 > size {
                return Err(TransferError::Content);
            }
            if buffer.len() >= WRITE_BYTES || is_last {
                let bytes = buffer.split().freeze();
                part = blocking(cache, move |_| write(part, &bytes)).await?;
            }
            if is_last {
                break;
            }
        }
        let stored = blocking(cache, move |cache| cache.finish(part, digest)).await?;
        stored.ok_or(TransferError::Content)
    }

    /// Uploads a file.
    pub(crate) async fn upload(&self, url: &str, file: FileStream) -> Result<(), TransferError> {
        let url = parse(url)?;
        let _permit = self.permits.acquire().await;
        let size = file.size;
        let limit = UPLOAD_TIMEOUT + Duration::from_secs(size / MIN_BYTES_PER_SECOND);
        // Object storages refuse uploads whose length is not known.
        let request = self.client()?.put(url).header(CONTENT_LENGTH, size);
        let sent = request.body(Body::wrap_stream(file.body)).send();
        check_status(&in_time(limit, sent).await?)
    }

    fn client(&self) -> Result<&Client, TransferError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("prowess/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(TransferError::Connection)?;
        Ok(self.client.get_or_init(|| client))
    }
}

fn parse(url: &str) -> Result<Url, TransferError> {
    let url = Url::parse(url).map_err(|_| TransferError::Url)?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        _ => Err(TransferError::Url),
    }
}

async fn in_time<T>(
    limit: Duration,
    work: impl Future<Output = reqwest::Result<T>>,
) -> Result<T, TransferError> {
    match timeout(limit, work).await {
        Ok(done) => done.map_err(|error| TransferError::Connection(error.without_url())),
        Err(_) => Err(TransferError::Timeout),
    }
}

fn check_status(response: &Response) -> Result<(), TransferError> {
    if response.status().is_success() {
        Ok(())
    } else {
        Err(TransferError::Status(response.status().as_u16()))
    }
}

fn write(mut part: PartialContent, bytes: &[u8]) -> io::Result<PartialContent> {
    part.write(bytes)?;
    Ok(part)
}

/// Works with the cache on a thread that may block.
async fn blocking<T: Send + 'static>(
    cache: &Arc<ContentCache>,
    work: impl FnOnce(&ContentCache) -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let cache = Arc::clone(cache);
    let done = tokio::task::spawn_blocking(move || work(&cache)).await;
    done.map_err(io::Error::other)?
}
