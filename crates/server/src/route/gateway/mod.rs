//! The model gateway: four client dialects, every provider.
//!
//! All calls to models are handled by [`forward`], which parses a request only as far as needed
//! to find its model. The dialects are defined in `prowess-wire`; nothing here parses a message.
//!
//! | step | module |
//! |---|---|
//! | the endpoint of a path | [`endpoint`] |
//! | the way of a request, from its head to its response | [`forward`] |
//! | its principal, model and options | [`request`] |
//! | memory that counts for its tenant | `request_memory` |
//! | rate limit, budget, and the route to the model | `admit` |
//! | stored conversations that it continues | [`conversation`] |
//! | a run of the engine, if it needs one | [`run`] |
//! | a run that goes on without its client | `keep_run` |
//! | compaction of a conversation by a model that has no such call | `compact`, `transcript`, `model_text` |
//! | the response: unchanged or translated | [`client_reply`], [`reply`] |
//! | embeddings of upstreams without OpenAI's API | `embeddings` |
//! | bodies that pass unchanged | [`sse_passthrough`], [`usage_scan`], `observed_body` |
//! | bodies that are translated | [`sse_translate`], `unsupported_fields` |
//! | endpoints besides conversations, and paths of providers | [`endpoints`] |
//! | files that an upstream stores, by tenant | [`file_tracking`] |
//! | errors | `error` |
//!
//! What clients of OpenAI's API store here is served by [`responses`], [`conversations`] and
//! [`chats`] (`list_query`); [`socket`] takes calls over a WebSocket. `clock`
//! is the time.

mod admit;
mod chats;
mod client_reply;
mod clock;
mod compact;
mod conversation;
mod conversations;
mod embeddings;
mod endpoint;
mod endpoints;
mod error;
mod file_tracking;
mod forward;
mod keep_run;
mod list_query;
mod model_text;
mod observed_body;
mod reply;
mod request;
mod request_memory;
mod responses;
mod run;
pub(crate) mod socket;
mod sse_passthrough;
mod sse_translate;
mod transcript;
mod unsupported_fields;
mod usage_scan;

pub(crate) use admit::resolve_route;
pub(super) use chats::ROUTES as CHAT_ROUTES;
pub(crate) use clock::unix_now;
pub(crate) use conversation::{AnswerRecorder, StoredRecorder};
pub(super) use conversations::ROUTES as CONVERSATION_ROUTES;
pub(crate) use endpoint::Endpoint;
pub(super) use endpoints::ROUTES as ENDPOINT_ROUTES;
pub(super) use error::GatewayError;
pub(crate) use forward::forward;
pub(super) use request::{PROVIDER_KEY_HEADER, client_credentials};
pub(super) use responses::ROUTES as RESPONSE_ROUTES;
pub(super) use socket::ROUTES as SOCKET_ROUTES;
pub(crate) use unsupported_fields::UnsupportedFields;
