//! Reads content and verifies it against its digest.

use std::collections::HashMap;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt, TryStreamExt};
use prowess_skill::Digest;
use sha2::{Digest as _, Sha256};

use super::{Blobs, StagedBlob, StagedBody};
use crate::db::{DbRow, Sql};
use crate::error::{Error, Result};

/// Objects read concurrently.
const MAX_CONCURRENT_READS: usize = 8;

/// A stream of content. Ends with an error if the content does not match its digest.
pub struct ContentStream {
    chunks: BoxStream<'static, object_store::Result<Bytes>>,
    hash: Option<Sha256>,
    digest: Digest,
}

impl ContentStream {
    fn new(digest: Digest, chunks: BoxStream<'static, object_store::Result<Bytes>>) -> Self {
        ContentStream {
            chunks,
            hash: Some(Sha256::new()),
            digest,
        }
    }

    /// Reads all of it.
    pub async fn collect(self) -> Result<Bytes> {
        let whole = self.try_fold(BytesMut::new(), |mut whole, chunk| async move {
            whole.extend_from_slice(&chunk);
            Ok(whole)
        });
        Ok(whole.await?.freeze())
    }

    /// At the end: `None`, or the mismatch.
    fn verify(&mut self) -> Option<Result<Bytes>> {
        let found = format_digest(self.hash.take()?);
        let right = found == self.digest.to_string();
        (!right).then(|| Err(damaged_error(self.digest, format!("its digest is {found}"))))
    }
}

impl Stream for ContentStream {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        match self.chunks.poll_next_unpin(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(None) => Poll::Ready(self.verify()),
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(Some(Ok(chunk))) => {
                if let Some(hash) = &mut self.hash {
                    hash.update(&chunk);
                }
                Poll::Ready(Some(Ok(chunk)))
            }
        }
    }
}

impl Blobs {
    /// Opens content for reading.
    pub(crate) async fn open(&self, digest: Digest) -> Result<ContentStream> {
        let sql = Sql::new("SELECT place, data FROM blobs WHERE digest = $1 AND state = 'ready'");
        let row = self.db.fetch_optional(sql.bind(digest.to_string())).await?;
        let row = row.ok_or_else(|| damaged_error(digest, "it is missing".to_owned()))?;
        self.open_row(digest, &row).await
    }

    /// Contents that are stored in the database, all at once.
    pub(crate) async fn read_inline(&self, digests: &[Digest]) -> Result<HashMap<Digest, Bytes>> {
        let mut contents = HashMap::new();
        if digests.is_empty() {
            return Ok(contents);
        }
        let sql = Sql::new("SELECT digest, data FROM blobs WHERE state = 'ready' AND digest IN ")
            .push_list(digests.iter().map(Digest::to_string));
        for row in self.db.fetch_all(sql).await? {
            let digest = parse_digest(&row.text("digest")?)?;
            let data = Bytes::from(row.optional_bytes("data")?.unwrap_or_default());
            let found = Digest::from_content(&data);
            if found != digest {
                return Err(damaged_error(digest, format!("its digest is {found}")));
            }
            contents.insert(digest, data);
        }
        match digests
            .iter()
            .find(|digest| !contents.contains_key(*digest))
        {
            Some(missing) => Err(damaged_error(*missing, "it is missing".to_owned())),
            None => Ok(contents),
        }
    }

    /// Opens content that is staged.
    pub(crate) async fn open_staged(&self, staged: &StagedBlob) -> Result<ContentStream> {
        let chunks = match &staged.body {
            StagedBody::Inline(data) => stream::iter([Ok(data.clone())]).boxed(),
            StagedBody::Written(place) => self.storage.read(place).await?,
            StagedBody::Known => return self.open(staged.digest).await,
        };
        Ok(ContentStream::new(staged.digest, chunks))
    }

    /// Opens the content of a row with the columns `place` and `data`.
    pub(crate) async fn open_row(&self, digest: Digest, row: &DbRow) -> Result<ContentStream> {
        let chunks = match row.optional_bytes("data")? {
            Some(data) => stream::iter([Ok(Bytes::from(data))]).boxed(),
            None => self.storage.read(&row.text("place")?).await?,
        };
        Ok(ContentStream::new(digest, chunks))
    }
}

/// All content of a version, by digest.
pub(crate) async fn read_version(blobs: &Blobs, version: &str) -> Result<HashMap<Digest, Bytes>> {
    let sql = Sql::new(
        "SELECT b.digest, b.place, b.data FROM version_blobs v
         JOIN blobs b ON b.digest = v.digest AND b.state = 'ready' WHERE v.version = $1",
    );
    let rows = blobs.db.fetch_all(sql.bind(version)).await?;
    stream::iter(rows)
        .map(|row| async move {
            let digest = parse_digest(&row.text("digest")?)?;
            let content = blobs.open_row(digest, &row).await?.collect().await?;
            Ok((digest, content))
        })
        .buffer_unordered(MAX_CONCURRENT_READS)
        .try_collect()
        .await
}

/// A finished hash in the form of a digest.
pub(super) fn format_digest(hash: Sha256) -> String {
    format!("sha256:{:x}", Bytes::copy_from_slice(&hash.finalize()))
}

pub(crate) fn parse_digest(digest: &str) -> Result<Digest> {
    digest.parse().map_err(|error| Error::MalformedRow {
        table: "blobs",
        reason: format!("digest `{digest}`: {error}"),
    })
}

fn damaged_error(digest: Digest, reason: String) -> Error {
    Error::DamagedContent {
        digest: digest.to_string(),
        reason,
    }
}
