//! Conversations of Responses clients that are kept here.
//!
//! An upstream that speaks Responses keeps its answers itself: its ids pass untouched.
//! For every other, what was said is kept in our store, and put before the next request
//! that names it in `previous_response_id`.

mod before;
mod items;

use std::time::Duration;

use bytes::Bytes;
use prowess_provider::{Incoming, Route, Task};
use prowess_store::{Error as StoreError, NewResponse, Store, TenantId};
use prowess_wire::neutral::{ApiError as NeutralError, ErrorKind};
use prowess_wire::raw::Edit;
use prowess_wire::{Client, ReplyContext, excerpt};
use serde_json::{Value, json};

pub(super) use self::before::Before;
use super::failure::Failure;
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::limits::Refusal;

/// Bytes of a conversation that is kept.
const MAX_CONVERSATION: usize = 16 << 20;

/// How an answer belongs to a conversation.
pub(super) struct Kept {
    previous: Option<String>,
    before: Before,
    /// Where to keep it; nothing when it is not to be kept.
    place: Option<Place>,
}

struct Place {
    store: Store,
    tenant: TenantId,
    id: String,
    /// All that was said before the answer.
    conversation: String,
    expires_in: Duration,
}

/// Looks up what a request goes on from. Gives the request as the model is to get it;
/// nothing when it can go as it is. The answer of a run is ours, whatever its model
/// speaks.
pub(super) async fn prepare(
    app: &App,
    caller: &Caller,
    incoming: &Incoming<'_>,
    route: &Route,
    runs: bool,
) -> Result<Option<(Bytes, Kept)>, Failure> {
    if incoming.client != Client::Responses || incoming.task != Task::Generate {
        return Ok(None);
    }
    let speaks = |target: &prowess_provider::Target| target.speaks(incoming.client, incoming.task);
    let native = !runs && route.targets().iter().all(speaks);
    let previous = incoming.raw.get_str("previous_response_id");
    if native && previous.is_none() {
        return Ok(None);
    }
    if !native
        && incoming
            .raw
            .get("conversation")
            .is_some_and(|value| value != "null")
    {
        return Err(no_conversations(route));
    }
    let mut said = match &previous {
        None => Vec::new(),
        Some(id) => match app.store().load_response(&caller.tenant, id).await {
            Ok(record) => items::said(&record).map_err(|error| broken(&error))?,
            Err(StoreError::NotFound { .. }) if native => return Ok(None),
            Err(StoreError::NotFound { .. }) => return Err(not_found(id)),
            Err(error) => return Err(ApiError::from(error).into()),
        },
    };
    let before = Before::new(said.len(), previous.is_some().then_some(incoming.raw));
    said.extend(items::input(incoming.raw.get("input"))?);
    let conversation = Value::Array(items::sendable(&said)).to_string();
    if conversation.len() > MAX_CONVERSATION {
        return Err(too_long());
    }
    let store = incoming.raw.get("store") != Some("false");
    let mut edits = vec![Edit::Remove("previous_response_id")];
    if previous.is_some() {
        edits.push(Edit::Set("input", &conversation));
    }
    if !route.targets().iter().any(speaks) {
        // It is we who keep it; the upstream has no such thing, or means another.
        edits.push(Edit::Remove("store"));
    }
    let body = incoming.raw.edited(&edits).into();
    let place = (store && !native).then(|| Place {
        store: app.store().clone(),
        tenant: caller.tenant.clone(),
        id: items::new_id("resp"),
        conversation: Value::Array(said).to_string(),
        expires_in: app.settings().responses_kept,
    });
    let kept = Kept {
        previous,
        before,
        place,
    };
    Ok(Some((body, kept)))
}

impl Kept {
    /// What was put before the client's input.
    pub(super) fn before(&self) -> Before {
        self.before
    }

    /// Has the answer say how it belongs to its conversation.
    pub(super) fn adjust(&self, context: &mut ReplyContext) {
        context.repeat("store", self.place.is_some().into());
        context.repeat("previous_response_id", json!(self.previous));
        if let Some(place) = &self.place {
            context.id = Some(place.id.clone());
            context.keep_response = true;
        }
    }

    /// Keeps the answer. If that fails the client has its answer all the same; it just
    /// cannot be gone on from.
    pub(super) async fn save(self, response: &Value) {
        let Some(place) = self.place else {
            return;
        };
        let response = response.to_string();
        if place.conversation.len().saturating_add(response.len()) > 2 * MAX_CONVERSATION {
            tracing::warn!(id = place.id, "an answer is too long to be kept");
            return;
        }
        let new = NewResponse {
            id: &place.id,
            conversation: &place.conversation,
            response: &response,
            expires_in: place.expires_in,
        };
        if let Err(error) = place.store.save_response(&place.tenant, &new).await {
            tracing::warn!(id = place.id, %error, "cannot keep an answer");
        }
    }
}

/// As OpenAI says it.
fn not_found(id: &str) -> Failure {
    refused(
        "previous_response_not_found",
        Some("previous_response_id"),
        format!("Previous response with id '{}' not found.", excerpt(id)),
    )
}

fn no_conversations(route: &Route) -> Failure {
    let message = format!(
        "conversation: the provider of model `{}` has no conversations of its own, and none are \
         kept here; send the items, or use previous_response_id",
        excerpt(route.name())
    );
    refused("unsupported_parameter", Some("conversation"), message)
}

fn too_long() -> Failure {
    let message = format!(
        "the conversation has more than {MAX_CONVERSATION} bytes, which is too much to be kept; \
         begin a new one, or send the items with store: false"
    );
    refused("conversation-too-long", Some("input"), message)
}

fn refused(code: &str, param: Option<&str>, message: String) -> Failure {
    let error = NeutralError {
        code: Some(code.to_owned()),
        param: param.map(str::to_owned),
        ..NeutralError::new(ErrorKind::InvalidRequest, message)
    };
    Refusal {
        error: Box::new(error),
        retry_after: None,
        retry: false,
    }
    .into()
}

fn broken(error: &serde_json::Error) -> Failure {
    ApiError::internal("response-malformed", error).into()
}
