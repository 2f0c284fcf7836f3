//! New contents from a worker. A worker is not trusted: it can write to the place that it was
//! given for as long as its URL is valid, so the content is copied to another place first, and
//! the copy is checked.

use std::fmt;
use std::time::Duration;

use prowess_skill::Digest;

use crate::Store;
use crate::error::{Error, Result};
use crate::journal::StagedContent;
use crate::quota::StorageUsage;
use crate::tenant::TenantId;

/// Slots of one request.
const MAX_SLOTS: usize = 1_000;
/// Bytes of one content: the limit of what an object store takes, and copies, in one request.
const MAX_UPLOAD_BYTES: u64 = 4 << 30;

/// Where a worker can write one content.
#[derive(Clone, PartialEq, Eq)]
pub struct UploadSlot {
    /// Where to, by PUT of exactly `size` bytes and without further credentials.
    pub url: String,
    /// Its size in bytes.
    pub size: u64,
    pub(super) place: String,
}

/// Whoever has a signed URL can write the content.
impl fmt::Debug for UploadSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UploadSlot")
            .field("place", &self.place)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Whether the storage of contents can sign URLs, which
    /// [`Store::reserve_uploads`] needs.
    #[must_use]
    pub fn can_sign(&self) -> bool {
        self.blobs().can_sign()
    }

    /// Places for contents of these sizes that a worker has and the tenant's container is to
    /// get, in their order; the URLs are valid for the time `ttl`. What is written there and not
    /// staged is collected later.
    ///
    /// # Errors
    /// When there are too many or too large ones, the tenant stores too much, the storage cannot
    /// sign URLs, or the store cannot be written.
    pub async fn reserve_uploads(
        &self,
        tenant: &TenantId,
        sizes: &[u64],
        ttl: Duration,
    ) -> Result<Vec<UploadSlot>> {
        check_sizes(sizes)?;
        let added = StorageUsage {
            bytes: sizes.iter().copied().fold(0, u64::saturating_add),
            ..StorageUsage::default()
        };
        // Checked again with the commit; here so that nothing is written in vain.
        self.check_quota(tenant, &added).await?;
        let reserved = self.blobs().reserve(sizes, ttl).await?;
        let slots = reserved.into_iter().zip(sizes);
        Ok(slots
            .map(|((place, url), size)| UploadSlot {
                url,
                size: *size,
                place,
            })
            .collect())
    }

    /// Takes over what a worker has written to a slot, if it has the expected digest and the
    /// size of the slot. Whatever the worker writes afterwards has no effect.
    ///
    /// # Errors
    /// When nothing was written, it is something else, or it cannot be read or copied.
    pub async fn stage_upload(&self, slot: &UploadSlot, expected: Digest) -> Result<StagedContent> {
        let blobs = self.blobs();
        let staged = blobs.stage_copy(&slot.place, expected, slot.size).await?;
        Ok(StagedContent(staged))
    }

    /// Deletes what was written to slots that are not needed any more. What a worker writes to
    /// them later is collected.
    pub async fn discard_uploads(&self, slots: &[UploadSlot]) {
        for slot in slots {
            let _ = self.blobs().delete_object(&slot.place).await;
        }
    }
}

fn check_sizes(sizes: &[u64]) -> Result<()> {
    let reason = if sizes.len() > MAX_SLOTS {
        format!("{} contents at once; the limit is {MAX_SLOTS}", sizes.len())
    } else if let Some(size) = sizes.iter().find(|size| **size > MAX_UPLOAD_BYTES) {
        format!("a content of {size} bytes; the limit is {MAX_UPLOAD_BYTES}")
    } else {
        return Ok(());
    };
    Err(Error::Invalid {
        field: "uploads",
        reason,
    })
}
