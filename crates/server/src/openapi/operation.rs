//! The OpenAPI operations of a route, as a row of the route table holds them.
//!
//! Only types; `describe` writes them as OpenAPI.

use super::parameters::Parameter;

/// The APIs that describe a route, each in its own dialect.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApiMount {
    Anthropic,
    OpenAi,
    Gemini,
    /// No vendor's: health checks and similar.
    Plain,
    /// JSON-RPC.
    Mcp,
}

/// A route as one API describes it.
#[derive(Clone, Copy)]
pub(crate) struct Operation {
    pub(super) summary: &'static str,
    /// Besides those of the path.
    pub(super) parameters: &'static [Parameter],
    pub(super) body: OperationBody,
    pub(crate) response: OperationResponse,
}

/// A route in each API that has it: at least one.
pub(crate) struct Operations([Option<(ApiMount, Operation)>; 3]);

#[derive(Clone, Copy)]
pub(crate) enum OperationBody {
    None,
    Skill,
    File,
    /// As in OpenAI's API, with these purposes.
    FileWithPurpose(&'static [&'static str]),
    DefaultVersion,
    /// Where a label points, the notes of a version, why one is revoked, and what is imported.
    LabelTarget,
    VersionNotes,
    Revocation,
    SkillImport,
    /// A call to a model with these required fields.
    Model(&'static [&'static str]),
    /// A request to another endpoint of a model, with these required fields.
    Endpoint(&'static [&'static str]),
    /// The same as a form with a model and this file.
    EndpointForm(&'static str),
    /// A call to a model named in the path.
    Contents,
    Container,
    ContainerFile,
    Conversation,
    /// Items for a conversation.
    Items,
    Metadata,
    /// Requests of a batch, as in Anthropic's API.
    MessageBatch,
    /// A batch of a file, as in OpenAI's API.
    Batch,
    /// A key to be created, what changes of one, and how one is rotated.
    NewKey,
    KeyChange,
    KeyRotation,
    /// A JSON-RPC message.
    Message,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OperationResponse {
    /// A schema, by its name in the mount's dialect.
    Object(&'static str),
    /// A schema, or lines of JSON.
    Lines(&'static str),
    /// Any JSON object.
    Json,
    /// A JSON string.
    Text,
    /// An object, or an event stream.
    Stream,
    /// A JSON array sent in chunks, or an event stream.
    Chunks,
    /// Bytes of this media type.
    Bytes(&'static str),
    /// A JSON-RPC message or a stream of them; empty for notifications.
    Message,
    /// A stream of JSON-RPC messages.
    Messages,
    /// A WebSocket.
    WebSocket,
    /// An empty response.
    Nothing,
}

impl ApiMount {
    /// The mount below which its routes are described.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            ApiMount::Anthropic => "/anthropic/v1",
            ApiMount::OpenAi => "/openai/v1",
            ApiMount::Gemini => "/gemini/v1beta",
            ApiMount::Plain | ApiMount::Mcp => "",
        }
    }
}

impl Operation {
    /// Without parameters and body.
    pub(crate) const fn new(summary: &'static str, response: OperationResponse) -> Operation {
        Operation {
            summary,
            parameters: &[],
            body: OperationBody::None,
            response,
        }
    }

    /// With parameters besides those of the path.
    pub(crate) const fn query(self, parameters: &'static [Parameter]) -> Operation {
        Operation { parameters, ..self }
    }

    pub(crate) const fn body(self, body: OperationBody) -> Operation {
        Operation { body, ..self }
    }
}

impl Operations {
    /// In one API.
    pub(crate) const fn only(mount: ApiMount, operation: Operation) -> Operations {
        Operations([Some((mount, operation)), None, None])
    }

    /// The same in Anthropic's and OpenAI's APIs.
    pub(crate) const fn both(operation: Operation) -> Operations {
        Operations::each(operation, operation)
    }

    /// In Anthropic's API and in OpenAI's.
    pub(crate) const fn each(anthropic: Operation, openai: Operation) -> Operations {
        Operations([
            Some((ApiMount::Anthropic, anthropic)),
            Some((ApiMount::OpenAi, openai)),
            None,
        ])
    }

    /// The same in the APIs of all three vendors.
    pub(crate) const fn all(operation: Operation) -> Operations {
        Operations([
            Some((ApiMount::Anthropic, operation)),
            Some((ApiMount::OpenAi, operation)),
            Some((ApiMount::Gemini, operation)),
        ])
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(ApiMount, Operation)> {
        self.0.iter().flatten()
    }
}
