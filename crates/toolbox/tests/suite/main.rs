//! The toolbox as an engine uses it: skills in, calls answered, in a real sandbox.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test support stops at the first surprise, like the tests themselves"
)]

mod allowed;
mod catalogue;
mod code;
mod declared;
mod functions;
mod hostile;
mod library;
mod lifecycle;
mod litellm;
mod loading;
mod rivals;
mod skill_sources;
mod support;
