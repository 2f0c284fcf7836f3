//! The only outbound model traffic.
//!
//! [`Providers`] is the one door: it knows all configured providers and models, and
//! those that need no configuration because their usual key variable is set. A name
//! leads to a [`Route`]; a route is called in one of two ways:
//!
//! - [`Route::forward`] takes a client's bytes. An upstream of the client's own dialect
//!   gets them as they are, but for model name and auth, and so does the client its
//!   answer. Any other is called in translation.
//! - [`Route::call`] takes a neutral request and gives a neutral answer, whole or as a
//!   stream of events.
//!
//! Both wait for a place where a model's places are counted, ask a circuit breaker, try
//! again before the first byte of an answer (never after), and turn to the route's other
//! models when one fails. Whoever drops the future or the stream ends the upstream's
//! work. Keys are never printed.
//!
//! # Layout
//!
//! | module | owns |
//! |---|---|
//! | [`config`] | what can be configured; `upstream/build` checks it |
//! | `table`, `usual`, `route` | from a name to models, in order |
//! | `upstream` | one file per kind of provider: path, headers, auth, dialect |
//! | `call`, `pass`, `events` | the two ways to call |
//! | `count` | how many tokens a request has |
//! | `held` | files that a provider's servers made and keep |
//! | `lane`, `limit`, `breaker`, `retry` | patience |
//! | `key`, `google` | keys and tokens |
//! | `http` | the client and its bodies |
//! | [`scripted`] | a model that follows a script |
//!
//! What bytes mean is for `prowess-wire`; what runs a conversation is for others.

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
