//! HTTP as this crate uses it: one client per provider, bodies with an idle timeout,
//! and the rules about headers. Knows nothing of models or dialects.

mod address;
mod body;
mod client;
mod dial;
pub(crate) mod headers;
mod link;
mod pool;
mod retry_after;

pub(crate) use address::{Address, To};
pub use body::ByteStream;
pub(crate) use body::{BodyError, Idle, mid_stream, read_ahead, read_all};
pub(crate) use client::{HttpAnswer, HttpClient, HttpRequest};
pub(crate) use link::AnswerBody;
pub(crate) use retry_after::{retry_after, should_retry};
