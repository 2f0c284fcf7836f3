//! The guarantees of the bus.
//!
//! Every behaviour is one `async fn(World)`, which [`over_both!`] turns into a test inside one
//! process and one through a real NATS server.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod world;

mod connection;
mod large_payloads;
mod messages;
mod permissions;
mod requests;
mod tls;
