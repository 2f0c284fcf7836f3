//! What installations and checks report. Plain data.

use serde::{Deserialize, Serialize};

/// One thing that a runtime must be able to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuntimeCheck {
    /// The command, or the module with its language.
    pub name: String,
    /// Whether it works.
    pub ok: bool,
    /// If not, why.
    pub detail: String,
}

/// Something that the host lacks, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingPrerequisite {
    /// What is missing.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

/// What an installation does at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallEvent {
    /// Another process installs the same runtime; this one waits for it.
    Waiting {
        /// The other process, if known.
        holder: Option<u32>,
    },
    /// A step begins, or was done by an earlier installation.
    Step {
        /// Its number, from 1.
        number: usize,
        /// How many there are.
        count: usize,
        /// What it does.
        title: &'static str,
        /// Whether an earlier installation has done it.
        done_before: bool,
    },
    /// How much a step has written.
    Bytes {
        /// Bytes so far.
        done: u64,
        /// Of how many, if known.
        total: Option<u64>,
    },
    /// The sandbox cannot run here, so that the runtime was not checked.
    Unchecked {
        /// Why.
        reason: String,
    },
}
