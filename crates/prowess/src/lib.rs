//! Prowess: Agent Skills for any model.
//!
//! The facade over the crates of this workspace, and the command line on top of
//! them. Nothing is decided here: what a skill is belongs to [`skill`], where it
//! comes from to [`source`], and how its code runs to [`sandbox`].

pub mod cli;

pub use prowess_sandbox as sandbox;
pub use prowess_skill as skill;
pub use prowess_source as source;
