//! What a response to the client needs besides the model's output. `reply` sends it.

use std::time::Duration;

use prowess_wire::ClientDialect;

use super::conversation::AnswerRecorder;
use crate::auth::LostAccess;
use crate::meter::Meter;
use crate::request_id::RequestId;

/// What is needed to send a response to the client.
pub(super) struct ClientReply {
    pub(super) client: ClientDialect,
    pub(super) id: RequestId,
    /// Size of the request.
    pub(super) request_bytes: usize,
    /// Whether a stream is one JSON array instead of events.
    pub(super) json_array: bool,
    /// How long a translated stream may be silent before a keep-alive ping.
    pub(super) ping: Option<Duration>,
    pub(super) meter: Meter,
    /// Stores the response, if it belongs to a stored conversation.
    pub(super) recorder: Option<AnswerRecorder>,
    /// When the client may not have the rest of the response any more.
    pub(super) lost: LostAccess,
}
