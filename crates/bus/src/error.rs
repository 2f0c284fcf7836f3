//! What can go wrong with a message.

use std::time::Duration;

/// Why the bus did not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    /// Nobody is subscribed to the subject of a request.
    #[error("nobody listens on `{subject}`")]
    NoResponders {
        /// The subject.
        subject: String,
    },
    /// A request was not replied to in time.
    #[error("no reply on `{subject}` within {after:?}")]
    Timeout {
        /// The subject.
        subject: String,
        /// How long the reply was waited for.
        after: Duration,
    },
    /// A payload is too large.
    #[error("a payload of {bytes} bytes is too large: the bus carries at most {max}")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The maximum.
        max: usize,
    },
    /// There is no connection at the moment.
    #[error("the message bus is not connected: {why}")]
    Disconnected {
        /// What is known about it.
        why: String,
    },
    /// The server does not permit it.
    #[error("the message bus refused it: {why}")]
    Refused {
        /// What was refused.
        why: String,
    },
    /// A subject, a setting or the like cannot be.
    #[error("{why}")]
    Invalid {
        /// What is wrong.
        why: String,
    },
}
