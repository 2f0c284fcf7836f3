//! A gateway's sandboxes over a real bus, a real store and real workers, and over workers that
//! lie.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test support stops at the first surprise, like the tests themselves"
)]

mod cancelled;
mod deferred;
mod fake_worker;
mod files;
mod forged;
mod large;
mod lost;
mod outputs;
mod placed;
mod resumed;
mod shared;
mod support;
mod temporary;
