//! What the operator configures for all runs.

use std::collections::BTreeMap;
use std::time::Duration;

use prowess_sandbox::{DomainRule, Policy};

/// Settings of all runs.
#[derive(Debug, Clone)]
pub struct EngineSettings {
    /// How much of the skills is in the system prompt.
    pub disclosure: Disclosure,
    /// Tokens the catalogue of skills may take in the system prompt.
    pub catalogue_tokens: usize,
    /// Whether every run may use all stored skills of its tenant, as if its request had `auto`.
    pub auto: bool,
    /// The model whose vectors help to find stored skills; by default words alone do.
    pub embedding: Option<EmbeddingSettings>,
    /// LiteLLM mode: its tools besides Prowess's, and its field in complete responses.
    pub litellm: bool,
    /// Other names for stored skills, such as `xlsx`. Not used where the model's provider has
    /// skills of its own.
    pub aliases: BTreeMap<String, String>,
    /// Limits that end a run before its model does.
    pub limits: RunLimits,
    /// The sandbox policy for the code of runs.
    pub policy: Policy,
    /// Domains that a request may allow its code to reach.
    pub domains: Vec<DomainRule>,
    /// Interval of pings to the client while a tool runs.
    pub ping_interval: Duration,
    /// How long turns and results are stored that a client's dialect cannot carry.
    pub turn_retention: Duration,
    /// How long files that runs create are stored; without limit by default.
    pub file_retention: Option<Duration>,
    /// How much of the conversation is written into the record of a run.
    pub record_detail: RecordDetail,
    /// Which calls of a kept run are made again when the server that made them has died.
    pub rerun: RerunPolicy,
    /// Kept runs of a tenant that have not ended.
    pub max_open_runs: u64,
    /// Whether the steps of runs become spans: each turn then has a span id of its own in the
    /// `traceparent` header of its calls, and all steps are emitted.
    pub spans: bool,
}

impl Default for EngineSettings {
    fn default() -> Self {
        EngineSettings {
            disclosure: Disclosure::Progressive,
            catalogue_tokens: 4_000,
            auto: false,
            embedding: None,
            litellm: false,
            aliases: BTreeMap::new(),
            limits: RunLimits::default(),
            policy: Policy::default(),
            domains: Vec::new(),
            ping_interval: Duration::from_secs(10),
            turn_retention: Duration::from_secs(24 * 3600),
            file_retention: None,
            record_detail: RecordDetail::Steps,
            rerun: RerunPolicy::Pure,
            max_open_runs: 1_000,
            spans: false,
        }
    }
}

/// A model whose vectors help to find stored skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingSettings {
    /// Its name, as clients would name it. Fallbacks of its route are not used.
    pub model: String,
    /// How long a search waits for vectors before words alone decide.
    pub deadline: Duration,
}

/// How much of the skills is in the system prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Disclosure {
    /// Name and description of each; the rest on demand.
    #[default]
    Progressive,
    /// Each complete SKILL.md.
    Full,
    /// Complete if they are small together, else on demand.
    Auto,
}

/// Limits that end a run before its model does. It then ends as one that can be continued:
/// with `pause_turn`, or `length` in dialects without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLimits {
    /// Turns of the model.
    pub turns: u32,
    /// Total time.
    pub wall_time: Duration,
    /// Tokens of all turns, in and out.
    pub tokens: u64,
    /// Total time in the sandbox.
    pub sandbox_time: Duration,
}

impl RunLimits {
    /// The same with at most as many turns as a request allows.
    pub(crate) fn with_max_turns(&self, turns: Option<u32>) -> RunLimits {
        let mut limits = self.clone();
        limits.turns = turns.map_or(limits.turns, |turns| turns.min(limits.turns));
        limits
    }
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

/// Which calls of a kept run are made again when the server that made them has died, so that
/// their results are unknown. The files are as before the calls in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RerunPolicy {
    /// Those that could not reach the network: they had no effects outside of the container.
    #[default]
    Pure,
    /// All.
    Always,
    /// Only those that read skills.
    Never,
}

/// How much of the conversation is written into the record of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecordDetail {
    /// Nothing is recorded at all.
    Off,
    /// What happened, without content of the conversation.
    #[default]
    Steps,
    /// Also inputs and outputs of tools.
    Full,
}
