//! The record of a run: collected during the run, written in the background when it is over.
//! A run that is dropped before its end is recorded too.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use prowess_store::{NewRun, Store, TenantId, Timestamp};
use prowess_wire::neutral::{Map, TokenUsage};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::events::{OutputFile, RunStep};
use crate::intake::resolve::RunSkill;
use crate::settings::RecordDetail;

/// Records that wait to be written; further ones are lost.
const QUEUE_CAPACITY: usize = 1024;
/// Events in the record of one run, and characters of a text in them.
const MAX_EVENTS: usize = 300;
const MAX_TEXT_CHARS: usize = 4 << 10;

/// Writes records in the background. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct RunRecorder {
    store: Store,
    /// The runtime of the writer: runs may be polled by runtimes that end earlier.
    runtime: Option<Handle>,
    queue: Arc<OnceLock<mpsc::Sender<QueueEntry>>>,
}

/// A message to the writer.
#[derive(Debug)]
enum QueueEntry {
    /// A run to be written.
    Run(TenantId, Box<NewRun>),
    /// To be answered when all entries before it are written.
    Flush(oneshot::Sender<()>),
}

impl RunRecorder {
    pub(crate) fn new(store: Store) -> Self {
        RunRecorder {
            store,
            runtime: Handle::try_current().ok(),
            queue: Arc::default(),
        }
    }

    /// The queue of the writer, which is started on first use.
    fn queue(&self) -> mpsc::Sender<QueueEntry> {
        let start = || {
            let (sender, receiver) = mpsc::channel(QUEUE_CAPACITY);
            let writer = write_records(self.store.clone(), receiver);
            match &self.runtime {
                Some(runtime) => runtime.spawn(writer),
                None => tokio::spawn(writer),
            };
            sender
        };
        self.queue.get_or_init(start).clone()
    }

    /// Waits until all queued records are written.
    pub(crate) async fn flush(&self) {
        let (done, all) = oneshot::channel();
        if let Some(queue) = self.queue.get()
            && queue.send(QueueEntry::Flush(done)).await.is_ok()
        {
            // An error means that the writer has ended, so there is nothing to wait for.
            let _ = all.await;
        }
    }
}

async fn write_records(store: Store, mut waiting: mpsc::Receiver<QueueEntry>) {
    while let Some(entry) = waiting.recv().await {
        match entry {
            QueueEntry::Run(tenant, run) => {
                if let Err(error) = store.record_run(&tenant, &run).await {
                    tracing::warn!(%error, run = run.id, "cannot write the record of a run");
                }
            }
            // The receiver may have stopped waiting.
            QueueEntry::Flush(done) => drop(done.send(())),
        }
    }
}

/// How a skill was used.
#[derive(Debug, Default)]
struct SkillUse {
    id: Option<String>,
    version: Option<String>,
    loaded: bool,
    calls: u64,
}

/// The record of a run in progress. Written when dropped.
#[derive(Debug)]
pub(crate) struct RunLog {
    queue: Option<mpsc::Sender<QueueEntry>>,
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
    started_at: Timestamp,
    container_id: Option<String>,
    error: Option<String>,
    skills: BTreeMap<String, SkillUse>,
    files: Vec<OutputFile>,
    events: Vec<Value>,
    omitted_events: usize,
    condition: Option<Arc<AtomicBool>>,
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
            started_at: Timestamp::now(),
            container_id: None,
            error: None,
            skills: BTreeMap::new(),
            files: Vec::new(),
            events: Vec::new(),
            omitted_events: 0,
            condition: None,
        }
    }

    /// Writes the record only if this is true at the end: another server may continue the run,
    /// and writes the record then.
    pub(crate) fn write_if(&mut self, condition: Arc<AtomicBool>) {
        self.condition = Some(condition);
    }

    pub(crate) fn set_skills(&mut self, chosen: &[RunSkill]) {
        for chosen in chosen {
            let skill = self.skill_use(&chosen.member.skill.name);
            skill.id = chosen.member.id.clone();
            skill.version = chosen.pin.as_ref().map(|pin| pin.version_id.clone());
        }
    }

    pub(crate) fn add_turn(&mut self, usage: &TokenUsage) {
        self.turns += 1;
        self.usage.add(usage);
    }

    /// Counts a call, for a skill if it was for one.
    pub(crate) fn add_call(&mut self, skill: Option<&str>) {
        self.calls += 1;
        if let Some(name) = skill {
            self.skill_use(name).calls += 1;
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

    fn skill_use(&mut self, name: &str) -> &mut SkillUse {
        self.skills.entry(name.to_owned()).or_default()
    }

    /// Adds a step, with the time since the start.
    pub(crate) fn add_step(&mut self, step: &RunStep) {
        match step {
            RunStep::TurnStarted(turn) => self.provider = Some(turn.provider.clone()),
            RunStep::SkillLoaded { name } => self.skill_use(name).loaded = true,
            RunStep::FileCreated(file) => self.files.push(file.clone()),
            _ => {}
        }
        if self.events.len() >= MAX_EVENTS {
            self.omitted_events += 1;
            return;
        }
        let mut event = self.step_fields(step);
        let micros = Timestamp::now().as_micros() - self.started_at.as_micros();
        event.insert("at_ms".to_owned(), (micros / 1000).into());
        self.events.push(event.into());
    }

    /// A step, with content of the conversation only if that is recorded.
    fn step_fields(&self, step: &RunStep) -> Map {
        let mut event = Map::from_iter([("kind".to_owned(), step.kind().into())]);
        event.extend(step.fields());
        for field in ["input", "shown"] {
            if let Some(value) = event.get_mut(field) {
                *value = match (self.detail, &*value) {
                    (RecordDetail::Full, Value::String(text)) => truncate_text(text).into(),
                    (RecordDetail::Full, other) => truncate_text(&other.to_string()).into(),
                    _ => Value::Null,
                };
            }
        }
        event
    }

    fn take_record(&mut self) -> NewRun {
        let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
        if self.omitted_events > 0 {
            let more = json!({"kind": "left_out", "events": self.omitted_events});
            self.events.push(more);
        }
        let usage = &self.usage;
        let skills = self.skills.iter().map(|(name, used)| {
            json!({"name": name, "id": used.id, "version": used.version, "loaded": used.loaded,
                "calls": used.calls})
        });
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
            usage: json!({
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "cache_read_input_tokens": usage.cache_read_input_tokens,
                "cache_creation_input_tokens": usage.cache_creation_input_tokens,
                "thinking_tokens": usage.thinking_tokens,
            }),
            skills: skills.collect(),
            files: json!(self.files),
            events: std::mem::take(&mut self.events).into(),
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
        let run = QueueEntry::Run(self.tenant.clone(), Box::new(self.take_record()));
        if queue.try_send(run).is_err() {
            tracing::warn!(
                run = self.id,
                "record queue is full; the record of this run is lost"
            );
        }
    }
}

/// The start of a text, and how much is missing. NUL cannot be stored.
fn truncate_text(text: &str) -> String {
    let kept: String = text.chars().take(MAX_TEXT_CHARS).collect();
    let more = text.len() - kept.len();
    let kept = kept.replace('\0', "\u{fffd}");
    match more {
        0 => kept,
        more => format!("{kept}\n[{more} more bytes]"),
    }
}
