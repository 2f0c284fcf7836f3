//! HTTP for this crate: one client per provider, bodies with an idle timeout, and the
//! header rules. Independent of models and dialects.

mod address;
mod body;
mod client;
mod connect;
mod connection;
pub(crate) mod headers;
mod pool;
mod retry_after;

pub(crate) use address::{Destination, RequestAddress};
pub use body::ByteStream;
pub(crate) use body::{BodyError, IdleTimeoutBody, mid_stream_error, read_ahead, read_all};
pub(crate) use client::{HttpClient, HttpRequest, HttpResponse};
pub(crate) use connection::ResponseBody;
pub(crate) use retry_after::{retry_after, should_retry};
