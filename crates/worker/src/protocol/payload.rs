//! The version byte before the JSON of each message.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The version that this build writes and reads.
pub const PROTOCOL_VERSION: u8 = 1;

/// A payload that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ProtocolError {
    /// No bytes at all.
    #[error("the message is empty")]
    Empty,
    /// Another version byte.
    #[error(
        "the message has version {found}, and this build reads {own}; run the same or \
         neighbouring releases",
        own = PROTOCOL_VERSION
    )]
    Version {
        /// The version byte of the message.
        found: u8,
    },
    /// JSON that is not one of the messages.
    #[error("the message cannot be read: {0}")]
    Malformed(#[from] serde_json::Error),
}

/// The payload of a message.
///
/// # Errors
/// When it has no JSON form; no message of this module is such.
pub fn encode<T: Serialize>(message: &T) -> Result<Bytes, ProtocolError> {
    let mut payload = vec![PROTOCOL_VERSION];
    serde_json::to_writer(&mut payload, message)?;
    Ok(payload.into())
}

/// The message of a payload.
///
/// # Errors
/// When the version is another one, or it is not the expected message.
pub fn decode<T: DeserializeOwned>(payload: &[u8]) -> Result<T, ProtocolError> {
    match payload.split_first() {
        None => Err(ProtocolError::Empty),
        Some((&PROTOCOL_VERSION, json)) => Ok(serde_json::from_slice(json)?),
        Some((&found, _)) => Err(ProtocolError::Version { found }),
    }
}
