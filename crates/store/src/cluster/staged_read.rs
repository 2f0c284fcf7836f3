//! Contents that are staged and not part of a container yet: a kept run commits them with its
//! next step, and until then its commands need them.

use std::time::Duration;

use crate::Store;
use crate::blob::ContentStream;
use crate::error::Result;
use crate::journal::StagedContent;

use super::signed_content::{MAX_INLINE_BYTES, SignedContent};

impl Store {
    /// Opens content that was staged by this process.
    ///
    /// # Errors
    /// When it was collected meanwhile, or cannot be read.
    pub async fn open_staged(&self, content: &StagedContent) -> Result<ContentStream> {
        self.blobs().open_staged(&content.0).await
    }

    /// Content that was staged by this process, for a worker: itself if it is small, or as a URL
    /// that is valid for the time `ttl`.
    ///
    /// # Errors
    /// When it was collected meanwhile, or cannot be read or signed.
    pub async fn sign_staged(
        &self,
        content: &StagedContent,
        ttl: Duration,
    ) -> Result<SignedContent> {
        if self.can_sign()
            && let Some(url) = self.blobs().sign_staged(&content.0, ttl).await?
        {
            return Ok(SignedContent::Url(url));
        }
        if u64::try_from(content.0.size).is_ok_and(|size| size > MAX_INLINE_BYTES) {
            return Err(self.blobs().unsigned_error());
        }
        let data = self.open_staged(content).await?.collect().await?;
        Ok(SignedContent::Inline(data))
    }

    /// Deletes contents that were staged and will not be committed.
    pub async fn discard_staged(&self, contents: Vec<StagedContent>) {
        for content in contents {
            self.blobs().discard(&[content.0]).await;
        }
    }
}
