//! The record of a run: gathered while it goes on, written when it is over, never
//! waited for. A run that is dropped half-way leaves one too.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use prowess_store::{NewRun, Store, TenantId, Timestamp};
use prowess_wire::Client;
use prowess_wire::neutral::{Map, Usage};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::events::{Made, Step};
use crate::resolve::Chosen;
use crate::settings::Record;

/// Records that wait to be written before others are lost.
const WAITING: usize = 1024;
/// Events kept of one run, and bytes of a text in them.
const MOST_EVENTS: usize = 300;
const LONGEST_TEXT: usize = 4 << 10;

/// Writes records in the background. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    store: Store,
    /// Where the writer lives: runs may be polled by runtimes that end before it.
    home: Option<Handle>,
    line: Arc<OnceLock<mpsc::Sender<Entry>>>,
}

/// What the writer is given.
#[derive(Debug)]
enum Entry {
    /// A run to be written.
    Run(TenantId, Box<NewRun>),
    /// To be answered once all before it are written.
    Written(oneshot::Sender<()>),
}

impl Recorder {
    pub(crate) fn new(store: Store) -> Self {
        Recorder {
            store,
            home: Handle::try_current().ok(),
            line: Arc::default(),
        }
    }

    /// The line to the writer, which starts when it is first wanted.
    fn line(&self) -> mpsc::Sender<Entry> {
        let start = || {
            let (line, waiting) = mpsc::channel(WAITING);
            let writer = write(self.store.clone(), waiting);
            match &self.home {
                Some(home) => home.spawn(writer),
                None => tokio::spawn(writer),
            };
            line
        };
        self.line.get_or_init(start).clone()
    }

    /// Waits until everything that was to be recorded is.
    pub(crate) async fn written(&self) {
        let (told, all) = oneshot::channel();
        if let Some(line) = self.line.get()
            && line.send(Entry::Written(told)).await.is_ok()
        {
            // A writer that is gone writes no more.
            let _ = all.await;
        }
    }
}

async fn write(store: Store, mut waiting: mpsc::Receiver<Entry>) {
    while let Some(entry) = waiting.recv().await {
        match entry {
            Entry::Run(tenant, run) => {
                if let Err(error) = store.record_run(&tenant, &run).await {
                    tracing::warn!(%error, run = run.id, "a run cannot be recorded");
                }
            }
            // Nobody is told who has stopped waiting.
            Entry::Written(told) => drop(told.send(())),
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

/// The record of one run while it goes on. Written when dropped.
#[derive(Debug)]
pub(crate) struct Log {
    line: Option<mpsc::Sender<Entry>>,
    detail: Record,
    pub(crate) id: String,
    tenant: TenantId,
    model: String,
    dialect: &'static str,
    provider: Option<String>,
    status: &'static str,
    turns: i64,
    calls: i64,
    usage: Usage,
    began: Timestamp,
    session: Option<String>,
    error: Option<String>,
    skills: BTreeMap<String, SkillUse>,
    files: Vec<Made>,
    events: Vec<Value>,
    left_out: usize,
}

impl Log {
    pub(crate) fn new(
        recorder: &Recorder,
        detail: Record,
        tenant: &TenantId,
        model: &str,
        client: Client,
    ) -> Result<Self, prowess_store::Error> {
        Ok(Log {
            line: (detail != Record::Off).then(|| recorder.line()),
            detail,
            id: Store::new_run_id()?,
            tenant: tenant.clone(),
            model: model.to_owned(),
            dialect: match client {
                Client::Messages => "messages",
                Client::Chat => "chat",
                Client::Responses => "responses",
                Client::Gemini => "gemini",
            },
            provider: None,
            // What it stays when the client leaves.
            status: "cancelled",
            turns: 0,
            calls: 0,
            usage: Usage::default(),
            began: Timestamp::now(),
            session: None,
            error: None,
            skills: BTreeMap::new(),
            files: Vec::new(),
            events: Vec::new(),
            left_out: 0,
        })
    }

    pub(crate) fn skills(&mut self, chosen: &[Chosen]) {
        for chosen in chosen {
            let skill = self.skill(&chosen.member.skill.name);
            skill.id = chosen.member.id.clone();
            skill.version = chosen.pin.as_ref().map(|pin| pin.version_id.clone());
        }
    }

    pub(crate) fn spent(&mut self, usage: &Usage) {
        self.turns += 1;
        self.usage.add(usage);
    }

    /// Counts a call, for a skill if it was for one.
    pub(crate) fn called(&mut self, skill: Option<&str>) {
        self.calls += 1;
        if let Some(name) = skill {
            self.skill(name).calls += 1;
        }
    }

    pub(crate) fn session(&mut self, id: Option<String>) {
        self.session = id;
    }

    pub(crate) fn ended(&mut self, status: &'static str, error: Option<String>) {
        self.status = status;
        self.error = error;
    }

    pub(crate) fn usage(&self) -> &Usage {
        &self.usage
    }

    fn skill(&mut self, name: &str) -> &mut SkillUse {
        self.skills.entry(name.to_owned()).or_default()
    }

    /// Notes what happened, with the time since the beginning.
    pub(crate) fn step(&mut self, step: &Step) {
        match step {
            Step::Turn(turn) => self.provider = Some(turn.provider.clone()),
            Step::SkillLoaded { name } => self.skill(name).loaded = true,
            Step::FileMade(made) => self.files.push(made.clone()),
            _ => {}
        }
        if self.events.len() >= MOST_EVENTS {
            self.left_out += 1;
            return;
        }
        let mut event = self.told(step);
        let micros = Timestamp::now().as_micros() - self.began.as_micros();
        event.insert("at_ms".to_owned(), (micros / 1000).into());
        self.events.push(event.into());
    }

    /// A step, with what was said only if that is recorded.
    fn told(&self, step: &Step) -> Map {
        let mut event = Map::from_iter([("kind".to_owned(), step.kind().into())]);
        event.extend(step.fields());
        for said in ["input", "shown"] {
            if let Some(value) = event.get_mut(said) {
                *value = match (self.detail, &*value) {
                    (Record::Full, Value::String(text)) => shortened(text).into(),
                    (Record::Full, other) => shortened(&other.to_string()).into(),
                    _ => Value::Null,
                };
            }
        }
        event
    }

    fn record(&mut self) -> NewRun {
        let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
        if self.left_out > 0 {
            let more = json!({"kind": "left_out", "events": self.left_out});
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
            started_at: self.began,
            ended_at: Timestamp::now(),
            session: self.session.take(),
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

impl Drop for Log {
    fn drop(&mut self) {
        let Some(line) = self.line.take() else {
            return;
        };
        let run = Entry::Run(self.tenant.clone(), Box::new(self.record()));
        if line.try_send(run).is_err() {
            tracing::warn!(
                run = self.id,
                "too many runs wait to be recorded; one is lost"
            );
        }
    }
}

/// The beginning of a text, with the cut named. NUL cannot be stored.
fn shortened(text: &str) -> String {
    let kept: String = text.chars().take(LONGEST_TEXT).collect();
    let more = text.len() - kept.len();
    let kept = kept.replace('\0', "\u{fffd}");
    match more {
        0 => kept,
        more => format!("{kept}\n[{more} more bytes]"),
    }
}
