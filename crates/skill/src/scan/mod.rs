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
//! | `subject`, `adapt` | the input, and how a skill or bundle becomes one |
//! | `scanner`, `scanner_error`, `limits` | a scan from end to end, and its bounds |
//! | `rule`, `rules` | what a rule is; the rules: one file per family, one definition per rule |
//! | `pattern`, `matcher`, `weigh` | finding hundreds of patterns in linear time; matches weighed by context |
//! | `view`, `layout`, `magic`, `network_sinks` | what a file is, which part of it is prose, code or comment, and whether it can send data |
//! | `similar` | names that differ in a letter or two |
//! | `finding`, `collector`, `evidence` | bounded, escaped, redacted findings |
//! | `coverage`, `report`, `sarif` | what was scanned; status, counts, baselines; the report for code hosts |
//!
//! # What a report promises
//!
//! The same subject and limits give the same report, byte for byte. Work is
//! bounded by [`ScanLimits`], never by a clock. If something was not scanned, or was found but
//! not listed, the coverage is [`Coverage::Partial`] with the reasons, and a partial report is
//! never [`ScanStatus::Pass`].

mod adapt;
mod collector;
mod coverage;
mod evidence;
mod finding;
mod layout;
mod limits;
mod magic;
mod matcher;
mod network_sinks;
mod pattern;
mod report;
mod rule;
mod rules;
mod sarif;
mod scanner;
mod scanner_error;
mod similar;
mod subject;
mod view;
mod weigh;

pub use coverage::{Coverage, CoverageGap, GapReason};
pub use finding::{Confidence, Finding, ScanSeverity};
pub use limits::ScanLimits;
pub use report::{FindingCounts, ScanReport, ScanStatus};
pub use rule::ScanRule;
pub use rules::RULES;
pub use sarif::to_sarif;
pub use scanner::{Scanner, scan};
pub use scanner_error::ScannerError;
pub use subject::{Subject, SubjectFile};
