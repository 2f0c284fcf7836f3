//! Records files that an upstream creates on its own servers, while the response that names
//! them passes.
//!
//! The bytes pass unchanged. Only chunks that name a new file wait until its tenant is stored:
//! the client may fetch the file immediately. Responses are scanned only if the request
//! offered the upstream's code execution.

use axum::body::BodyDataStream;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use memchr::memmem;
use prowess_provider::ForwardOutcome;
use prowess_store::{FileAccount, Store, TenantId};
use prowess_wire::ClientDialect;
use prowess_wire::output_files;
use prowess_wire::raw::RawObject;
use prowess_wire::sse::SseParser;

use super::observed_body::{ChunkResult, observe};
use crate::app::App;
use crate::auth::Principal;

/// Bytes of a complete response, or of one event, that are scanned.
const MAX_SCAN_BYTES: usize = 16 << 20;
/// Common part of the types of all code execution tools.
const CODE_EXECUTION_TOOL: &[u8] = b"code_execution";

/// The tenant and the provider's account of a response that is scanned.
pub(super) struct FileTracker {
    store: Store,
    tenant: TenantId,
    account: FileAccount,
}

impl FileTracker {
    /// A tracker for a response that may name files.
    pub(super) fn for_answer(
        app: &App,
        principal: &Principal,
        client: ClientDialect,
        raw: &RawObject<'_>,
        forwarded: &ForwardOutcome,
    ) -> Option<Box<FileTracker>> {
        let ForwardOutcome::PassedThrough(passed) = forwarded else {
            return None;
        };
        if client != ClientDialect::Messages || !passed.status.is_success() || !runs_code(raw) {
            return None;
        }
        let providers = app.settings().providers.as_ref()?;
        providers.has_file_storage(&passed.provider).then(|| {
            Box::new(FileTracker {
                store: app.store().clone(),
                tenant: principal.tenant.clone(),
                account: FileAccount {
                    provider: passed.provider.clone(),
                    client_key: passed.client_key,
                },
            })
        })
    }

    /// On failure the client still gets its response; only the files cannot be fetched here.
    async fn record_files(&self, ids: Vec<String>) {
        if ids.is_empty() {
            return;
        }
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let remembered = self
            .store
            .record_provider_files(&self.tenant, &self.account, &ids);
        if let Err(error) = remembered.await {
            tracing::warn!(%error, files = ids.len(), "cannot record the tenant of provider \
                files");
        }
    }
}

/// Whether a request lets the upstream run code: it offers the tool, or continues in a
/// container.
fn runs_code(raw: &RawObject<'_>) -> bool {
    let container = raw.get("container").is_some_and(|value| value != "null");
    let offered = |tools: &str| memmem::find(tools.as_bytes(), CODE_EXECUTION_TOOL).is_some();
    container || raw.get("tools").is_some_and(offered)
}

/// The response, scanned as its body passes.
pub(super) fn track_files(tracker: Option<Box<FileTracker>>, response: Response) -> Response {
    let Some(tracker) = tracker else {
        return response;
    };
    observe(response, tracker, track_events, track_whole)
}

/// Scans events.
fn track_events(
    bytes: BodyDataStream,
    tracker: Box<FileTracker>,
) -> impl Stream<Item = ChunkResult> + Send {
    let parser = Some(SseParser::new(MAX_SCAN_BYTES));
    stream::unfold(
        (bytes, parser, tracker),
        async |(mut bytes, mut parser, tracker)| {
            let chunk = bytes.next().await?;
            if let (Ok(chunk), Some(reading)) = (&chunk, &mut parser) {
                let mut events = Vec::new();
                if let Err(error) = reading.push(chunk, &mut events) {
                    tracing::warn!(%error, "cannot scan a stream for provider files");
                    parser = None;
                }
                let ids = events
                    .iter()
                    .flat_map(|event| output_files::file_ids_in_event(&event.data));
                tracker.record_files(ids.collect()).await;
            }
            Some((chunk, (bytes, parser, tracker)))
        },
    )
}

/// A response that is not a stream passes except for its last chunk, without which it is
/// useless, and is scanned before that one passes.
fn track_whole(
    bytes: BodyDataStream,
    tracker: Box<FileTracker>,
) -> impl Stream<Item = ChunkResult> + Send {
    let state = (bytes.fuse(), Some(Vec::new()), None, tracker);
    stream::unfold(state, async |(mut bytes, mut all, mut pending, watch)| {
        loop {
            match bytes.next().await {
                Some(Ok(chunk)) => {
                    append_bounded(&mut all, &chunk);
                    if let Some(before) = pending.replace(chunk) {
                        return Some((Ok(before), (bytes, all, pending, watch)));
                    }
                }
                Some(Err(error)) => return Some((Err(error), (bytes, all, None, watch))),
                None => {
                    let last = pending.take()?;
                    let all = all.take().unwrap_or_default();
                    watch
                        .record_files(output_files::file_ids_in_response(&all))
                        .await;
                    return Some((Ok(last), (bytes, None, None, watch)));
                }
            }
        }
    })
}

/// Copies what passes, unless it grows too long to be scanned.
fn append_bounded(all: &mut Option<Vec<u8>>, chunk: &Bytes) {
    if let Some(bytes) = all.as_mut() {
        bytes.extend_from_slice(chunk);
    }
    if all.take_if(|bytes| bytes.len() > MAX_SCAN_BYTES).is_some() {
        tracing::warn!("response too long to scan for provider files");
    }
}
