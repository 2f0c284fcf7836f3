//! Endpoints besides conversations and embeddings, passed on in their provider's own format:
//! images, audio, moderations, reranking, completions, and any path of a provider's API.
//!
//! Nothing is translated. A request with a model goes to the targets of its route
//! ([`crate::Route::forward_endpoint`]); the model's name in it and the credentials are replaced,
//! all else is passed on as it arrives. A request to a path of a provider
//! ([`crate::Providers::forward_path`]) changes only its credentials.
//!
//! | module | owns |
//! |---|---|
//! | `request` | the request, and its body with another model in it |
//! | `response` | the response |
//! | `address` | the URL of an endpoint, and of a path |
//! | `forward` | a request to the targets of a route |
//! | `path` | a request to a path of a provider |
//! | `sized_body` | a body that is sent as it arrives |

mod address;
mod forward;
mod path;
mod request;
mod response;
mod sized_body;

pub use request::{EndpointBody, EndpointRequest, ProviderPathRequest};
pub use response::EndpointResponse;
