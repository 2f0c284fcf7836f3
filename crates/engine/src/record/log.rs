//! The record of a run in progress. A run that is dropped before its end is recorded too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use prowess_store::{ForegroundRun, NewRun, TenantId, Timestamp, UsageRow};
use prowess_wire::neutral::TokenUsage;
use serde_json::{Value, json};

use super::foreground::ForegroundRuns;
use super::recorder::{RecordQueue, RunRecorder};
use super::run_usage::RunUsage;
use super::skill_costs::CostObserver;
use super::skill_use::SkillUses;
use crate::events::{CalledSkill, OutputFile, RunStep, RunTotals, TurnStarted};
use crate::intake::resolve::RunSkill;
use crate::settings::RecordDetail;

/// Events in the record of one run.
const MAX_EVENTS: usize = 400;
/// Characters of a model name in a usage row.
const MAX_MODEL_CHARS: usize = 200;

/// The record of a run in progress. Written when dropped.
#[derive(Debug)]
pub(crate) struct RunLog {
    queue: Option<RecordQueue>,
    detail: RecordDetail,
    pub(crate) id: String,
    tenant: TenantId,
    model: String,
    dialect: &'static str,
    provider: Option<String>,
    status: &'static str,
    turns: i64,
    calls: i64,
    usage: TokenUsage,
    cost_nanos: u64,
    started_at: Timestamp,
    container_id: Option<String>,
    error: Option<String>,
    skills: SkillUses,
    /// What the skills take.
    pub(crate) costs: CostObserver,
    files: Vec<OutputFile>,
    events: Vec<Value>,
    omitted_events: usize,
    condition: Option<Arc<AtomicBool>>,
    foreground: Option<ForegroundLog>,
}

/// What the store knows of a foreground run while it is in progress.
#[derive(Debug)]
struct ForegroundLog {
    runs: Arc<ForegroundRuns>,
    /// Who pays for it, and the target of its first turn.
    usage: UsageRow,
    /// Whether that has a price.
    is_priced: bool,
}

impl RunLog {
    pub(crate) fn new(
        recorder: &RunRecorder,
        detail: RecordDetail,
        id: String,
        tenant: &TenantId,
        model: &str,
        dialect: &'static str,
    ) -> Self {
        RunLog {
            queue: (detail != RecordDetail::Off).then(|| recorder.queue()),
            detail,
            id,
            tenant: tenant.clone(),
            model: model.to_owned(),
            dialect,
            provider: None,
            // Stays so if the client disconnects.
            status: "cancelled",
            turns: 0,
            calls: 0,
            usage: TokenUsage::default(),
            cost_nanos: 0,
            started_at: Timestamp::now(),
            container_id: None,
            error: None,
            skills: SkillUses::default(),
            costs: CostObserver::default(),
            files: Vec::new(),
            events: Vec::new(),
            omitted_events: 0,
            condition: None,
            foreground: None,
        }
    }

    /// Makes the run known to the store while it is in progress, so that it is recorded if this
    /// process dies. `usage` says who pays for it. Returns the right to report its usage, unless
    /// runs are not recorded.
    pub(crate) fn track(&mut self, recorder: &RunRecorder, usage: UsageRow) -> Option<RunUsage> {
        self.queue.as_ref()?;
        let runs = Arc::clone(recorder.foreground());
        let log = ForegroundLog {
            runs: Arc::clone(&runs),
            usage,
            is_priced: false,
        };
        if !runs.begin(self.foreground_run(&log)) {
            return None;
        }
        self.foreground = Some(log);
        Some(RunUsage::new(runs, self.id.clone()))
    }

    /// Writes the record only if this is true at the end: another server may continue the run,
    /// and writes the record then.
    pub(crate) fn write_if(&mut self, condition: Arc<AtomicBool>) {
        self.condition = Some(condition);
    }

    /// The run had been going on for this time, on another server.
    pub(crate) fn add_earlier_time(&mut self, time: Duration) {
        self.started_at = self.started_at.before(time);
    }

    pub(crate) fn set_skills(&mut self, chosen: &[RunSkill]) {
        for chosen in chosen {
            self.skills.add(chosen);
        }
    }

    /// Adds a turn that cost this much.
    pub(crate) fn add_turn(&mut self, usage: &TokenUsage, cost_nanos: u64) {
        self.turns += 1;
        self.usage.add(usage);
        self.cost_nanos = self.cost_nanos.saturating_add(cost_nanos);
        if let Some(log) = &self.foreground {
            log.runs.update(self.foreground_run(log));
        }
    }

    /// Counts a call, for a skill if it was for one.
    pub(crate) fn add_call(&mut self, skill: Option<&str>) {
        self.calls += 1;
        if let Some(name) = skill {
            self.skills.add_call(name);
        }
    }

    pub(crate) fn set_container(&mut self, id: Option<String>) {
        self.container_id = id;
    }

    pub(crate) fn set_end(&mut self, status: &'static str, error: Option<String>) {
        self.status = status;
        self.error = error;
    }

    pub(crate) fn usage(&self) -> &TokenUsage {
        &self.usage
    }

    /// What the run has used so far.
    pub(crate) fn totals(&self) -> RunTotals {
        RunTotals {
            tokens: self.usage.clone(),
            sandbox_millis: self.costs.sandbox_millis(),
            cost_nanos: self.cost_nanos,
            skills: self.costs.skill_costs(),
        }
    }

    /// What is known of the skill of a call.
    pub(crate) fn called_skill(&self, name: &str) -> CalledSkill {
        self.skills.called_skill(name)
    }

    /// Adds a step, with the time since the start.
    pub(crate) fn add_step(&mut self, step: &RunStep) {
        match step {
            RunStep::TurnStarted(turn) => {
                self.provider = Some(turn.provider.clone());
                if let Some(log) = &mut self.foreground {
                    log.set_target(turn);
                }
            }
            RunStep::SkillLoaded { name } => self.skills.set_loaded(name),
            RunStep::FileCreated(file) => self.files.push(file.clone()),
            _ => {}
        }
        if self.events.len() >= MAX_EVENTS {
            self.omitted_events += 1;
            return;
        }
        // Content of the conversation only if that is recorded.
        let mut event = step.stored_fields(self.detail == RecordDetail::Full);
        let micros = Timestamp::now().as_micros() - self.started_at.as_micros();
        event.insert("at_ms".to_owned(), (micros / 1000).into());
        self.events.push(event.into());
    }

    fn take_record(&mut self) -> NewRun {
        let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
        let (turn_usage, skills) = (self.turn_usage(), self.skills.to_json(&self.costs));
        if self.omitted_events > 0 {
            let more = json!({"kind": "left_out", "events": self.omitted_events});
            self.events.push(more);
        }
        let usage = &self.usage;
        NewRun {
            id: self.id.clone(),
            model: self.model.clone(),
            provider: self.provider.take(),
            dialect: self.dialect,
            status: self.status,
            turns: self.turns,
            calls: self.calls,
            input_tokens: count(usage.total_input()),
            output_tokens: count(usage.output_tokens),
            started_at: self.started_at,
            ended_at: Timestamp::now(),
            container: self.container_id.take(),
            error: self.error.take(),
            usage: turn_usage,
            skills,
            files: json!(self.files),
            events: std::mem::take(&mut self.events).into(),
        }
    }

    /// What is recorded if this process dies now.
    fn foreground_run(&self, log: &ForegroundLog) -> ForegroundRun {
        let used = &self.usage;
        let is_priced = log.is_priced || self.cost_nanos > 0;
        let micros = Timestamp::now().as_micros() - self.started_at.as_micros();
        ForegroundRun {
            id: self.id.clone(),
            turns: self.turns,
            calls: self.calls,
            started_at: self.started_at,
            container: self.container_id.clone(),
            turn_usage: self.turn_usage(),
            skills: self.skills.to_json(&self.costs),
            files: json!(self.files),
            usage: UsageRow {
                requests: 1,
                unpriced: u64::from(!is_priced),
                input_tokens: used.input_tokens,
                output_tokens: used.output_tokens,
                cache_read_tokens: used.cache_read_input_tokens,
                cache_write_tokens: used.cache_creation_input_tokens,
                cost_nanos: self.cost_nanos,
                millis: u64::try_from(micros / 1000).unwrap_or_default(),
                sandbox_millis: self.costs.sandbox_millis(),
                skills: self.costs.skill_costs().to_vec(),
                ..log.usage.clone()
            },
        }
    }

    fn turn_usage(&self) -> Value {
        let usage = &self.usage;
        json!({
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_read_input_tokens": usage.cache_read_input_tokens,
            "cache_creation_input_tokens": usage.cache_creation_input_tokens,
            "thinking_tokens": usage.thinking_tokens,
            "sandbox_ms": self.costs.sandbox_millis(),
            "cost": self.costs.total_cost(),
            "no_skill": self.costs.no_skill_summary(),
        })
    }
}

impl ForegroundLog {
    /// A turn has started. The target of the first one stands for the run, as in the usage row
    /// of a run that ends.
    fn set_target(&mut self, turn: &TurnStarted) {
        if self.usage.provider.is_empty() {
            self.usage.provider.clone_from(&turn.provider);
            self.usage.upstream_model = turn.model.chars().take(MAX_MODEL_CHARS).collect();
            self.is_priced = turn.price.is_some();
        }
    }
}

impl Drop for RunLog {
    fn drop(&mut self) {
        let Some(queue) = self.queue.take() else {
            return;
        };
        let condition = self.condition.as_deref();
        if condition.is_some_and(|condition| !condition.load(Ordering::Relaxed)) {
            return;
        }
        let mut record = Some(self.take_record());
        if let Some(log) = &self.foreground {
            record = record.and_then(|record| log.runs.end(record));
        }
        if let Some(record) = record {
            queue.push(self.tenant.clone(), record);
        }
    }
}
