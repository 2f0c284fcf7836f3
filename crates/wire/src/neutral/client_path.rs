//! The path of a message, a block or a tool in the body that the client sent.
//!
//! Readers of requests record it (`JsonPath::client_path`); it stays with its item when
//! messages are rearranged. Drops and errors use it, so that the client finds the field in
//! its own body.

use std::fmt;

use crate::ClientDialect;

/// The JSON path of a message, a block or a tool in the client's body; empty for what
/// the client did not send there, such as the tools of a run or a response of the model.
///
/// Conversations with the same content are equal wherever their parts were, so any two
/// paths are equal.
#[derive(Clone, Default)]
pub struct ClientPath(Option<BodyPath>);

#[derive(Clone)]
struct BodyPath {
    client: ClientDialect,
    path: Box<str>,
    /// Whether the cache mark was OpenAI's `prompt_cache_breakpoint`.
    breakpoint: bool,
}

impl ClientPath {
    /// A path in the body of a client.
    pub fn new(client: ClientDialect, path: impl Into<Box<str>>) -> Self {
        ClientPath(Some(BodyPath {
            client,
            path: path.into(),
            breakpoint: client == ClientDialect::Responses,
        }))
    }

    /// The path, and the dialect of its names.
    pub fn get(&self) -> Option<(ClientDialect, &str)> {
        self.0.as_ref().map(|inner| (inner.client, &*inner.path))
    }

    /// Records which of its two names a Chat client used for a cache mark.
    pub(crate) fn with_breakpoint(mut self, breakpoint: bool) -> Self {
        if let Some(inner) = &mut self.0 {
            inner.breakpoint = breakpoint;
        }
        self
    }

    /// The client's name for a cache mark.
    pub(crate) fn cache_mark(&self) -> &'static str {
        match &self.0 {
            Some(inner) if inner.breakpoint => ".prompt_cache_breakpoint",
            _ => ".cache_control",
        }
    }
}

impl PartialEq for ClientPath {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ClientPath {}

impl fmt::Debug for ClientPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get().map_or("-", |(_, path)| path))
    }
}
