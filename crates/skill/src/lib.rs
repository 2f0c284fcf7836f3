//! What a skill is.
//!
//! Bytes come in, a checked [`Skill`] comes out. This crate is pure: it opens no
//! file, no socket and no clock, starts no process, and so can be fuzzed, used
//! from any face of the product, and trusted with hostile input.
//!
//! # Layout
//!
//! Read in this order, which is also the order in which an upload travels:
//!
//! | module | owns |
//! |---|---|
//! | [`limits`] | every bound on what untrusted input may cost |
//! | [`path`] | the one rule for names of files inside a skill |
//! | [`bundle`] | zip, tar.gz and loose files to one checked file table, and back |
//! | [`diagnostic`] | what is wrong, where, and how to mend it |
//! | [`scan`] | static security rules over a whole bundle |
//! | [`sarif`] | results of scan and validation for code hosts and editors |

pub mod bundle;
pub mod diagnostic;
pub mod limits;
pub mod path;
pub mod sarif;
pub mod scan;

pub use bundle::{Bundle, BundleError, File};
pub use diagnostic::{Diagnostic, Severity};
pub use limits::Limits;
pub use path::{PathError, SkillPath};
