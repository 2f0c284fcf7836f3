//! Real programs, unmodified, each on models of other vendors than its own: coding agents,
//! agent frameworks, SDKs and command lines, with skills over MCP and skills named in the
//! request.
//!
//! | module | owns |
//! |---|---|
//! | [`matrix`] | which program is tried by which API with models of which vendors |
//! | [`model`] | the model: what it answers, and what it was sent |
//! | [`gateway`] | a gateway with skills, before that model |
//! | [`environment`] | commands that find their programs and reach nothing but this machine |
//! | [`agents`], [`coding`] | coding agents: how they are set up, and their tests |
//! | [`aider`] | the test of a coding agent without tools |
//! | [`frameworks`] | tests of frameworks, SDKs and command lines |
//!
//! `cargo xtask test` installs the programs; a program that is missing fails its test.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test stops at the first surprise, and prints what works"
)]

#[path = "../installed/mod.rs"]
mod installed;
#[path = "../server/mod.rs"]
mod server;
#[path = "../vendors/mod.rs"]
mod vendors;

mod agents;
mod aider;
mod coding;
mod environment;
mod frameworks;
mod gateway;
mod matrix;
mod model;
