//! Stages content before it is referenced.

use std::collections::{BTreeMap, HashSet};
use std::io;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, pin_mut, stream};
use object_store::WriteMultipart;
use prowess_skill::Digest;
use sha2::{Digest as _, Sha256};

use super::{Blobs, StagedBlob, StagedBody, read};
use crate::db::{Sql, SqlValue};
use crate::error::{Error, Result};
use crate::id::{self, IdPrefix};
use crate::quota::ByteAllowance;
use crate::time::Timestamp;

/// Digests per query.
const QUERY_DIGESTS: usize = 500;
/// Objects written concurrently.
const MAX_CONCURRENT_WRITES: usize = 4;
/// Parts of one object uploaded concurrently: a memory limit, 5 MiB each.
const MAX_CONCURRENT_PARTS: usize = 3;
/// Bytes of a stream after which the free space is checked again.
const SPACE_CHECK_BYTES: usize = 4 << 20;

impl Blobs {
    /// Stages contents by digest. Content that is already stored costs one query.
    pub(crate) async fn stage(&self, contents: BTreeMap<Digest, Bytes>) -> Result<Vec<StagedBlob>> {
        let known = self.find_stored(contents.keys()).await?;
        let mut staged = Vec::new();
        let mut writes = Vec::new();
        for (digest, data) in contents {
            let size = data.len() as i64;
            let body = if known.contains(&digest.to_string()) {
                StagedBody::Known
            } else if data.len() <= self.inline_bytes {
                StagedBody::Inline(data)
            } else {
                let place = id::new_id(IdPrefix::Blob, Timestamp::now())?;
                writes.push((place.clone(), data));
                StagedBody::Written(place)
            };
            staged.push(StagedBlob { digest, size, body });
        }
        let new_bytes = staged.iter().filter(|staged| !staged.is_known());
        let new_bytes: i64 = new_bytes.map(|staged| staged.size).sum();
        self.space
            .check(u64::try_from(new_bytes).unwrap_or_default())?;
        let places = writes
            .iter()
            .map(|(place, data)| (place.as_str(), data.len()));
        self.insert_pending(places).await?;
        // All are awaited, also after a failure: none may be in progress when the objects
        // are discarded.
        let written = stream::iter(writes)
            .map(|(place, data)| async move { self.write(&place, data).await })
            .buffer_unordered(MAX_CONCURRENT_WRITES)
            .collect::<Vec<_>>()
            .await;
        match written.into_iter().collect::<Result<()>>() {
            Ok(()) => Ok(staged),
            Err(error) => {
                self.discard(&staged).await;
                Err(error)
            }
        }
    }

    /// The same for contents that are probably new. Where all of them together are as small as
    /// one that the database stores, nobody is asked which are stored already: to send those
    /// again costs less.
    pub(crate) async fn stage_new(
        &self,
        contents: BTreeMap<Digest, Bytes>,
    ) -> Result<Vec<StagedBlob>> {
        let bytes: usize = contents.values().map(Bytes::len).sum();
        if bytes > self.inline_bytes {
            return self.stage(contents).await;
        }
        self.space.check(u64::try_from(bytes).unwrap_or_default())?;
        let staged = contents.into_iter().map(|(digest, data)| StagedBlob {
            digest,
            size: data.len() as i64,
            body: StagedBody::Inline(data),
        });
        Ok(staged.collect())
    }

    /// Deletes the objects of staged content that will not be activated. Their rows, if
    /// the collector has not removed them yet, are left to it, and so are objects that
    /// cannot be deleted now.
    pub(crate) async fn discard(&self, staged: &[StagedBlob]) {
        for place in staged.iter().filter_map(StagedBlob::written_place) {
            let _ = self.storage.delete(place).await;
        }
    }

    /// Writes one object. A collector that considered the pending row abandoned may have
    /// deleted the object while it was being written.
    async fn write(&self, place: &str, data: Bytes) -> Result<()> {
        let Err(error) = self.storage.put(place, data).await else {
            return Ok(());
        };
        let sql = Sql::new("SELECT place FROM blobs WHERE place = $1 AND state = 'pending'");
        match self.db.fetch_optional(sql.bind(place)).await? {
            Some(_) => Err(error),
            None => Err(Error::Busy),
        }
    }

    /// Those of these contents, given with their sizes, that can be referenced now.
    pub(crate) async fn stage_stored(
        &self,
        contents: &BTreeMap<Digest, u64>,
    ) -> Result<Vec<StagedBlob>> {
        let known = self.find_stored(contents.keys()).await?;
        let stored = contents
            .iter()
            .filter(|(digest, _)| known.contains(&digest.to_string()));
        Ok(stored
            .map(|(digest, size)| StagedBlob {
                digest: *digest,
                size: i64::try_from(*size).unwrap_or(i64::MAX),
                body: StagedBody::Known,
            })
            .collect())
    }

    /// Stages a stream, holding at most a few parts in memory.
    pub(crate) async fn stage_stream(
        &self,
        content: impl Stream<Item = io::Result<Bytes>>,
        bounds: UploadBounds,
    ) -> Result<StagedBlob> {
        self.stage_stream_above(self.inline_bytes, content, bounds)
            .await
    }

    /// The same, written to the storage however small it is.
    pub(crate) async fn stage_stream_in_storage(
        &self,
        content: impl Stream<Item = io::Result<Bytes>>,
        bounds: UploadBounds,
    ) -> Result<StagedBlob> {
        self.stage_stream_above(0, content, bounds).await
    }

    async fn stage_stream_above(
        &self,
        inline_bytes: usize,
        content: impl Stream<Item = io::Result<Bytes>>,
        bounds: UploadBounds,
    ) -> Result<StagedBlob> {
        pin_mut!(content);
        self.space.check(0)?;
        let mut intake = UploadMeter::new(bounds);
        let mut start = BytesMut::new();
        while start.len() <= inline_bytes {
            match content.next().await {
                Some(chunk) => start.extend_from_slice(&intake.accept(chunk)?),
                None => {
                    let body = StagedBody::Inline(start.freeze());
                    return intake.finish(body);
                }
            }
        }
        let place = id::new_id(IdPrefix::Blob, Timestamp::now())?;
        self.insert_pending([(place.as_str(), 0)]).await?;
        match self
            .write_stream(&place, start.freeze(), content, &mut intake)
            .await
        {
            Ok(()) => intake.finish(StagedBody::Written(place)),
            Err(error) => {
                // Deletes whatever the failed write has left.
                let _ = self.storage.delete(&place).await;
                Err(self.storage.explain(error).await)
            }
        }
    }

    async fn write_stream(
        &self,
        place: &str,
        start: Bytes,
        mut rest: impl Stream<Item = io::Result<Bytes>> + Unpin,
        intake: &mut UploadMeter,
    ) -> Result<()> {
        let mut writer = self.storage.begin_upload(place).await?;
        match self
            .write_chunks(&mut writer, start, &mut rest, intake)
            .await
        {
            Ok(()) => Ok(writer.finish().await.map(drop)?),
            Err(error) => {
                // The first error is the reason, not the result of the cleanup.
                let _ = writer.abort().await;
                Err(error)
            }
        }
    }

    async fn write_chunks(
        &self,
        writer: &mut WriteMultipart,
        start: Bytes,
        rest: &mut (impl Stream<Item = io::Result<Bytes>> + Unpin),
        intake: &mut UploadMeter,
    ) -> Result<()> {
        let mut unchecked = start.len();
        writer.put(start);
        while let Some(chunk) = rest.next().await {
            let chunk = intake.accept(chunk)?;
            unchecked += chunk.len();
            if unchecked >= SPACE_CHECK_BYTES {
                self.space.check(0)?;
                unchecked = 0;
            }
            writer.wait_for_capacity(MAX_CONCURRENT_PARTS).await?;
            writer.put(chunk);
        }
        Ok(())
    }

    /// Those of these digests that can be referenced now.
    async fn find_stored(&self, digests: impl Iterator<Item = &Digest>) -> Result<HashSet<String>> {
        let digests: Vec<_> = digests.map(Digest::to_string).collect();
        let mut known = HashSet::new();
        for batch in digests.chunks(QUERY_DIGESTS) {
            let sql = Sql::new("SELECT digest FROM blobs WHERE state = 'ready' AND digest IN ");
            for row in self.db.fetch_all(sql.push_list(batch)).await? {
                known.insert(row.text("digest")?);
            }
        }
        Ok(known)
    }

    /// Records where objects are about to be written, so that none is ever lost track of.
    pub(super) async fn insert_pending<'p>(
        &self,
        places: impl IntoIterator<Item = (&'p str, usize)>,
    ) -> Result<()> {
        let now = Timestamp::now();
        let row = |(place, size): (&str, usize)| -> Vec<SqlValue> {
            vec![
                place.into(),
                "pending".into(),
                (size as i64).into(),
                now.into(),
            ]
        };
        let rows: Vec<_> = places.into_iter().map(row).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let sql = Sql::new("INSERT INTO blobs (place, state, size, touched_at) VALUES ");
        self.db.execute(sql.push_rows(rows)).await.map(drop)
    }
}

/// The size limits of a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UploadBounds {
    /// Bytes of one file.
    pub(crate) limit: u64,
    /// Bytes that its tenant may still store.
    pub(crate) allowance: Option<ByteAllowance>,
}

/// Counts and hashes a stream.
struct UploadMeter {
    hash: Sha256,
    size: u64,
    bounds: UploadBounds,
}

impl UploadMeter {
    fn new(bounds: UploadBounds) -> Self {
        UploadMeter {
            hash: Sha256::new(),
            size: 0,
            bounds,
        }
    }

    fn accept(&mut self, chunk: io::Result<Bytes>) -> Result<Bytes> {
        let chunk = chunk.map_err(Error::Interrupted)?;
        self.size = self.size.saturating_add(chunk.len() as u64);
        let limit = self.bounds.limit;
        if self.size > limit {
            return Err(Error::FileTooLarge { limit });
        }
        if let Some(allowance) = &self.bounds.allowance {
            allowance.check(self.size)?;
        }
        self.hash.update(&chunk);
        Ok(chunk)
    }

    fn finish(self, body: StagedBody) -> Result<StagedBlob> {
        Ok(StagedBlob {
            digest: read::parse_digest(&read::format_digest(self.hash))?,
            size: i64::try_from(self.size).unwrap_or(i64::MAX),
            body,
        })
    }
}
