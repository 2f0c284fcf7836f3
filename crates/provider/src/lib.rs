//! All outbound traffic to model APIs.
//!
//! [`Providers`] is the entry point: it holds all configured providers and models, and the
//! well-known providers whose key variable is set. A model name resolves to a [`Route`],
//! which can be called in two ways:
//!
//! - [`Route::forward`] takes a client's bytes. An upstream of the client's dialect gets
//!   them unchanged, except for model name and credentials, and the client gets its
//!   response unchanged. Any other upstream is called in translation.
//! - [`Route::call`] takes a neutral request and returns a neutral response, complete or
//!   as a stream of events.
//!
//! Both wait for a permit if the model has a concurrency limit, check the circuit breaker,
//! retry before the first byte of a response (never after), and try the route's other
//! models when one fails. Dropping the future or the stream cancels the upstream's work.
//! Keys are never printed.
//!
//! # Layout
//!
//! | module | owns |
//! |---|---|
//! | `providers`, `provider` | the entry point; one configured provider |
//! | [`config`] | the configuration; each kind validates its own |
//! | `routing_table`, `well_known`, `suggest` | from a name to its route; suggestions for misspelled names |
//! | `planned_route`, `deployments` | the same where there is a choice: deployments of one model, cooldowns, fallbacks by kind of failure |
//! | `route`, `target` | the models of a route, tried in order; one model of a provider |
//! | [`kinds`], `descriptor` | one file per kind of provider; what such a file says |
//! | `upstream` | what every kind does for a call: path, headers, credentials, dialect |
//! | `client_request`, `credentials` | a client's request; its own key and headers |
//! | `client_key`, `call_credentials` | which provider may get a client's own key; what one call has of it |
//! | `call`, `pass_through`, `events` | the two ways to call |
//! | `stream_start` | what a stream that is passed through begins with |
//! | `exchange` | one request to a provider, and its error responses |
//! | `count`, `embed`, `models` | token counts; embeddings; lists of models |
//! | `output_limit` | the limit of a response whose request names none |
//! | `provider_files` | files that a provider's servers create and store |
//! | `anthropic_skills` | Anthropic's skills API |
//! | `model_slot`, `limiter`, `breaker`, `retry` | concurrency limits, circuit breaker, retries |
//! | `health` | what is known of recent calls |
//! | `cloud_auth` | credentials of AWS, Google and Azure, from `prowess-cloud` |
//! | `key`, `env`, `small_file` | keys and tokens, and where they are read from |
//! | `masked_key` | keys that an upstream repeats in part |
//! | `endpoints` | endpoints besides conversations, and any path of a provider |
//! | [`known_models`] | facts of models that need no configuration: prices, limits, features |
//! | `http` | the HTTP client and its bodies |
//! | `error`, `route_error` | why a call failed; why a name matches no model |
//! | [`scripted`] | a scripted model |
//!
//! Dialects are parsed and written by `prowess-wire`; runs with skills are the task of
//! `prowess-engine`.

mod anthropic_skills;
mod breaker;
mod call;
mod call_credentials;
mod client_key;
mod client_request;
mod cloud_auth;
pub mod config;
mod count;
mod credentials;
mod deployments;
mod descriptor;
mod embed;
mod endpoints;
mod env;
mod error;
mod events;
mod exchange;
mod health;
mod http;
mod key;
pub mod kinds;
pub mod known_models;
mod limiter;
mod masked_key;
mod model_slot;
mod models;
mod output_limit;
mod pass_through;
mod planned_route;
mod provider;
mod provider_files;
mod providers;
mod retry;
mod route;
mod route_error;
mod routing_table;
pub mod scripted;
mod small_file;
mod stream_start;
mod suggest;
mod target;
mod upstream;
mod well_known;

pub use crate::anthropic_skills::{
    AnthropicAccount, AnthropicSkills, SkillUpload, SkillUploadFile, SkillsPath, SkillsRequest,
    SkillsResponse,
};
pub use crate::call::{CallFailure, ModelOutput, UpstreamReply};
pub use crate::client_request::ClientRequest;
pub use crate::count::InputTokenCount;
pub use crate::credentials::ClientCredentials;
pub use crate::deployments::{FailureCode, RouteDecision, RouteReason};
pub use crate::embed::EmbeddingReply;
pub use crate::endpoints::{EndpointBody, EndpointRequest, EndpointResponse, ProviderPathRequest};
pub use crate::env::Env;
pub use crate::error::CallError;
pub use crate::events::EventStream;
pub use crate::health::{
    BreakerPosition, DeploymentHealth, LastCallError, ProviderHealth, TargetHealth,
};
pub use crate::http::{ByteStream, is_event_stream};
pub use crate::key::{KeyError, KeySource, SecretText};
pub use crate::models::{ModelEntry, UpstreamModel};
pub use crate::pass_through::PassThroughResponse;
pub use crate::provider_files::ProviderFileResponse;
pub use crate::providers::Providers;
pub use crate::route::{ForwardOutcome, Route};
pub use crate::route_error::RouteError;
pub use crate::routing_table::{
    BreakerExplanation, DeploymentExplanation, DialectExplanation, FallbackExplanation,
    LimitExplanation, RouteExplanation, TimeoutExplanation,
};
pub use crate::target::Target;
pub use crate::upstream::{ModelTask, ProviderFileOperation};
