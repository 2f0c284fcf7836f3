//! Files that an upstream's own servers made, remembered while the answer that names
//! them passes.
//!
//! The bytes pass as they came. Only those that name a new file wait until it is written
//! down whose it is: their client may ask for it at once. Answers are looked through only
//! where the request offered the upstream's code execution.

use axum::body::{Body, BodyDataStream, HttpBody};
use axum::http::header::CONTENT_LENGTH;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use memchr::memmem;
use prowess_provider::Forwarded;
use prowess_store::{Store, TenantId};
use prowess_wire::Client;
use prowess_wire::made;
use prowess_wire::raw::RawObject;
use prowess_wire::sse::SseParser;

use super::answer::is_event_stream;
use crate::app::App;
use crate::auth::Caller;

/// Bytes of a whole answer, or of one event, that are looked through.
const MOST: usize = 16 << 20;
/// What the types of all tools that run code have in common.
const TOOL: &[u8] = b"code_execution";

type Piece = Result<Bytes, axum::Error>;

/// For whom an answer is looked through, and who gave it.
pub(super) struct Watch {
    store: Store,
    tenant: TenantId,
    provider: String,
}

impl Watch {
    /// A watch over an answer, if it may name files.
    pub(super) fn over(
        app: &App,
        caller: &Caller,
        client: Client,
        raw: &RawObject<'_>,
        forwarded: &Forwarded,
    ) -> Option<Box<Watch>> {
        let Forwarded::Passed(passed) = forwarded else {
            return None;
        };
        if client != Client::Messages || !passed.status.is_success() || !runs_code(raw) {
            return None;
        }
        let providers = app.settings().providers.as_ref()?;
        providers.keeps_files(&passed.provider).then(|| {
            Box::new(Watch {
                store: app.store().clone(),
                tenant: caller.tenant.clone(),
                provider: passed.provider.clone(),
            })
        })
    }

    /// If it fails the client has its answer all the same; only the files cannot be
    /// fetched here.
    async fn remember(&self, ids: Vec<String>) {
        if ids.is_empty() {
            return;
        }
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let remembered = self
            .store
            .remember_foreign_files(&self.tenant, &self.provider, &ids);
        if let Err(error) = remembered.await {
            tracing::warn!(%error, files = ids.len(), "cannot remember whose files these are");
        }
    }
}

/// Whether a request lets the upstream run code: it offers the tool, or goes on in a
/// container.
fn runs_code(raw: &RawObject<'_>) -> bool {
    let container = raw.get("container").is_some_and(|value| value != "null");
    let offered = |tools: &str| memmem::find(tools.as_bytes(), TOOL).is_some();
    container || raw.get("tools").is_some_and(offered)
}

/// The response, looked through as its body passes.
pub(super) fn seen(watch: Option<Box<Watch>>, response: Response) -> Response {
    let Some(watch) = watch else {
        return response;
    };
    let (mut head, body) = response.into_parts();
    // The same bytes will pass, though nobody can tell from a stream how many.
    if let Some(length) = body.size_hint().exact() {
        head.headers.entry(CONTENT_LENGTH).or_insert(length.into());
    }
    let events = is_event_stream(&head.headers);
    let bytes = body.into_data_stream();
    let body = match events {
        true => Body::from_stream(each_event(bytes, watch)),
        false => Body::from_stream(whole(bytes, watch)),
    };
    Response::from_parts(head, body)
}

/// Events that pass.
fn each_event(bytes: BodyDataStream, watch: Box<Watch>) -> impl Stream<Item = Piece> + Send {
    let parser = Some(SseParser::new(MOST));
    stream::unfold(
        (bytes, parser, watch),
        async |(mut bytes, mut parser, watch)| {
            let piece = bytes.next().await?;
            if let (Ok(piece), Some(reading)) = (&piece, &mut parser) {
                let mut events = Vec::new();
                if let Err(error) = reading.push(piece, &mut events) {
                    tracing::warn!(%error, "a stream is not looked through for files");
                    parser = None;
                }
                let named = events.iter().flat_map(|event| made::in_event(&event.data));
                watch.remember(named.collect()).await;
            }
            Some((piece, (bytes, parser, watch)))
        },
    )
}

/// An answer that is no stream passes up to its last piece, without which it is of no
/// use to anyone, and is looked through before that one.
fn whole(bytes: BodyDataStream, watch: Box<Watch>) -> impl Stream<Item = Piece> + Send {
    let state = (bytes.fuse(), Some(Vec::new()), None, watch);
    stream::unfold(state, async |(mut bytes, mut all, mut held, watch)| {
        loop {
            match bytes.next().await {
                Some(Ok(piece)) => {
                    keep(&mut all, &piece);
                    if let Some(before) = held.replace(piece) {
                        return Some((Ok(before), (bytes, all, held, watch)));
                    }
                }
                Some(Err(error)) => return Some((Err(error), (bytes, all, None, watch))),
                None => {
                    let last = held.take()?;
                    let all = all.take().unwrap_or_default();
                    watch.remember(made::in_answer(&all)).await;
                    return Some((Ok(last), (bytes, None, None, watch)));
                }
            }
        }
    })
}

/// Keeps a copy of what passes, unless it grows too long to be looked through.
fn keep(all: &mut Option<Vec<u8>>, piece: &Bytes) {
    if let Some(kept) = all.as_mut() {
        kept.extend_from_slice(piece);
    }
    if all.take_if(|kept| kept.len() > MOST).is_some() {
        tracing::warn!("an answer is too long to be looked through for files");
    }
}
