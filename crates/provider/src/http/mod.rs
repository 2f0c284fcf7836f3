//! HTTP for this crate: one client per provider, bodies with an idle timeout, and the
//! header rules. Independent of models and dialects.

mod address;
mod body;
mod byte_stream;
mod client;
mod connect;
mod connection;
mod echoed_secrets;
pub(crate) mod headers;
mod pool;
mod request_body;
mod response_body;
mod retry_after;

pub(crate) use address::{Destination, RequestAddress};
pub(crate) use body::{
    BodyError, IdleTimeoutBody, concat_chunks, mid_stream_error, read_ahead, read_all,
};
pub use byte_stream::ByteStream;
pub(crate) use client::{HttpClient, HttpRequest, HttpResponse};
pub use headers::is_event_stream;
pub(crate) use request_body::RequestBody;
pub(crate) use response_body::ResponseBody;
pub(crate) use retry_after::{retry_after, should_retry};
