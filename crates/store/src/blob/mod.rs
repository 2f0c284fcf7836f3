//! Content by digest.
//!
//! Small content is stored in the database, larger content in the [`storage`]: a folder
//! or an object store. In both cases the row in `blobs` is authoritative: an object
//! without a ready row does not exist for readers.
//!
//! # How content is added
//!
//! 1. [`Blobs::stage`]: each large object gets a unique place and a *pending* row, and is
//!    then written.
//! 2. [`activate()`], in the transaction that also writes the references to the content:
//!    pending rows become ready, existing rows are touched.
//!
//! A crash before the commit leaves pending rows, which are collected later; an object
//! never exists without a row.
//!
//! # Why the collector never removes content in use
//!
//! Every transaction that references content touches its row, and every touch changes
//! `touched_at`. The collector removes a row only if `touched_at` is unchanged since the
//! row was found unreferenced. An uploader whose row was removed finds it missing and
//! stages again. Neither clocks nor the grace period matter for this; the grace period is
//! for readers.

mod activate;
mod bucket;
mod fault;
mod read;
mod signed;
mod stage;
pub(crate) mod storage;
mod url_signer;

use std::sync::Arc;

use bytes::Bytes;
use prowess_skill::Digest;

pub(crate) use activate::{
    ActivationOutcome, activate, are_small, push_activation, touch_blobs, touch_version_blobs,
};
pub use read::ContentStream;
pub(crate) use read::{parse_digest, read_version};
pub(crate) use stage::UploadBounds;

use crate::db::Db;
use crate::disk_space::DiskSpace;
use crate::error::Result;
use storage::ObjectStorage;

/// Stages and reads content.
pub(crate) struct Blobs {
    pub(super) db: Arc<Db>,
    pub(super) storage: ObjectStorage,
    /// Content up to this many bytes is stored in the database.
    pub(super) inline_bytes: usize,
    pub(super) space: Arc<DiskSpace>,
}

/// Content that can be activated.
#[derive(Debug, Clone)]
pub(crate) struct StagedBlob {
    pub(crate) digest: Digest,
    pub(crate) size: i64,
    body: StagedBody,
}

#[derive(Debug, Clone)]
enum StagedBody {
    /// Small: stored in its row.
    Inline(Bytes),
    /// Written to its own place, whose row is pending.
    Written(String),
    /// Already stored when staged.
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

    /// Whether objects can be written, or at least looked up.
    pub(crate) async fn probe(&self) -> Result<()> {
        self.storage.probe().await
    }

    /// Deletes the object at a place, for the collector.
    pub(crate) async fn delete_object(&self, place: &str) -> Result<()> {
        self.storage.delete(place).await
    }
}
