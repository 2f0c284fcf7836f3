//! Static security rules over a whole skill.
//!
//! The input is a [`Subject`] (bytes and some frontmatter fields), the result a
//! [`ScanReport`]. The scanner uses no files, network or model, is independent of how bundles
//! and frontmatter are read, and runs nothing.
//!
//! # Layout
//!
//! | module | owns |
//! |---|---|
//! | `rules` | the rules: one file per family, one definition per rule |
//! | `pattern`, `matcher` | finding hundreds of patterns in linear time |
//! | `view`, `layout`, `magic` | what a file is, and which part of it is prose, code or comment |
//! | `collector`, `evidence` | bounded, escaped, redacted findings |
//! | `report` | status, coverage, counts, baselines |
//!
//! # What a report promises
//!
//! The same subject and limits give the same report, byte for byte. Work is
//! bounded by [`ScanLimits`], never by a clock. If something was not scanned, or was found but
//! not listed, the coverage is [`Coverage::Partial`] with the reasons, and a partial report is
//! never [`ScanStatus::Pass`].

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
