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
mod conversation;
pub(super) mod items;
mod kept;
mod passing;
mod references;
mod refusals;
mod shift;

use bytes::Bytes;
use prowess_provider::{Incoming, Route, Target, Task};
use prowess_store::{ConversationRecord, Error as StoreError};
use prowess_wire::Client;
use prowess_wire::raw::Edit;
use serde_json::Value;

pub(super) use kept::Kept;
pub(super) use passing::{completed, keep_passing};

pub(super) use self::shift::InputShift;
use super::failure::Failure;
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use kept::{KeptResponse, Place};

/// Bytes of a conversation that is kept.
const MAX_CONVERSATION: usize = 16 << 20;

/// A request as the model is to get it, and how its answer is kept.
type Prepared = (Bytes, Option<Kept>);

/// Looks up what a request goes on from. Gives the request as the model is to get it;
/// nothing when it can go as it is. The answer of a run is ours, whatever its model
/// speaks.
pub(super) async fn prepare(
    app: &App,
    caller: &Caller,
    incoming: &Incoming<'_>,
    route: &Route,
    runs: bool,
) -> Result<Option<Prepared>, Failure> {
    match incoming.client {
        Client::Messages | Client::Gemini => Ok(None),
        Client::Chat => chat::prepare(app, caller, incoming, route),
        Client::Responses => {
            let asked = Asked {
                app,
                caller,
                incoming,
                route,
                runs,
            };
            // Most requests need no room for it.
            match asked.may_go_as_it_is() {
                true => Ok(None),
                false => Box::pin(asked.prepare()).await,
            }
        }
    }
}

/// A request of a Responses client.
struct Asked<'a> {
    app: &'a App,
    caller: &'a Caller,
    incoming: &'a Incoming<'a>,
    route: &'a Route,
    runs: bool,
}

/// What was said before a request, and where that is kept.
#[derive(Default)]
struct Before {
    items: Vec<Value>,
    /// Whether the answer that the request names is kept here.
    previous: bool,
    /// The conversation that the request belongs to, if it is kept here.
    conversation: Option<ConversationRecord>,
}

/// The items of a request itself.
struct Input {
    items: Vec<Value>,
    /// Whether they are others than those that came.
    changed: bool,
}

impl Asked<'_> {
    fn speaks(&self, target: &Target) -> bool {
        target.speaks(self.incoming.client, self.incoming.task)
    }

    /// Whether the upstream keeps the answer itself.
    fn is_native(&self) -> bool {
        !self.runs
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
    fn may_go_as_it_is(&self) -> bool {
        let input = self.incoming.raw.get("input");
        self.is_native()
            && self.field("previous_response_id").is_none()
            && self.field("conversation").is_none()
            && !compaction::may_be_in(input)
            && references::find(input).is_empty()
    }

    async fn prepare(self) -> Result<Option<Prepared>, Failure> {
        let native = self.is_native();
        let before = self.before(native).await?;
        let input = self.input().await?;
        if native && !before.previous && before.conversation.is_none() && !input.changed {
            return Ok(None);
        }
        if let Some(record) = &before.conversation
            && self.incoming.task == Task::Generate
        {
            conversation::check_room(record, &input.items)?;
        }
        let mut said = before.items;
        let old = said.len();
        said.extend(input.items);
        let mut sent = items::sendable(&said);
        if native {
            items::without_foreign_thoughts(&mut sent);
        }
        // Also in what was said before.
        compaction::open_all(&mut sent)?;
        let sent = Value::Array(sent).to_string();
        if sent.len() > MAX_CONVERSATION {
            return Err(refusals::too_long());
        }
        let mut edits = Vec::new();
        if before.previous || !native {
            edits.push(Edit::Remove("previous_response_id"));
        }
        if before.conversation.is_some() || !native {
            edits.push(Edit::Remove("conversation"));
        }
        if old > 0 || input.changed {
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
        let body = self.incoming.raw.edited(&edits).into();
        let shift = InputShift::new(old, (old > 0 || input.changed).then_some(self.incoming.raw));
        let conversation = before.conversation.map(|record| record.id);
        let kept = self.kept(native, said, old, conversation, shift);
        Ok(Some((body, kept)))
    }

    /// What was said before, where that is kept here.
    async fn before(&self, native: bool) -> Result<Before, Failure> {
        let raw = self.incoming.raw;
        let previous = raw.get_str("previous_response_id");
        let conversation = conversation::named(raw.get("conversation"))?;
        let (store, tenant) = (self.app.store(), &self.caller.tenant);
        match (previous, conversation) {
            (None, None) => Ok(Before::default()),
            (Some(_), Some(_)) => Err(refusals::mutually_exclusive()),
            (Some(id), None) => match store.load_response(tenant, &id).await {
                Ok(record) => Ok(Before {
                    items: items::said(&record).map_err(|error| refusals::malformed(&error))?,
                    previous: true,
                    conversation: None,
                }),
                Err(StoreError::NotFound { .. } | StoreError::Nul) if native => {
                    Ok(Before::default())
                }
                Err(StoreError::NotFound { .. } | StoreError::Nul) => {
                    Err(refusals::previous_not_found(&id))
                }
                Err(error) => Err(ApiError::from(error).into()),
            },
            (None, Some(id)) => match conversation::load(store, tenant, &id).await? {
                Some((record, items)) => Ok(Before {
                    items,
                    previous: false,
                    conversation: Some(record),
                }),
                None if native => Ok(Before::default()),
                None => Err(refusals::conversation_not_found(&id)),
            },
        }
    }

    /// The items of the request itself, with those that it refers to.
    async fn input(&self) -> Result<Input, Failure> {
        let input = self.incoming.raw.get("input");
        let references = references::find(input);
        let (store, tenant) = (self.app.store(), &self.caller.tenant);
        let mut found = references::look_up(store, tenant, &references).await?;
        // An upstream that keeps answers may know what we do not.
        let any_speaks = self
            .route
            .targets()
            .iter()
            .any(|target| self.speaks(target));
        let stores = self.incoming.raw.get("store") != Some("false");
        let mut items = items::input(input)?;
        let mut changed = compaction::is_among(&items);
        for (index, id) in &references {
            let item = found.get_mut(id);
            match (item, items.get_mut(*index)) {
                (Some(item), Some(place)) => {
                    *place = item.clone();
                    changed = true;
                }
                (None, _) if !any_speaks => {
                    return Err(refusals::item_not_found(*index, id, stores));
                }
                _ => {}
            }
        }
        Ok(Input { items, changed })
    }

    /// How the answer is to be kept.
    fn kept(
        &self,
        native: bool,
        said: Vec<Value>,
        old: usize,
        conversation: Option<String>,
        shift: InputShift,
    ) -> Option<Kept> {
        if self.incoming.task != Task::Generate {
            return None;
        }
        let raw = self.incoming.raw;
        let stores = !native && raw.get("store") != Some("false");
        let input = match conversation {
            Some(_) => said.get(old..).unwrap_or_default().to_vec(),
            None => Vec::new(),
        };
        let place = stores.then(|| Place {
            id: items::new_id("resp"),
            conversation: Value::Array(said).to_string(),
        });
        Some(Kept::Response(Box::new(KeptResponse {
            store: self.app.store().clone(),
            tenant: self.caller.tenant.clone(),
            previous: raw.get_str("previous_response_id"),
            conversation,
            input,
            shift,
            place,
            expires_in: self.app.settings().responses_kept,
        })))
    }
}
