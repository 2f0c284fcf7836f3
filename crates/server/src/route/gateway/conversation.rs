//! Stored conversations of Responses clients.
//!
//! An upstream that supports Responses stores its responses itself: its ids pass unchanged.
//! For every other, items are stored here and prepended to the next request that names them:
//! in `previous_response_id`, in `conversation`, or item by item.
//!
//! | module | owns |
//! |---|---|
//! | `references`, `compaction` | input items that stand for others |
//! | `lookup` | the conversation named in `conversation` |
//! | `items` | items in their stored and sent forms |
//! | `recorder`, `chat` | storing a response |
//! | `passthrough`, `final_response` | storing responses that pass unchanged |
//! | `errors`, `input_shift` | errors in OpenAI's wording; field paths as the client sent them |

mod chat;
pub(super) mod compaction;
mod errors;
mod final_response;
mod input_shift;
pub(super) mod items;
mod lookup;
mod passthrough;
mod recorder;
mod references;

use std::collections::HashMap;

use bytes::Bytes;
use prowess_provider::{ClientRequest, ModelTask, Route, Target};
use prowess_store::{ConversationRecord, Error as StoreError};
use prowess_wire::ClientDialect;
use prowess_wire::raw::Edit;
use serde_json::Value;

pub(super) use final_response::FinalResponse;
pub(super) use passthrough::record_passthrough;
pub(crate) use recorder::{AnswerRecorder, StoredRecorder};

pub(super) use self::input_shift::InputShift;
use super::error::GatewayError;
use super::request_memory::RequestMemory;
use crate::app::App;
use crate::auth::Principal;
use crate::error::HttpError;
use recorder::{ResponseRecorder, ResponseSlot};

/// Maximum bytes of a stored conversation.
const MAX_HISTORY_BYTES: usize = 16 << 20;

/// A request as sent to the model, and how its response is stored.
type PreparedRequest = (Bytes, Option<AnswerRecorder>);

/// Loads what a request continues from, and counts it. Returns the request as sent to the model;
/// none when it can pass unchanged. The response of a run is stored here, whatever dialect its
/// model uses.
pub(super) async fn prepare(
    app: &App,
    principal: &Principal,
    incoming: &ClientRequest<'_>,
    route: &Route,
    needs_run: bool,
    memory: &mut RequestMemory<'_>,
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
            // Boxed: most requests do not need it.
            if request.can_pass_unchanged() {
                Ok(None)
            } else {
                Box::pin(request.prepare(memory)).await
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

/// The items before a request, and where they are stored.
#[derive(Default)]
struct History {
    items: Vec<Value>,
    /// Whether the response that the request names is stored here.
    previous: bool,
    /// The conversation of the request, if it is stored here.
    conversation: Option<ConversationRecord>,
}

/// The items of the request itself.
struct ResolvedInput {
    items: Vec<Value>,
    /// Whether they differ from those sent.
    changed: bool,
}

impl ResponsesRequest<'_> {
    fn speaks(&self, target: &Target) -> bool {
        target.supports_pass_through(self.incoming.client, self.incoming.task)
    }

    /// Whether the upstream stores the response itself.
    fn is_native(&self) -> bool {
        !self.needs_run
            && self
                .route
                .targets()
                .iter()
                .all(|target| self.speaks(target))
    }

    /// Whether any of its upstreams may store what is not stored here.
    fn any_stores(&self) -> bool {
        self.route
            .targets()
            .iter()
            .any(|target| self.speaks(target))
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.incoming.raw.get(name).filter(|value| *value != "null")
    }

    /// Whether it names nothing stored here, and nothing of it is stored here.
    fn can_pass_unchanged(&self) -> bool {
        let input = self.incoming.raw.get("input");
        self.is_native()
            && self.field("previous_response_id").is_none()
            && self.field("conversation").is_none()
            && !compaction::may_contain(input)
            && references::find_references(input).is_empty()
    }

    async fn prepare(
        self,
        memory: &mut RequestMemory<'_>,
    ) -> Result<Option<PreparedRequest>, GatewayError> {
        let native = self.is_native();
        let history = self.load_history(native, memory).await?;
        let input = self.resolve_input(memory).await?;
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
        // Earlier items may contain them as well.
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
        if !self.any_stores() {
            // The response is stored here; the upstream has no such field, or means another.
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

    /// Loads the earlier items, if they are stored here.
    async fn load_history(
        &self,
        native: bool,
        memory: &mut RequestMemory<'_>,
    ) -> Result<History, GatewayError> {
        let raw = self.incoming.raw;
        let previous = raw.get_str("previous_response_id");
        let conversation = lookup::parse_id(raw.get("conversation"))?;
        let (store, tenant) = (self.app.store(), &self.principal.tenant);
        if previous.is_none() && conversation.is_none() {
            return Ok(History::default());
        }
        // What is read is counted before another request of the tenant reads more.
        let _permit = self.app.transfers().acquire_stored_read(tenant).await?;
        match (previous, conversation) {
            (None, None) => Ok(History::default()),
            (Some(_), Some(_)) => Err(errors::mutually_exclusive()),
            (Some(id), None) => match store.load_response(tenant, &id).await {
                Ok(record) => {
                    let texts = [record.conversation.as_str(), record.response.as_str()];
                    memory.count(texts).await?;
                    Ok(History {
                        items: items::conversation_items(&record)
                            .map_err(|error| errors::malformed_record(&error))?,
                        previous: true,
                        conversation: None,
                    })
                }
                Err(StoreError::NotFound { .. } | StoreError::NulInText) if native => {
                    Ok(History::default())
                }
                Err(StoreError::NotFound { .. } | StoreError::NulInText) => {
                    Err(errors::previous_not_found(&id, self.any_stores()))
                }
                Err(error) => Err(HttpError::from(error).into()),
            },
            (None, Some(id)) => match lookup::load(store, tenant, &id, memory).await? {
                Some((record, items)) => Ok(History {
                    items,
                    previous: false,
                    conversation: Some(record),
                }),
                None if native => Ok(History::default()),
                None => Err(errors::conversation_not_found(&id, self.any_stores())),
            },
        }
    }

    /// The items of the request itself, with references resolved.
    async fn resolve_input(
        &self,
        memory: &mut RequestMemory<'_>,
    ) -> Result<ResolvedInput, GatewayError> {
        let input = self.incoming.raw.get("input");
        let references = references::find_references(input);
        let (store, tenant) = (self.app.store(), &self.principal.tenant);
        let mut found = match references.is_empty() {
            true => HashMap::new(),
            false => {
                let _permit = self.app.transfers().acquire_stored_read(tenant).await?;
                references::look_up(store, tenant, &references, memory).await?
            }
        };
        // An upstream that stores responses may know other items.
        let any_stores = self.any_stores();
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
                (None, _) if !any_stores => {
                    return Err(errors::item_not_found(*index, id, stores));
                }
                _ => {}
            }
        }
        Ok(ResolvedInput { items, changed })
    }

    /// How the response is to be stored.
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
