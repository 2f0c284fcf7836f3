//! A message as it arrives.

use bytes::Bytes;

/// A message that was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusMessage {
    /// The subject it was published on.
    pub subject: String,
    /// Where its sender waits for replies.
    pub reply: Option<String>,
    /// What was sent.
    pub payload: Bytes,
    /// Whether the bus itself sent this, to the subject for replies, because nobody is
    /// subscribed to the subject of the message that was to be replied to. The payload is empty.
    pub no_responders: bool,
}
