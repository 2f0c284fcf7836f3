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
//! | [`config`] | the configuration; `upstream/build` validates it |
//! | `routing_table`, `well_known`, `route`, `suggest` | from a name to models, in order; suggestions for misspelled names |
//! | `upstream` | one file per kind of provider: path, headers, credentials, dialect |
//! | `call`, `pass_through`, `events` | the two ways to call |
//! | `count`, `models` | token counts; lists of models |
//! | `provider_files` | files that a provider's servers create and store |
//! | `model_slot`, `limiter`, `breaker`, `retry` | concurrency limits, circuit breaker, retries |
//! | `key`, `google_token`, `env`, `small_file` | keys and tokens, and where they are read from |
//! | `http` | the HTTP client and its bodies |
//! | `error` | why a call failed |
//! | [`scripted`] | a scripted model |
//!
//! Dialects are parsed and written by `prowess-wire`; runs with skills are the task of
//! `prowess-engine`.

mod breaker;
mod call;
pub mod config;
mod count;
mod env;
mod error;
mod events;
mod google_token;
mod http;
mod key;
mod limiter;
mod model_slot;
mod models;
mod pass_through;
mod provider;
mod provider_files;
mod providers;
mod retry;
mod route;
mod routing_table;
pub mod scripted;
mod small_file;
mod suggest;
mod upstream;
mod well_known;

pub use crate::call::{ClientCredentials, ModelOutput, UpstreamReply};
pub use crate::count::InputTokenCount;
pub use crate::env::Env;
pub use crate::error::CallError;
pub use crate::events::EventStream;
pub use crate::http::ByteStream;
pub use crate::key::{KeyError, KeySource, SecretText};
pub use crate::models::{ModelEntry, UpstreamModel};
pub use crate::pass_through::PassThroughResponse;
pub use crate::provider_files::ProviderFileResponse;
pub use crate::providers::Providers;
pub use crate::route::{ClientRequest, ForwardOutcome, Route, Target};
pub use crate::routing_table::RouteError;
pub use crate::upstream::{ModelTask, ProviderFileOperation};
