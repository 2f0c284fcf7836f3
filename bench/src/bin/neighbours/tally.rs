//! How often each part of the noise was answered in which way.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use prowess_bench::server::outcome::RequestOutcome;

/// Counts by part of the noise and by class of the answer.
#[derive(Debug, Default)]
pub(crate) struct Tally(Mutex<BTreeMap<&'static str, BTreeMap<String, u64>>>);

impl Tally {
    /// Counts an answer.
    pub(crate) fn count(&self, part: &'static str, outcome: &RequestOutcome) {
        self.add(part, outcome.class(), 1);
    }

    /// Counts anything else.
    pub(crate) fn add(&self, part: &'static str, class: impl Into<String>, count: u64) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts
            .entry(part)
            .or_default()
            .entry(class.into())
            .or_default() += count;
    }

    /// How often a part was answered in any way.
    pub(crate) fn total(&self, part: &str) -> u64 {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(part).map_or(0, |classes| classes.values().sum())
    }

    /// One line for each part.
    pub(crate) fn lines(&self) -> String {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = String::new();
        for (part, classes) in counts.iter() {
            let classes = classes
                .iter()
                .map(|(class, count)| format!("{count} {class}"));
            let classes = classes.collect::<Vec<_>>().join(", ");
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "- {part}: {classes}");
        }
        lines
    }
}
