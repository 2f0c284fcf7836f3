//! The bus through NATS servers: core NATS, no JetStream.

mod connect;
mod events;
mod link;
mod refusals;
mod settings;
mod subscription;

pub(crate) use link::NatsLink;
pub use settings::NatsSettings;
pub(crate) use subscription::NatsSubscription;
