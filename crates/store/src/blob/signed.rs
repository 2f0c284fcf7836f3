//! Contents that others than this process read and write, by URLs that are signed for one object
//! and a short time.

use std::time::Duration;

use futures_util::StreamExt;
use prowess_skill::Digest;
use sha2::{Digest as _, Sha256};

use super::{Blobs, StagedBlob, StagedBody, read};
use crate::db::{Sql, SqlValue};
use crate::error::{Error, Result};
use crate::id::{self, IdPrefix};
use crate::time::Timestamp;

/// How long a URL may be valid.
const MAX_URL_LIFETIME: Duration = Duration::from_secs(3_600);
/// Rows per statement.
const BATCH_ROWS: usize = 200;

impl Blobs {
    /// Whether the storage can sign URLs.
    pub(crate) fn can_sign(&self) -> bool {
        self.storage.can_sign()
    }

    /// Why something cannot be done with a storage that cannot sign URLs.
    pub(crate) fn unsigned_error(&self) -> Error {
        self.storage.unsigned_error()
    }

    /// A URL for reading the object at a place.
    pub(crate) async fn sign_read(&self, place: &str, ttl: Duration) -> Result<String> {
        self.storage
            .sign_get(place, ttl.min(MAX_URL_LIFETIME))
            .await
    }

    /// A URL for reading staged content; `None` if it is not in the storage.
    pub(crate) async fn sign_staged(
        &self,
        staged: &StagedBlob,
        ttl: Duration,
    ) -> Result<Option<String>> {
        let place = match &staged.body {
            StagedBody::Inline(_) => None,
            StagedBody::Written(place) => Some(place.clone()),
            StagedBody::Known => {
                let sql = Sql::new(
                    "SELECT place FROM blobs
                     WHERE state = 'ready' AND data IS NULL AND digest = $1",
                );
                let row = self.db.fetch_optional(sql.bind(staged.digest.to_string()));
                row.await?.map(|row| row.text("place")).transpose()?
            }
        };
        match place {
            Some(place) => self.sign_read(&place, ttl).await.map(Some),
            None => Ok(None),
        }
    }

    /// New places with URLs for writing objects of these sizes to them.
    pub(crate) async fn reserve(
        &self,
        sizes: &[u64],
        ttl: Duration,
    ) -> Result<Vec<(String, String)>> {
        let ttl = ttl.min(MAX_URL_LIFETIME);
        let now = Timestamp::now();
        let mut reserved = Vec::new();
        for _ in sizes {
            let place = id::new_id(IdPrefix::Blob, now)?;
            let url = self.storage.sign_put(&place, ttl).await?;
            reserved.push((place, url));
        }
        // As touched when nobody can write to them any more: not collected before.
        let until = now.after(ttl);
        let row = |place: &str, size: u64| -> Vec<SqlValue> {
            vec![
                place.into(),
                "pending".into(),
                i64::try_from(size).unwrap_or(i64::MAX).into(),
                until.into(),
            ]
        };
        let places = reserved.iter().map(|(place, _)| place);
        let rows = places.zip(sizes).map(|(place, size)| row(place, *size));
        let rows: Vec<Vec<SqlValue>> = rows.collect();
        for batch in rows.chunks(BATCH_ROWS) {
            let sql = Sql::new("INSERT INTO blobs (place, state, size, touched_at) VALUES ");
            self.db.execute(sql.push_rows(batch.to_vec())).await?;
        }
        Ok(reserved)
    }

    /// Copies an object that others may still write, and stages the copy if it is the expected
    /// content. The object itself is left as it is.
    pub(crate) async fn stage_copy(
        &self,
        from: &str,
        expected: Digest,
        size: u64,
    ) -> Result<StagedBlob> {
        // Before anything is copied: it may be far too large.
        let found = self.storage.size(from).await?;
        if found != Some(size) {
            return Err(mismatch(expected, found, size));
        }
        let place = id::new_id(IdPrefix::Blob, Timestamp::now())?;
        self.insert_pending([(place.as_str(), usize::try_from(size).unwrap_or_default())])
            .await?;
        match self.copy_checked(from, &place, expected, size).await {
            Ok(()) => Ok(StagedBlob {
                digest: expected,
                size: i64::try_from(size).unwrap_or(i64::MAX),
                body: StagedBody::Written(place),
            }),
            Err(error) => {
                let _ = self.storage.delete(&place).await;
                Err(error)
            }
        }
    }

    async fn copy_checked(&self, from: &str, to: &str, expected: Digest, size: u64) -> Result<()> {
        self.storage.copy(from, to).await?;
        let mut content = self.storage.read(to).await?;
        let (mut hash, mut found) = (Sha256::new(), 0_u64);
        while let Some(chunk) = content.next().await {
            let chunk = chunk?;
            found = found.saturating_add(chunk.len() as u64);
            if found > size {
                break;
            }
            hash.update(&chunk);
        }
        if found != size {
            return Err(mismatch(expected, Some(found), size));
        }
        let digest = read::format_digest(hash);
        if digest != expected.to_string() {
            return Err(Error::DamagedContent {
                digest: expected.to_string(),
                reason: format!("the uploaded content has the digest {digest}"),
            });
        }
        Ok(())
    }
}

fn mismatch(expected: Digest, found: Option<u64>, size: u64) -> Error {
    Error::DamagedContent {
        digest: expected.to_string(),
        reason: match found {
            Some(found) => {
                format!("the uploaded content has {found} bytes or more instead of {size}")
            }
            None => "nothing was uploaded".to_owned(),
        },
    }
}
