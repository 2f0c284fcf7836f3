//! Conversations of Responses clients that are kept here.
//!
//! An upstream that speaks Responses keeps its answers itself: its ids pass untouched.
//! For every other, what was said is kept in our store, and put before the next request
//! that names it: in `previous_response_id`, in `conversation`, or item by item.
//!
//! | module | owns |
//! |---|---|
//! | `references`, `compaction` | items of an input that stand for others |
//! | `conversation` | what `conversation` names |
//! | `items` | items in the forms in which they are kept and sent |
//! | `kept`, `chat` | what is kept of an answer |
//! | `passing` | answers that pass as they came, and are kept all the same |
//! | `refusals` | what is said when something is not there |

mod chat;
pub(super) mod compaction;
mod errors;
mod input_shift;
pub(super) mod items;
mod lookup;
mod passthrough;
mod recorder;
mod references;

use bytes::Bytes;
use prowess_provider::{ClientRequest, ModelTask, Route, Target};
use prowess_store::{ConversationRecord, Error as StoreError};
use prowess_wire::ClientDialect;
use prowess_wire::raw::Edit;
use serde_json::Value;

pub(super) use passthrough::{completed_response, record_passthrough};
pub(super) use recorder::AnswerRecorder;

pub(super) use self::input_shift::InputShift;
use super::error::GatewayError;
use crate::app::App;
use crate::auth::Principal;
use crate::error::HttpError;
use recorder::{ResponseRecorder, ResponseSlot};

/// Bytes of a conversation that is kept.
const MAX_HISTORY_BYTES: usize = 16 << 20;

/// A request as the model is to get it, and how its answer is kept.
type PreparedRequest = (Bytes, Option<AnswerRecorder>);

/// Looks up what a request goes on from. Gives the request as the model is to get it;
/// nothing when it can go as it is. The answer of a run is ours, whatever its model
/// speaks.
pub(super) async fn prepare(
    app: &App,
    principal: &Principal,
    incoming: &ClientRequest<'_>,
    route: &Route,
    needs_run: bool,
) -> Result<Option<PreparedRequest>, GatewayError> {
    match incoming.client {
        ClientDialect::Messages | ClientDialect::Gemini => Ok(None),
        ClientDialect::Chat => chat::prepare(app, principal, incoming, route),
        ClientDialect::Responses => {
            let request = ResponsesRequest {
                app,
                principal,
                incoming,
                route,
                needs_run,
            };
            // Most requests need no room for it.
            match request.can_pass_unchanged() {
                true => Ok(None),
                false => Box::pin(request.prepare()).await,
            }
        }
    }
}

/// A request of a Responses client.
struct ResponsesRequest<'a> {
    app: &'a App,
    principal: &'a Principal,
    incoming: &'a ClientRequest<'a>,
    route: &'a Route,
    needs_run: bool,
}

/// What was said before a request, and where that is kept.
#[derive(Default)]
struct History {
    items: Vec<Value>,
    /// Whether the answer that the request names is kept here.
    previous: bool,
    /// The conversation that the request belongs to, if it is kept here.
    conversation: Option<ConversationRecord>,
}

/// The items of a request itself.
struct ResolvedInput {
    items: Vec<Value>,
    /// Whether they are others than those that came.
    changed: bool,
}

impl ResponsesRequest<'_> {
    fn speaks(&self, target: &Target) -> bool {
        target.supports_pass_through(self.incoming.client, self.incoming.task)
    }

    /// Whether the upstream keeps the answer itself.
    fn is_native(&self) -> bool {
        !self.needs_run
            && self
                .route
                .targets()
                .iter()
                .all(|target| self.speaks(target))
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.incoming.raw.get(name).filter(|value| *value != "null")
    }

    /// Whether nothing in it can be of ours, and nothing of it is kept here.
    fn can_pass_unchanged(&self) -> bool {
        let input = self.incoming.raw.get("input");
        self.is_native()
            && self.field("previous_response_id").is_none()
            && self.field("conversation").is_none()
            && !compaction::may_contain(input)
            && references::find_references(input).is_empty()
    }

    async fn prepare(self) -> Result<Option<PreparedRequest>, GatewayError> {
        let native = self.is_native();
        let history = self.load_history(native).await?;
        let input = self.resolve_input().await?;
        if native && !history.previous && history.conversation.is_none() && !input.changed {
            return Ok(None);
        }
        if let Some(record) = &history.conversation
            && self.incoming.task == ModelTask::Generate
        {
            lookup::check_capacity(record, &input.items)?;
        }
        let mut all_items = history.items;
        let history_len = all_items.len();
        all_items.extend(input.items);
        let mut sent = items::upstream_items(&all_items);
        if native {
            items::remove_foreign_reasoning(&mut sent);
        }
        // Also in what was said before.
        compaction::expand_all(&mut sent)?;
        let sent = Value::Array(sent).to_string();
        if sent.len() > MAX_HISTORY_BYTES {
            return Err(errors::too_long());
        }
        let mut edits = Vec::new();
        if history.previous || !native {
            edits.push(Edit::Remove("previous_response_id"));
        }
        if history.conversation.is_some() || !native {
            edits.push(Edit::Remove("conversation"));
        }
        if history_len > 0 || input.changed {
            edits.push(Edit::Set("input", &sent));
        }
        if !self
            .route
            .targets()
            .iter()
            .any(|target| self.speaks(target))
        {
            // It is we who keep it; the upstream has no such thing, or means another.
            edits.push(Edit::Remove("store"));
        }
        let body = self.incoming.raw.with_edits(&edits).into();
        let shift = InputShift::new(
            history_len,
            (history_len > 0 || input.changed).then_some(self.incoming.raw),
        );
        let conversation = history.conversation.map(|record| record.id);
        let recorder = self.recorder(native, all_items, history_len, conversation, shift);
        Ok(Some((body, recorder)))
    }

    /// What was said before, where that is kept here.
    async fn load_history(&self, native: bool) -> Result<History, GatewayError> {
        let raw = self.incoming.raw;
        let previous = raw.get_str("previous_response_id");
        let conversation = lookup::parse_id(raw.get("conversation"))?;
        let (store, tenant) = (self.app.store(), &self.principal.tenant);
        match (previous, conversation) {
            (None, None) => Ok(History::default()),
            (Some(_), Some(_)) => Err(errors::mutually_exclusive()),
            (Some(id), None) => match store.load_response(tenant, &id).await {
                Ok(record) => Ok(History {
                    items: items::conversation_items(&record)
                        .map_err(|error| errors::malformed_record(&error))?,
                    previous: true,
                    conversation: None,
                }),
                Err(StoreError::NotFound { .. } | StoreError::NulInText) if native => {
                    Ok(History::default())
                }
                Err(StoreError::NotFound { .. } | StoreError::NulInText) => {
                    Err(errors::previous_not_found(&id))
                }
                Err(error) => Err(HttpError::from(error).into()),
            },
            (None, Some(id)) => match lookup::load(store, tenant, &id).await? {
                Some((record, items)) => Ok(History {
                    items,
                    previous: false,
                    conversation: Some(record),
                }),
                None if native => Ok(History::default()),
                None => Err(errors::conversation_not_found(&id)),
            },
        }
    }

    /// The items of the request itself, with those that it refers to.
    async fn resolve_input(&self) -> Result<ResolvedInput, GatewayError> {
        let input = self.incoming.raw.get("input");
        let references = references::find_references(input);
        let (store, tenant) = (self.app.store(), &self.principal.tenant);
        let mut found = references::look_up(store, tenant, &references).await?;
        // An upstream that keeps answers may know what we do not.
        let any_speaks = self
            .route
            .targets()
            .iter()
            .any(|target| self.speaks(target));
        let stores = self.incoming.raw.get("store") != Some("false");
        let mut items = items::parse_input(input)?;
        let mut changed = compaction::has_own_items(&items);
        for (index, id) in &references {
            let item = found.get_mut(id);
            match (item, items.get_mut(*index)) {
                (Some(item), Some(place)) => {
                    *place = item.clone();
                    changed = true;
                }
                (None, _) if !any_speaks => {
                    return Err(errors::item_not_found(*index, id, stores));
                }
                _ => {}
            }
        }
        Ok(ResolvedInput { items, changed })
    }

    /// How the answer is to be kept.
    fn recorder(
        &self,
        native: bool,
        all_items: Vec<Value>,
        history_len: usize,
        conversation: Option<String>,
        shift: InputShift,
    ) -> Option<AnswerRecorder> {
        if self.incoming.task != ModelTask::Generate {
            return None;
        }
        let raw = self.incoming.raw;
        let stores = !native && raw.get("store") != Some("false");
        let input = match conversation {
            Some(_) => all_items.get(history_len..).unwrap_or_default().to_vec(),
            None => Vec::new(),
        };
        let slot = stores.then(|| ResponseSlot {
            id: items::new_id("resp"),
            conversation: Value::Array(all_items).to_string(),
        });
        Some(AnswerRecorder::Response(Box::new(ResponseRecorder {
            store: self.app.store().clone(),
            tenant: self.principal.tenant.clone(),
            previous: raw.get_str("previous_response_id"),
            conversation,
            input,
            shift,
            slot,
            expires_in: self.app.settings().response_retention,
        })))
    }
}
