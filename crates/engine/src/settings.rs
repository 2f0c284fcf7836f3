//! What the operator decides for all runs.

use std::collections::BTreeMap;
use std::time::Duration;

use prowess_sandbox::{DomainRule, Policy};

/// How runs are made.
#[derive(Debug, Clone)]
pub struct EngineSettings {
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
    pub limits: RunLimits,
    /// What code of runs may have.
    pub policy: Policy,
    /// Domains that a request may ask its code to reach.
    pub domains: Vec<DomainRule>,
    /// How long a client may hear nothing while a tool runs.
    pub ping_interval: Duration,
    /// How long the turns are kept that a client's dialect cannot carry.
    pub turn_retention: Duration,
    /// How long the files that runs make are kept; for ever if not said.
    pub file_retention: Option<Duration>,
    /// What of the conversation is written into the record of a run.
    pub record_detail: RecordDetail,
}

impl Default for EngineSettings {
    fn default() -> Self {
        EngineSettings {
            disclosure: Disclosure::Progressive,
            catalogue_tokens: 4_000,
            litellm: false,
            aliases: BTreeMap::new(),
            limits: RunLimits::default(),
            policy: Policy::default(),
            domains: Vec::new(),
            ping_interval: Duration::from_secs(10),
            turn_retention: Duration::from_secs(24 * 3600),
            file_retention: None,
            record_detail: RecordDetail::Steps,
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
pub struct RunLimits {
    /// Turns of the model.
    pub turns: u32,
    /// Time in all.
    pub wall_time: Duration,
    /// Tokens of all turns, in and out.
    pub tokens: u64,
    /// Time of the sandbox in all.
    pub sandbox_time: Duration,
}

impl Default for RunLimits {
    fn default() -> Self {
        RunLimits {
            turns: 10,
            wall_time: Duration::from_secs(15 * 60),
            tokens: 2_000_000,
            sandbox_time: Duration::from_secs(10 * 60),
        }
    }
}

/// What of the conversation is written into the record of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecordDetail {
    /// Nothing is recorded at all.
    Off,
    /// What happened, without anything that was said.
    #[default]
    Steps,
    /// Also what the tools were given and gave.
    Full,
}
