//! A client's request, as received. Which model gets it is decided by its route.

use bytes::Bytes;
use prowess_wire::neutral::Request;
use prowess_wire::raw::RawObject;
use prowess_wire::{
    ClientDialect, WireError, check_complete, has_signature_envelope, read_request,
};

use crate::upstream::ModelTask;

/// A client's request, unchanged.
#[derive(Debug, Clone, Copy)]
pub struct ClientRequest<'a> {
    /// The client's dialect.
    pub client: ClientDialect,
    /// The requested operation.
    pub task: ModelTask,
    /// The body.
    pub body: &'a Bytes,
    /// The same body with its fields located; must be parsed from `body`.
    pub raw: &'a RawObject<'a>,
    /// The model name that the client sent.
    pub model: &'a str,
    /// Whether it requests a stream.
    pub stream: bool,
    /// Whether a Gemini client requests the stream as one JSON array instead of events.
    pub json_array: bool,
}

impl ClientRequest<'_> {
    /// Whether its bytes mean the same to an upstream of the client's dialect. A request
    /// to compact a conversation cannot be translated.
    pub(crate) fn can_pass_through(&self) -> bool {
        // A text to embed is no state, whatever it looks like.
        matches!(self.task, ModelTask::Compact | ModelTask::Embed)
            || !has_signature_envelope(self.client, self.body)
    }

    /// The request in neutral form.
    ///
    /// # Errors
    /// When it cannot be parsed, or requests a response without the fields that the
    /// client's vendor requires for one.
    pub fn to_neutral(&self) -> Result<Request, WireError> {
        let mut request = read_request(self.client, self.body)?;
        if self.task == ModelTask::Generate {
            check_complete(self.client, self.raw, &request)?;
        }
        // There the path carries what the body does elsewhere.
        if self.client == ClientDialect::Gemini {
            self.model.clone_into(&mut request.model);
            request.stream = self.stream;
        }
        Ok(request)
    }
}
