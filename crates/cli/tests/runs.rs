//! Runs with skills against the real server, and what can be observed of them.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod observability;
mod server;
mod skill_runs;

use skill_runs::{SCRIPT, chat, json_of, messages, responses, run, upload_skill};
