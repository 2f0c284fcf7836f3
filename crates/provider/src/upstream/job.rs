//! What an upstream is asked for, before it is addressed to one.

use bytes::Bytes;
use http::{HeaderMap, Method};
use prowess_wire::Dialect;

use crate::http::RequestBody;

/// An operation of a model API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelTask {
    /// Generate a response.
    Generate,
    /// Count the tokens of a request.
    CountTokens,
    /// Compact a conversation. Only OpenAI supports this.
    Compact,
    /// Create embeddings.
    Embed,
}

/// An operation on a file that a provider stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderFileOperation {
    /// Get its metadata.
    Metadata,
    /// Get its content.
    Content,
    /// Delete it.
    Delete,
}

/// A request, before it is addressed to an upstream.
#[derive(Debug)]
pub(crate) struct UpstreamJob<'a> {
    pub(crate) task: ModelTask,
    pub(crate) dialect: Dialect,
    pub(crate) model: &'a str,
    pub(crate) stream: bool,
    /// The body in this dialect, with the upstream's model name in it.
    pub(crate) body: Bytes,
    /// The headers to start from: the client's, or Prowess's own.
    pub(crate) headers: HeaderMap,
    /// Who wrote the body.
    pub(crate) body_origin: BodyOrigin,
}

/// Who wrote the body of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyOrigin {
    /// Prowess.
    Gateway,
    /// The client; it is passed on unchanged.
    Client {
        /// Whether the stream is requested as one JSON array, which only Gemini clients
        /// may do.
        json_array: bool,
    },
}

/// A request about the skills that an upstream stores.
#[derive(Debug)]
pub(crate) struct SkillsJob<'a> {
    pub(crate) method: Method,
    /// The path at the upstream, with its version.
    pub(crate) path: &'a str,
    /// The query, without `?`.
    pub(crate) query: &'a str,
    pub(crate) headers: HeaderMap,
    pub(crate) body: RequestBody,
}
