//! Takes over the new contents that a worker has uploaded: they are compared with their digests
//! here.

use futures_util::{StreamExt, TryStreamExt, stream};
use prowess_store::{Error as StoreError, StagedContent, Store, UploadSlot};

use super::verify::UploadedContent;

/// Contents that are copied and read at once.
const MAX_CONCURRENT: usize = 4;

/// Why contents could not be stored.
#[derive(Debug)]
pub(crate) enum StageError {
    /// The worker has uploaded something else.
    Forged(String),
    /// The store failed.
    Store(StoreError),
}

impl From<StoreError> for StageError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::DamagedContent { .. } | StoreError::FileTooLarge { .. } => {
                Self::Forged(error.to_string())
            }
            other => Self::Store(other),
        }
    }
}

/// Takes over what a worker has uploaded.
pub(crate) async fn stage_uploads(
    store: &Store,
    uploaded: &[UploadedContent],
    slots: &[UploadSlot],
) -> Result<Vec<StagedContent>, StageError> {
    let copies = uploaded.iter().map(|content| async move {
        let slot = usize::try_from(content.slot).ok();
        let slot = slot.and_then(|slot| slots.get(slot));
        match slot.filter(|slot| slot.size == content.size) {
            Some(slot) => Ok(store.stage_upload(slot, content.digest).await?),
            None => Err(StageError::Forged(
                "an upload has no slot of its size".into(),
            )),
        }
    });
    let copies: Vec<_> = copies.collect();
    stream::iter(copies)
        .buffered(MAX_CONCURRENT)
        .try_collect()
        .await
}
