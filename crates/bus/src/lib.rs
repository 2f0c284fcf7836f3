//! Messages between the processes of a cluster.
//!
//! A [`Bus`] carries payloads by subject, either inside one process ([`Bus::local`]) or through
//! NATS servers ([`Bus::connect`], feature `nats`). Both behave alike, so that nothing above
//! knows which one there is. Nothing is stored: a message that nobody is subscribed to is gone,
//! and any message can be lost. Whoever needs more repeats it or looks into the store.
//!
//! It knows neither runs nor containers nor the store; subjects and payloads are its users'.
//!
//! # Layout
//!
//! | module | owns |
//! |---|---|
//! | `bus` | [`Bus`]: publish, subscribe, request |
//! | `message`, `error` | [`BusMessage`]; [`BusError`] |
//! | [`subject`] | which subjects and patterns are valid, and what a pattern matches |
//! | [`payload`] | a value as one version byte and JSON |
//! | `inbox` | subjects for replies, which nobody can guess |
//! | `subscription` | [`Subscription`]: what arrives on a pattern |
//! | `statistics` | what the bus has counted |
//! | `local` | the bus inside one process |
//! | `nats` | the connection to NATS servers, and what they refuse (feature `nats`) |
//! | `parts` | payloads that are larger than a message of NATS may be (feature `nats`) |

mod bus;
mod error;
mod inbox;
mod local;
mod message;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "nats")]
mod parts;
pub mod payload;
mod statistics;
pub mod subject;
mod subscription;

pub use bus::Bus;
pub use error::BusError;
pub use message::BusMessage;
#[cfg(feature = "nats")]
pub use nats::NatsSettings;
pub use statistics::BusStatistics;
pub use subscription::Subscription;

/// Maximum size of a payload.
pub const MAX_PAYLOAD_BYTES: usize = 16 << 20;

/// Messages that wait in a subscription; further ones are dropped and counted.
const SUBSCRIPTION_CAPACITY: usize = 1_024;
