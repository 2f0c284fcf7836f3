//! Agent Skills: reads, checks and scans them.
//!
//! The input is bytes, the result a checked [`Skill`]. This crate is pure: it uses no files,
//! sockets, clocks or processes, so it can be fuzzed, used everywhere in the product, and
//! trusted with hostile input.
//!
//! # Layout
//!
//! In the order in which an upload is processed:
//!
//! | module | owns |
//! |---|---|
//! | [`limits`] | every bound on what untrusted input may cost |
//! | [`path`] | the one rule for names of files inside a skill |
//! | [`misleading`] | characters that make a name show as another one |
//! | [`bundle`] | zip, tar.gz and loose files to one checked file table, and back |
//! | [`manifest`] | a digest for each file and one for all of them |
//! | [`rules`], [`diagnostic`] | rules of the format; their violations, with location and fix |
//! | [`frontmatter`] | the YAML of a SKILL.md: one parser, a strict and a lenient reading |
//! | [`standard`], [`reference`](mod@reference) | the standard's rules, and the reference validator's answers |
//! | [`fields`] | the meaning of the frontmatter's fields |
//! | [`skill`], `load` | what a skill is; all of the above together: [`Skill::load`] |
//! | [`upload`] | rules of the large hosts |
//! | [`disclose`], `shorten` | text of a skill for a model, with byte caps; shortening of descriptions |
//! | `declared_words` | tags and triggers in a frontmatter |
//! | `usage_text` | what a skill says about when to use it |
//! | [`control_tokens`] | control tokens of chat templates, neutralised before a model reads them |
//! | [`scan`] | static security rules over a whole bundle |
//! | [`compare`](mod@compare) | what differs between two skills |
//! | [`sarif`] | results of scan and validation for code hosts and editors |
//! | `advice` | diagnostics for valid skills that could serve their reader better |
//! | `python` | values as Python prints them, for the reference validator's messages |
//! | [`address`] | which network addresses are the public internet's |

pub mod address;
mod advice;
pub mod bundle;
pub mod compare;
pub mod control_tokens;
mod declared_words;
pub mod diagnostic;
pub mod disclose;
pub mod fields;
pub mod frontmatter;
pub mod limits;
mod load;
pub mod manifest;
pub mod misleading;
pub mod path;
mod python;
pub mod reference;
pub mod rules;
pub mod sarif;
pub mod scan;
mod shorten;
pub mod skill;
pub mod standard;
pub mod upload;
mod usage_text;

pub use bundle::{ArchiveLayout, Bundle, BundleError, BundleFile};
pub use declared_words::{declared_triggers, declared_words};
pub use diagnostic::{Diagnostic, Severity};
pub use limits::BundleLimits;
pub use manifest::{Digest, Manifest};
pub use path::{PathError, SkillPath};
pub use skill::{LoadOptions, LoadedSkill, Profile, Skill};
pub use usage_text::usage_text;
