//! The system call filter: its rules, the compiled filter of the native sandbox, and the
//! same rules for container engines.

pub(crate) mod argument_check;
mod profile;
pub(crate) mod rules;
mod sockets;

pub use profile::docker_profile;

#[cfg(target_os = "linux")]
pub(crate) use filter::Filter;

#[cfg(target_os = "linux")]
mod filter;
