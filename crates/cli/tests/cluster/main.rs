//! A cluster of real processes: gateways behind HAProxy, workers, PostgreSQL, NATS and an S3 server.
//! They are used, killed, stopped, cut off and drained.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

#[allow(
    dead_code,
    clippy::allow_attributes,
    reason = "other test binaries use the rest of this module"
)]
#[path = "../durable/mod.rs"]
mod durable;
#[path = "../server/mod.rs"]
mod server;

mod bed;
mod chaos;
mod commands_seen;
mod drain;
mod kill_matrix;
mod mobility;
mod nats_down;
mod outages;
mod raw_nats;
mod security;
mod smoke;
mod soak;
mod spans;
mod upgrade;
mod worker_process;
