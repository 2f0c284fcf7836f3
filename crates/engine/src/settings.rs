//! What the operator decides for all runs.

use std::collections::BTreeMap;
use std::time::Duration;

use prowess_sandbox::{DomainRule, Policy};

/// How runs are made.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How much of the skills a model is told before it asks.
    pub disclosure: Disclosure,
    /// Tokens the catalogue of skills may take in the system prompt.
    pub catalogue_tokens: usize,
    /// LiteLLM mode: its tools beside ours, and its field in whole answers.
    pub litellm: bool,
    /// Other names for stored skills, such as `xlsx`. Not looked at where the model's
    /// own servers know skills.
    pub aliases: BTreeMap<String, String>,
    /// When a run is ended before its model ends it.
    pub limits: Limits,
    /// What code of runs may have.
    pub policy: Policy,
    /// Domains that a request may ask its code to reach.
    pub domains: Vec<DomainRule>,
    /// How long a client may hear nothing while a tool runs.
    pub ping: Duration,
    /// How long the turns are kept that a client's dialect cannot carry.
    pub keep_turns: Duration,
    /// How long the files that runs make are kept; for ever if not said.
    pub keep_files: Option<Duration>,
    /// What of the conversation is written into the record of a run.
    pub record: Record,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            disclosure: Disclosure::Progressive,
            catalogue_tokens: 4_000,
            litellm: false,
            aliases: BTreeMap::new(),
            limits: Limits::default(),
            policy: Policy::default(),
            domains: Vec::new(),
            ping: Duration::from_secs(10),
            keep_turns: Duration::from_secs(24 * 3600),
            keep_files: None,
            record: Record::Steps,
        }
    }
}

/// How much of the skills a model is told before it asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Disclosure {
    /// Name and description of each; the rest on demand.
    #[default]
    Progressive,
    /// Each SKILL.md whole.
    Full,
    /// Whole when that is little, else on demand.
    Auto,
}

/// When a run is ended before its model ends it. It then ends as one that can be
/// continued: `pause_turn`, or `length` where a dialect has no such word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Turns of the model.
    pub turns: u32,
    /// Time in all.
    pub wall: Duration,
    /// Tokens of all turns, in and out.
    pub tokens: u64,
    /// Time of the sandbox in all.
    pub sandbox: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            turns: 10,
            wall: Duration::from_secs(15 * 60),
            tokens: 2_000_000,
            sandbox: Duration::from_secs(10 * 60),
        }
    }
}

/// What of the conversation is written into the record of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Record {
    /// Nothing is recorded at all.
    Off,
    /// What happened, without anything that was said.
    #[default]
    Steps,
    /// Also what the tools were given and gave.
    Full,
}
