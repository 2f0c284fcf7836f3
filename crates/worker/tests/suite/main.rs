//! A worker as gateways use it: over a bus, with a real sandbox.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test support stops at the first surprise, like the tests themselves"
)]

mod commands;
mod gateway;
mod hostile;
mod lifecycle;
mod object_server;
mod results;
mod skills;
mod support;
