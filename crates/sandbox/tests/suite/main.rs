//! The sandbox from outside: a server in its own process, as root and as an ordinary user,
//! and programs inside that try what they must not be able to do.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test support stops at the first surprise, like the tests themselves"
)]

mod attack_containers;
mod attack_egress;
mod attack_fairness;
mod attack_inside;
mod attack_kernel;
mod attack_packages;
mod attacks;
mod containers;
mod control;
mod daemon;
mod docker;
mod execution;
mod knobs;
mod launcher;
mod lifecycle;
mod limits;
mod network;
mod npm_packages;
mod outputs;
mod package_index;
mod packages;
mod sandboxes;
mod snapshots;
mod support;
mod terminal;
mod warmth;
