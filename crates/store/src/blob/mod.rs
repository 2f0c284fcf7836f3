//! Content by digest.
//!
//! Small content lies in the database, larger content in the [`storage`]: a
//! folder or an object store. Either way a row of `blobs` is the only truth: an
//! object that no ready row names does not exist for readers.
//!
//! # How content comes in
//!
//! 1. [`Blobs::stage`]: each large object gets a place of its own, a row that says
//!    *pending*, and is then written.
//! 2. [`adopt`], in the transaction that also writes who refers to the content:
//!    pending rows become ready, rows that are there already are touched.
//!
//! A crash before the commit leaves pending rows, which are collected later; there
//! is no moment in which an object has no row.
//!
//! # Why collecting never takes what is in use
//!
//! Whoever refers to content touches its row in the same transaction, and every
//! touch changes `touched_at`. The collector removes a row only if `touched_at` is
//! still what it was when the row was found unreferenced. An uploader whose row was
//! taken finds it gone, and stages again. Neither clocks nor the grace period
//! matter for this; the grace period is for readers.

mod activate;
mod fault;
mod read;
mod stage;
pub(crate) mod storage;

use std::sync::Arc;

use bytes::Bytes;
use prowess_skill::Digest;

pub(crate) use activate::{ActivationOutcome, activate, touch_blobs, touch_version_blobs};
pub use read::ContentStream;
pub(crate) use read::{parse_digest, read_version};
pub(crate) use stage::UploadBounds;

use crate::db::Db;
use crate::disk_space::DiskSpace;
use crate::error::Result;
use storage::ObjectStorage;

/// Where content is staged and read.
pub(crate) struct Blobs {
    pub(super) db: Arc<Db>,
    pub(super) storage: ObjectStorage,
    /// Content up to this many bytes lies in the database.
    pub(super) inline_bytes: usize,
    pub(super) space: Arc<DiskSpace>,
}

/// Content that may be adopted.
#[derive(Debug, Clone)]
pub(crate) struct StagedBlob {
    pub(crate) digest: Digest,
    pub(crate) size: i64,
    body: StagedBody,
}

#[derive(Debug, Clone)]
enum StagedBody {
    /// Small: goes into its row.
    Inline(Bytes),
    /// Written to a place of its own, whose row is pending.
    Written(String),
    /// Was there already when staged.
    Known,
}

impl Blobs {
    pub(crate) fn new(
        db: Arc<Db>,
        storage: ObjectStorage,
        inline_bytes: usize,
        space: Arc<DiskSpace>,
    ) -> Self {
        Blobs {
            db,
            storage,
            inline_bytes,
            space,
        }
    }

    /// Whether objects can be written, or at least looked for.
    pub(crate) async fn probe(&self) -> Result<()> {
        self.storage.probe().await
    }

    /// Removes the object at a place, for the collector.
    pub(crate) async fn delete_object(&self, place: &str) -> Result<()> {
        self.storage.delete(place).await
    }
}
