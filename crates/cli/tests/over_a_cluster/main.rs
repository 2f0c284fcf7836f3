//! Tests of runs a second time: the same files as in the test binaries of these names, but the
//! server is a gateway of a cluster, whose worker runs the commands and whose store has the files
//! of containers. Gateway and worker are one process here, which has the worker's sandbox; the
//! test binary `cluster` has real clusters.
//!
//! | module | owns |
//! |---|---|
//! | [`gateway`] | the server: a gateway and its worker |
//! | [`files`] | which test files are not run a second time, and why |
//! | the others | tests of the binary of that name; `place::one_worker::left_out` says which are not run |

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]
#![expect(
    clippy::duplicate_mod,
    reason = "each file has the modules that its own test binary has"
)]

mod files;
mod gateway;
#[path = "../place/mod.rs"]
mod place;
#[path = "../scripted/mod.rs"]
mod scripted;
#[path = "../server/mod.rs"]
mod server;

#[path = "../auto_skills.rs"]
mod auto_skills;
#[path = "../client_disconnects.rs"]
mod client_disconnects;
#[path = "../conformance.rs"]
mod conformance;
#[path = "../containers.rs"]
mod containers;
#[path = "../continued_conversations.rs"]
mod continued_conversations;
#[path = "../counting.rs"]
mod counting;
#[path = "../early_disconnects.rs"]
mod early_disconnects;
#[path = "../gemini_skills.rs"]
mod gemini_skills;
#[path = "../litellm_defects/main.rs"]
mod litellm_defects;
#[path = "../long_runs_cli.rs"]
mod long_runs_cli;
#[path = "../mcp_http.rs"]
mod mcp_http;
#[path = "../native_skills.rs"]
mod native_skills;
#[path = "../network.rs"]
mod network;
#[path = "../reasoning.rs"]
mod reasoning;
#[path = "../responses_items.rs"]
mod responses_items;
#[path = "../skill_runs/mod.rs"]
mod skill_runs;
