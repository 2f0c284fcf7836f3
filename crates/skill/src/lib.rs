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
//! | [`manifest`] | a digest for each file and one for all of them |
//! | [`rules`], [`diagnostic`] | what can be wrong, where it is, and how to mend it |
//! | [`frontmatter`] | the YAML of a SKILL.md: one parser, a strict and a lenient reading |
//! | [`standard`], [`reference`](mod@reference) | the standard's rules, and the reference validator's answers |
//! | [`fields`] | what the fields mean |
//! | [`skill`] | all of it together: [`Skill::load`] |
//! | [`upload`] | rules of the large hosts |
//! | [`disclose`] | what of a skill a model gets to see, and how much |
//! | [`control_tokens`] | words of chat templates, taken apart before a model sees them |
//! | [`scan`] | static security rules over a whole bundle |
//! | [`sarif`] | results of scan and validation for code hosts and editors |
//! | [`address`] | which network addresses are the public internet's |

pub mod address;
mod advice;
pub mod bundle;
pub mod control_tokens;
pub mod diagnostic;
pub mod disclose;
pub mod fields;
pub mod frontmatter;
pub mod limits;
pub mod manifest;
pub mod path;
mod python;
pub mod reference;
pub mod rules;
pub mod sarif;
pub mod scan;
pub mod skill;
pub mod standard;
pub mod upload;

pub use bundle::{ArchiveLayout, Bundle, BundleError, BundleFile};
pub use diagnostic::{Diagnostic, Severity};
pub use limits::BundleLimits;
pub use manifest::{Digest, Manifest};
pub use path::{PathError, SkillPath};
pub use skill::{LoadOptions, LoadedSkill, Profile, Skill};
