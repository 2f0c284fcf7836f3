//! Getting into the cache what a command needs: contents that are not there come from the
//! gateway, inside its answer or by URL.

use super::active_command::ActiveCommand;
use super::contents::{PinnedContents, TransferError};
use super::state::WorkerState;
use crate::protocol::{Ask, ContentPlace, EncodedBytes, GatewayAnswer, MAX_ASK_ITEMS, RemoteError};
use futures_util::{StreamExt, TryStreamExt, stream};
use prowess_skill::Digest;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Contents of one command that are fetched at once.
const MAX_CONCURRENT: usize = 8;

/// Attempts to fetch a content, and the pause before the second; it doubles from then on. Together
/// they take as long as an object storage may need to start again.
const MAX_ATTEMPTS: u32 = 8;
const FIRST_PAUSE: Duration = Duration::from_millis(100);

impl WorkerState {
    /// Provides contents, given with their sizes. They stay in the cache until the returned
    /// guard is dropped.
    pub(super) async fn provide(
        &self,
        command: &ActiveCommand,
        contents: &BTreeMap<Digest, u64>,
    ) -> Result<PinnedContents, RemoteError> {
        let pinned = self.cache.pin(contents.keys().copied());
        let mut missing = contents.clone();
        missing.retain(|digest, _| !self.cache.has(digest));
        while !missing.is_empty() {
            let digests: Vec<Digest> = missing.keys().take(MAX_ASK_ITEMS).copied().collect();
            let answer = self.ask(command, Ask::Contents { digests }).await?;
            let GatewayAnswer::Contents(places) = answer else {
                return Err(unavailable("the gateway answered something else"));
            };
            let before = missing.len();
            self.store_answer(places, &mut missing).await?;
            // Each answer has to have something, or this would never end.
            if missing.len() == before {
                return Err(unavailable("the gateway does not have it"));
            }
        }
        Ok(pinned)
    }

    /// Stores the contents of one answer. What nobody requested is ignored.
    async fn store_answer(
        &self,
        places: Vec<(Digest, ContentPlace)>,
        missing: &mut BTreeMap<Digest, u64>,
    ) -> Result<(), RemoteError> {
        let mut inline = Vec::new();
        let mut remote = Vec::new();
        for (digest, place) in places {
            let Some(size) = missing.remove(&digest) else {
                continue;
            };
            match place {
                ContentPlace::Inline(bytes) => inline.push((digest, bytes)),
                ContentPlace::Url(url) => remote.push((digest, size, url)),
            }
        }
        self.store_inline(inline).await?;
        let fetches = remote
            .into_iter()
            .map(|(digest, size, url)| async move { self.fetch(&url, digest, size).await });
        let fetches: Vec<_> = fetches.collect();
        stream::iter(fetches)
            .buffer_unordered(MAX_CONCURRENT)
            .try_collect::<()>()
            .await
    }

    async fn store_inline(&self, contents: Vec<(Digest, EncodedBytes)>) -> Result<(), RemoteError> {
        if contents.is_empty() {
            return Ok(());
        }
        let cache = Arc::clone(&self.cache);
        let stored = tokio::task::spawn_blocking(move || {
            for (digest, bytes) in contents {
                match cache.store(digest, bytes.as_ref()) {
                    Ok(Some(())) => {}
                    Ok(None) => return Err(unavailable("it has another digest")),
                    Err(error) => return Err(unavailable(&TransferError::from(error).to_string())),
                }
            }
            Ok(())
        });
        stored
            .await
            .unwrap_or_else(|_| Err(unavailable("it could not be stored")))
    }

    async fn fetch(&self, url: &str, digest: Digest, size: u64) -> Result<(), RemoteError> {
        let mut pause = FIRST_PAUSE;
        for _ in 1..MAX_ATTEMPTS {
            match self
                .transfers
                .download(url, digest, size, &self.cache)
                .await
            {
                Err(error) if error.is_temporary() => tokio::time::sleep(pause).await,
                done => return done.map_err(|error| unavailable(&error.to_string())),
            }
            pause *= 2;
        }
        let last = self.transfers.download(url, digest, size, &self.cache);
        last.await.map_err(|error| unavailable(&error.to_string()))
    }
}

fn unavailable(why: &str) -> RemoteError {
    tracing::warn!(why, "a content is not available");
    let message = format!("a content that the command needs is not available: {why}");
    RemoteError::new(RemoteError::CONTENT_UNAVAILABLE, message)
}
