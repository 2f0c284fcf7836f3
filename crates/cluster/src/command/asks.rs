//! What a worker may have for a command: the files of its container, their contents and those of
//! its skills, and places for new contents within the container's limits. Nothing else.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use prowess_sandbox::SandboxLimits;
use prowess_skill::Digest;
use prowess_store::{SignedContent, Store, TenantId, UploadSlot};
use prowess_worker::protocol::{
    Ask, ContentPlace, FilesPage, GatewayAnswer, MAX_ASK_ITEMS, MAX_INLINE_TOTAL_BYTES,
    MAX_PAGE_BYTES, MAX_PAGE_ENTRIES, UploadPlace,
};

use super::link::spawn;
use crate::deferred::{PendingContent, PendingContents};
use crate::file_set::FileSet;
use crate::store_error::store_error;

/// Questions of one conversation: far more than the largest container needs.
const MAX_ASKS: usize = 2_000;

/// What the worker of a command may have.
#[derive(Debug)]
pub(crate) struct CommandAccess {
    pub(crate) store: Store,
    pub(crate) tenant: TenantId,
    pub(crate) id: String,
    /// The container's files before the command.
    pub(crate) files: Arc<FileSet>,
    /// Contents of those that are not stored yet.
    pub(crate) pending: PendingContents,
    /// Contents of the container's skills.
    pub(crate) skills: HashSet<Digest>,
    pub(crate) limits: SandboxLimits,
    /// How long signed URLs are valid.
    pub(crate) url_life: Duration,
}

/// What a worker has asked for in one conversation.
#[derive(Debug)]
pub(crate) struct Asks<'a> {
    access: &'a CommandAccess,
    count: usize,
    slots: Vec<UploadSlot>,
    upload_bytes: u64,
}

impl<'a> Asks<'a> {
    pub(crate) fn new(access: &'a CommandAccess) -> Self {
        Self {
            access,
            count: 0,
            slots: Vec::new(),
            upload_bytes: 0,
        }
    }

    /// The places that the worker was given for uploads.
    pub(crate) fn slots(&self) -> &[UploadSlot] {
        &self.slots
    }

    /// The answer to a question.
    pub(crate) async fn answer(&mut self, ask: Ask) -> GatewayAnswer {
        self.count += 1;
        let answer = match ask {
            _ if self.count > MAX_ASKS => Err("too many questions for one command".to_owned()),
            Ask::Files { after } => Ok(self.files(after.as_deref())),
            Ask::Contents { digests } => self.contents(&digests).await,
            Ask::Uploads { sizes } => self.uploads(&sizes).await,
        };
        answer.unwrap_or_else(|why| {
            let container = &self.access.id;
            tracing::warn!(container, why, "a worker was refused what it asked for");
            GatewayAnswer::Refused { why }
        })
    }

    fn files(&self, after: Option<&str>) -> GatewayAnswer {
        let files = &self.access.files;
        let (entries, more) = files.page(after, MAX_PAGE_ENTRIES, MAX_PAGE_BYTES);
        GatewayAnswer::Files(FilesPage {
            entries: entries.to_vec(),
            more,
        })
    }

    async fn contents(&self, digests: &[Digest]) -> Result<GatewayAnswer, String> {
        let access = self.access;
        check_count(digests.len())?;
        let is_known = |digest: &Digest| {
            access.skills.contains(digest) || access.files.content_size(digest).is_some()
        };
        if let Some(foreign) = digests.iter().find(|digest| !is_known(digest)) {
            return Err(format!("{foreign} is not content of this container"));
        }
        let pending = access.pending_places(digests).await?;
        if !pending.is_empty() {
            // Those that are stored are asked for again.
            return Ok(GatewayAnswer::Contents(pending));
        }
        let (tenant, id) = (&access.tenant, &access.id);
        let signed = access
            .store
            .signed_content(tenant, id, digests, access.url_life);
        let signed = signed
            .await
            .map_err(|error| store_error(error).to_string())?;
        let places = signed
            .into_iter()
            .map(|(digest, content)| (digest, place(content)));
        Ok(GatewayAnswer::Contents(places.collect()))
    }

    async fn uploads(&mut self, sizes: &[u64]) -> Result<GatewayAnswer, String> {
        let access = self.access;
        check_count(sizes.len())?;
        let bytes = sizes.iter().copied().fold(0, u64::saturating_add);
        self.upload_bytes = self.upload_bytes.saturating_add(bytes);
        let slots = (self.slots.len() + sizes.len()) as u64;
        if self.upload_bytes > access.limits.data_bytes || slots > access.limits.container_entries {
            return Err("the uploads exceed the limits of the container".to_owned());
        }
        let reserved = access
            .store
            .reserve_uploads(&access.tenant, sizes, access.url_life);
        let reserved = reserved
            .await
            .map_err(|error| store_error(error).to_string())?;
        let first = self.slots.len() as u64;
        let targets = (first..)
            .zip(&reserved)
            .map(|(slot, reserved)| UploadPlace {
                slot,
                url: reserved.url.clone(),
            });
        let targets = targets.collect();
        self.slots.extend(reserved);
        Ok(GatewayAnswer::Uploads(targets))
    }
}

/// What was uploaded has been copied, or is not wanted.
impl Drop for Asks<'_> {
    fn drop(&mut self) {
        if !self.slots.is_empty() {
            let (store, slots) = (self.access.store.clone(), std::mem::take(&mut self.slots));
            spawn(async move { store.discard_uploads(&slots).await });
        }
    }
}

impl CommandAccess {
    /// Those of some contents that are not stored yet, within a message's limit.
    async fn pending_places(
        &self,
        digests: &[Digest],
    ) -> Result<Vec<(Digest, ContentPlace)>, String> {
        let mut places = Vec::new();
        let mut inline_bytes = 0;
        for digest in digests {
            let place = match self.pending.get(digest) {
                None => continue,
                Some(PendingContent::Bytes(bytes)) => {
                    inline_bytes += bytes.len() as u64;
                    if inline_bytes > MAX_INLINE_TOTAL_BYTES && !places.is_empty() {
                        continue;
                    }
                    ContentPlace::Inline(bytes.clone().into())
                }
                Some(PendingContent::Staged(staged)) => {
                    let signed = self.store.sign_staged(staged, self.url_life);
                    place(
                        signed
                            .await
                            .map_err(|error| store_error(error).to_string())?,
                    )
                }
            };
            places.push((*digest, place));
        }
        Ok(places)
    }
}

fn place(content: SignedContent) -> ContentPlace {
    match content {
        SignedContent::Inline(bytes) => ContentPlace::Inline(bytes.into()),
        SignedContent::Url(url) => ContentPlace::Url(url),
    }
}

fn check_count(count: usize) -> Result<(), String> {
    if count > MAX_ASK_ITEMS {
        return Err(format!(
            "{count} items at once; the limit is {MAX_ASK_ITEMS}"
        ));
    }
    Ok(())
}
