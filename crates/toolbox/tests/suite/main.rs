//! The toolbox as an engine uses it: skills in, calls answered, in a real sandbox, and over a
//! cluster.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test support stops at the first surprise, like the tests themselves"
)]
#![expect(clippy::duplicate_mod, reason = "some tests are run at two places")]

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
mod over_a_cluster;
mod place;
mod rivals;
mod skill_sources;
mod support;
