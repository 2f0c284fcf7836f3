//! A light, constant load of mixed requests, and what became of each.
//!
//! Requests are sent at fixed times, whether or not those before them were answered: as
//! many people as before still want something while nothing answers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use prowess_bench::server::ScriptedCommand;
use prowess_bench::server::outcome::RequestOutcome;
use prowess_bench::server::tenant::BenchTenant;
use prowess_bench::stop::{Stop, StopSource};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

/// From the start of one request of a kind to that of the next.
const INTERVAL: Duration = Duration::from_millis(250);
/// Requests of a kind that wait for their answers at once. Enough for all that are sent
/// before the first of them is given up.
const MAX_OUTSTANDING: usize = 48;
/// The load ends by itself after this long.
const TIME_LIMIT: Duration = Duration::from_secs(3_600);
/// Requests in a row that must be done before a kind counts as served.
const SERVED_IN_A_ROW: usize = 3;
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// What is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestKind {
    PassThrough,
    Upload,
    Run,
    Health,
    Ready,
}

impl RequestKind {
    pub(crate) const ALL: [RequestKind; 5] = [
        RequestKind::PassThrough,
        RequestKind::Upload,
        RequestKind::Run,
        RequestKind::Health,
        RequestKind::Ready,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            RequestKind::PassThrough => "pass-through",
            RequestKind::Upload => "upload, delete",
            RequestKind::Run => "run",
            RequestKind::Health => "/healthz",
            RequestKind::Ready => "/readyz",
        }
    }
}

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct FaultSample {
    pub(crate) kind: RequestKind,
    pub(crate) start: Instant,
    pub(crate) end: Instant,
    pub(crate) outcome: RequestOutcome,
}

type Samples = Arc<Mutex<Vec<FaultSample>>>;

/// The load, while it lasts.
pub(crate) struct Load {
    source: StopSource,
    loops: JoinSet<()>,
    samples: Samples,
}

impl Load {
    pub(crate) fn start(runtime: &Runtime, tenant: BenchTenant, skill: String) -> Load {
        let _context = runtime.enter();
        let (source, stop) = StopSource::within(TIME_LIMIT);
        let samples = Samples::default();
        let mut loops = JoinSet::new();
        for kind in RequestKind::ALL {
            let sender = Sender {
                tenant: tenant.clone(),
                skill: skill.clone(),
                kind,
                next_skill: AtomicUsize::new(1),
                samples: Arc::clone(&samples),
            };
            loops.spawn(repeat(Arc::new(sender), stop.clone()));
        }
        Load {
            source,
            loops,
            samples,
        }
    }

    /// Waits until several requests in a row of every kind, all begun after `since`, are
    /// done. Gives how long after `since` the first of those of the last kind was done; or
    /// what became of a kind that was not served within the limit.
    pub(crate) fn until_served(&self, since: Instant, limit: Duration) -> Result<Duration, String> {
        loop {
            let states = RequestKind::ALL.map(|kind| served_at(&lock(&self.samples), kind, since));
            if let Some(times) = states.iter().cloned().collect::<Option<Vec<_>>>() {
                let last = times.into_iter().max().unwrap_or(since);
                return Ok(last.saturating_duration_since(since));
            }
            if since.elapsed() > limit {
                return Err(unserved(&lock(&self.samples), since));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Ends the load after what is under way, and gives all requests there were.
    pub(crate) fn stop(mut self, runtime: &Runtime) -> Vec<FaultSample> {
        self.source.stop();
        runtime.block_on(async { while self.loops.join_next().await.is_some() {} });
        std::mem::take(&mut lock(&self.samples))
    }
}

fn lock(samples: &Samples) -> MutexGuard<'_, Vec<FaultSample>> {
    samples.lock().unwrap_or_else(PoisonError::into_inner)
}

/// When the first of the newest unbroken row of a kind's requests was done, if the row is
/// long enough.
fn served_at(samples: &[FaultSample], kind: RequestKind, since: Instant) -> Option<Instant> {
    let own = samples.iter();
    let own = own.filter(|sample| sample.kind == kind && sample.start >= since);
    let mut own: Vec<&FaultSample> = own.collect();
    own.sort_by_key(|sample| sample.start);
    let row = own
        .iter()
        .rev()
        .take_while(|sample| sample.outcome.is_done());
    let row: Vec<_> = row.collect();
    let first = row.last().filter(|_| row.len() >= SERVED_IN_A_ROW)?;
    Some(first.end)
}

/// The kinds that are not served, and what became of the last request of each.
fn unserved(samples: &[FaultSample], since: Instant) -> String {
    let mut all = Vec::new();
    for kind in RequestKind::ALL {
        if served_at(samples, kind, since).is_some() {
            continue;
        }
        let last = samples.iter().rev().find(|sample| sample.kind == kind);
        let class = last.map_or("nothing".to_owned(), |last| last.outcome.class());
        all.push(format!("{}: {class}", kind.name()));
    }
    all.join(", ")
}

/// Sends the requests of one kind.
struct Sender {
    tenant: BenchTenant,
    skill: String,
    kind: RequestKind,
    next_skill: AtomicUsize,
    samples: Samples,
}

async fn repeat(sender: Arc<Sender>, stop: Stop) {
    let mut outstanding = JoinSet::new();
    let mut times = tokio::time::interval(INTERVAL);
    times.set_missed_tick_behavior(MissedTickBehavior::Skip);
    while stop.unless_due(times.tick()).await.is_some() {
        while outstanding.try_join_next().is_some() {}
        if outstanding.len() < MAX_OUTSTANDING {
            let sender = Arc::clone(&sender);
            outstanding.spawn(async move { sender.sample().await });
        }
    }
    while outstanding.join_next().await.is_some() {}
}

impl Sender {
    async fn sample(&self) {
        let start = Instant::now();
        let outcome = self.send().await;
        let sample = FaultSample {
            kind: self.kind,
            start,
            end: Instant::now(),
            outcome,
        };
        lock(&self.samples).push(sample);
    }

    async fn send(&self) -> RequestOutcome {
        let tenant = &self.tenant;
        match self.kind {
            RequestKind::PassThrough => tenant.pass_through().await,
            RequestKind::Run => tenant.run(&self.skill, ScriptedCommand::Print).await,
            RequestKind::Health => tenant.health("/healthz").await,
            RequestKind::Ready => tenant.health("/readyz").await,
            RequestKind::Upload => {
                let number = self.next_skill.fetch_add(1, Ordering::Relaxed);
                let uploaded = tenant.upload(number).await;
                match uploaded.text("/id") {
                    Some(id) => tenant.delete_skill(&id).await,
                    None => uploaded,
                }
            }
        }
    }
}
