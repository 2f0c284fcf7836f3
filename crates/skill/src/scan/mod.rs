//! Static security rules over a whole skill.
//!
//! Bytes and a few frontmatter facts come in as a [`Subject`], a [`Report`]
//! comes out. Nothing here opens a file, asks a network or a model, or knows
//! how a bundle or a frontmatter is read; and nothing here runs what it reads.
//!
//! # Layout
//!
//! | module | owns |
//! |---|---|
//! | `rules` | what is looked for: one file per family, one definition per rule |
//! | `pattern`, `engine` | finding hundreds of patterns in linear time |
//! | `view`, `layout`, `magic` | what a file is, and which part of it is prose, code or comment |
//! | `collector`, `evidence` | bounded, escaped, redacted findings |
//! | `report` | status, coverage, counts, baselines |
//!
//! # What a report promises
//!
//! The same subject and limits give the same report, byte for byte. Work is
//! bounded by [`ScanLimits`], never by a clock. Whatever was not looked at, or
//! was found but not listed, makes the coverage [`Coverage::Partial`] with the
//! reasons, and a partial report is never a [`Status::Pass`].

mod adapt;
mod collector;
mod evidence;
mod finding;
mod layout;
mod limits;
mod magic;
mod matcher;
mod pattern;
mod report;
mod rule;
mod rules;
mod sarif;
mod scanner;
mod similar;
mod subject;
mod view;
mod weigh;

pub use finding::{Confidence, Finding, ScanSeverity};
pub use limits::ScanLimits;
pub use report::{Coverage, CoverageGap, FindingCounts, GapReason, ScanReport, ScanStatus};
pub use rule::ScanRule;
pub use rules::RULES;
pub use sarif::to_sarif;
pub use scanner::{Scanner, ScannerError, scan};
pub use subject::{Subject, SubjectFile};
