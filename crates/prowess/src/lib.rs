//! Prowess: Agent Skills for any model.
//!
//! The facade over the crates of this workspace, and the command line on top of
//! them. Nothing is decided here: what a skill is belongs to [`skill`], where it
//! comes from to [`source`], how models are called to [`provider`], where it stays to [`store`], how its code runs to
//! [`sandbox`], and how it is served to [`server`].

pub mod cli;
pub mod config;

pub use prowess_provider as provider;
pub use prowess_sandbox as sandbox;
pub use prowess_server as server;
pub use prowess_skill as skill;
pub use prowess_source as source;
pub use prowess_store as store;
