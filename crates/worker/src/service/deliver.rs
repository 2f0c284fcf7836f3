//! Delivering a result to one gateway: large contents are uploaded first. Every gateway gives
//! places of its own, so they are uploaded once for each that wants the result.

use super::kept_result::{KeptResult, LargeContent, ResultChanges};
use super::state::{TaskGuard, WorkerState};
use crate::protocol::{
    Ask, ChangedContent, ExecEnded, FileChanges, GatewayAnswer, MAX_ASK_ITEMS, RemoteError,
    UploadPlace, WorkerReply,
};
use futures_util::{StreamExt, TryStreamExt, stream};
use prowess_bus::BusError;
use prowess_sandbox::FileStream;
use prowess_skill::Digest;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior};

/// Contents of one result that are uploaded at once.
const MAX_CONCURRENT: usize = 4;

/// Attempts to upload a content, and the pause before the second; it doubles from then on. Together
/// they take as long as an object storage may need to start again: the command would have to be run
/// again elsewhere, with no better prospect.
const MAX_ATTEMPTS: u32 = 8;
const FIRST_PAUSE: Duration = Duration::from_millis(100);

impl WorkerState {
    /// Delivers a kept result to a gateway that attached to a command that had ended.
    pub(super) async fn deliver_kept(
        self: Arc<Self>,
        id: String,
        listener: String,
        result: Arc<KeptResult>,
        _task: TaskGuard,
    ) {
        let accepted = WorkerReply::Accepted { attached: true };
        // Who does not get it notices the silence.
        let _ = self.send(&listener, &accepted).await;
        self.deliver(&id, &listener, &result).await;
    }

    /// Delivers a result to one gateway, with beats until it is sent.
    pub(super) async fn deliver(&self, id: &str, listener: &str, result: &KeptResult) {
        let every = self.settings.beat_interval;
        let mut ticks = tokio::time::interval_at(Instant::now() + every, every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let uploaded = self.upload_contents(listener, result);
        tokio::pin!(uploaded);
        let uploaded = loop {
            tokio::select! {
                biased;
                uploaded = &mut uploaded => break uploaded,
                _ = ticks.tick() => drop(self.send(listener, &WorkerReply::Beat).await),
            }
        };
        let reply = match uploaded {
            Ok(uploaded) => ended(result, uploaded),
            Err(error) => {
                // Otherwise another attempt may succeed.
                if error.code == RemoteError::RESULT_GONE {
                    self.commands().discard(id);
                }
                WorkerReply::Failed(RemoteError {
                    began: true,
                    ..error
                })
            }
        };
        if let Err(BusError::TooLarge { .. }) = self.send(listener, &reply).await {
            let message = "the command changed too many files for one message";
            let error = RemoteError::new(RemoteError::RESULT_TOO_LARGE, message);
            let reply = WorkerReply::Failed(RemoteError {
                began: true,
                ..error
            });
            let _ = self.send(listener, &reply).await;
        }
    }

    /// Uploads the large contents of a result to places that this gateway gives.
    async fn upload_contents(
        &self,
        listener: &str,
        result: &KeptResult,
    ) -> Result<Vec<(Digest, u64)>, RemoteError> {
        let Some(changes) = &result.changes else {
            return Ok(Vec::new());
        };
        if changes.large.is_empty() {
            return Ok(Vec::new());
        }
        // Nobody may change the files meanwhile.
        let copy = self.copies.lock(&result.container).await;
        let label = copy.as_ref().and_then(|copy| copy.label);
        if label != Some(changes.files_digest) {
            let message = "the files that the command changed were replaced meanwhile";
            return Err(RemoteError::new(RemoteError::RESULT_GONE, message));
        }
        let mut uploaded = Vec::with_capacity(changes.large.len());
        for batch in changes.large.chunks(MAX_ASK_ITEMS) {
            let sizes = batch.iter().map(|content| content.size).collect();
            let answer = self.ask_listener(listener, Ask::Uploads { sizes }).await?;
            let GatewayAnswer::Uploads(targets) = answer else {
                return Err(failed("the gateway answered something else"));
            };
            if targets.len() != batch.len() {
                return Err(failed("the gateway gave another number of places"));
            }
            let uploads = batch.iter().zip(targets);
            let uploads = uploads.map(|(content, target)| self.upload(result, content, target));
            let uploads: Vec<_> = uploads.collect();
            let done = stream::iter(uploads).buffer_unordered(MAX_CONCURRENT);
            uploaded.extend(done.try_collect::<Vec<_>>().await?);
        }
        Ok(uploaded)
    }

    async fn upload(
        &self,
        result: &KeptResult,
        content: &LargeContent,
        target: UploadPlace,
    ) -> Result<(Digest, u64), RemoteError> {
        let mut pause = FIRST_PAUSE;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let (owner, id) = (result.owner.as_str(), result.container.as_str());
            let file = self.sandbox.get(owner, id, &content.path).await;
            let file = FileStream::from(file.map_err(|error| failed(&error.to_string()))?);
            if file.size != content.size {
                return Err(failed("a file has changed since it was hashed"));
            }
            match self.transfers.upload(&target.url, file).await {
                Ok(()) => return Ok((content.digest, target.slot)),
                Err(error) if error.is_temporary() && attempts < MAX_ATTEMPTS => {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                Err(error) => return Err(failed(&error.to_string())),
            }
        }
    }
}

/// The message that ends a command.
fn ended(result: &KeptResult, uploaded: Vec<(Digest, u64)>) -> WorkerReply {
    let changes = |changes: &ResultChanges| {
        let inline = changes.inline.iter();
        let inline =
            inline.map(|(digest, bytes)| (*digest, ChangedContent::Inline(bytes.clone().into())));
        let uploaded = uploaded.iter();
        let uploaded = uploaded.map(|(digest, slot)| (*digest, ChangedContent::Uploaded(*slot)));
        FileChanges {
            changed: changes.changed.clone(),
            removed: changes.removed.clone(),
            files_digest: changes.files_digest,
            contents: inline.chain(uploaded).collect(),
            omitted: changes.omitted,
        }
    };
    WorkerReply::Ended(Box::new(ExecEnded {
        report: result.report.clone(),
        changes: result.changes.as_ref().map(changes),
        timings: result.timings,
    }))
}

fn failed(why: &str) -> RemoteError {
    tracing::warn!(why, "a result cannot be uploaded");
    let message = format!("the files that the command changed cannot be stored: {why}");
    RemoteError::new(RemoteError::UPLOAD_FAILED, message)
}
