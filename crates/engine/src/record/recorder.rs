//! The queue of records. Records of foreground runs that have a row are written by
//! `foreground_writer` instead, together with the end of the row.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use prowess_store::{NewRun, Store, TenantId};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use super::foreground::ForegroundRuns;
use super::foreground_writer::run_writer;

/// Records that wait to be written; further ones are lost.
const QUEUE_CAPACITY: usize = 1024;
/// Records written at once.
const BATCH_RECORDS: usize = 64;

/// Writes records in the background. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct RunRecorder {
    store: Store,
    /// The runtime of the writers: runs may be polled by runtimes that end earlier.
    runtime: Option<Handle>,
    queue: Arc<OnceLock<RecordQueue>>,
    foreground: Arc<OnceLock<Arc<ForegroundRuns>>>,
    /// The name under which this process owns foreground runs.
    owner: Arc<str>,
    lost: Arc<AtomicU64>,
}

/// Where records wait to be written. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct RecordQueue {
    sender: mpsc::Sender<QueueEntry>,
    lost: Arc<AtomicU64>,
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
            foreground: Arc::default(),
            owner: format!("server_{:016x}", fastrand::u64(..)).into(),
            lost: Arc::default(),
        }
    }

    /// The queue of the writer, which is started on first use.
    pub(super) fn queue(&self) -> RecordQueue {
        let start = || {
            let (sender, receiver) = mpsc::channel(QUEUE_CAPACITY);
            self.spawn(write_records(self.store.clone(), receiver));
            RecordQueue {
                sender,
                lost: Arc::clone(&self.lost),
            }
        };
        self.queue.get_or_init(start).clone()
    }

    /// The foreground runs of this process; their writer is started on first use.
    pub(super) fn foreground(&self) -> &Arc<ForegroundRuns> {
        self.foreground.get_or_init(|| {
            let runs = Arc::new(ForegroundRuns::new(Arc::clone(&self.owner)));
            self.spawn(run_writer(self.store.clone(), Arc::clone(&runs)));
            runs
        })
    }

    fn spawn(&self, writer: impl Future<Output = ()> + Send + 'static) {
        match &self.runtime {
            Some(runtime) => drop(runtime.spawn(writer)),
            None => drop(tokio::spawn(writer)),
        }
    }

    /// The name under which this process owns foreground runs.
    pub(crate) fn owner(&self) -> &str {
        &self.owner
    }

    /// How many records and rows were dropped because too many were waiting.
    pub(crate) fn dropped(&self) -> u64 {
        let rows = self.foreground.get().map_or(0, |runs| runs.dropped());
        self.lost.load(Ordering::Relaxed).saturating_add(rows)
    }

    /// Waits until the records of all runs that have ended are written.
    pub(crate) async fn flush(&self) {
        if let Some(foreground) = self.foreground.get() {
            foreground.flush().await;
        }
        let (done, all) = oneshot::channel();
        if let Some(queue) = self.queue.get()
            && queue.sender.send(QueueEntry::Flush(done)).await.is_ok()
        {
            // An error means that the writer has ended, so there is nothing to wait for.
            let _ = all.await;
        }
    }
}

impl RecordQueue {
    /// Adds a record, or drops it when too many are waiting.
    pub(super) fn push(&self, tenant: TenantId, run: NewRun) {
        let id = run.id.clone();
        let entry = QueueEntry::Run(tenant, Box::new(run));
        if self.sender.try_send(entry).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(
                run = id,
                "record queue is full; the record of this run is lost"
            );
        }
    }
}

async fn write_records(store: Store, mut waiting: mpsc::Receiver<QueueEntry>) {
    let mut entries = Vec::new();
    while waiting.recv_many(&mut entries, BATCH_RECORDS).await > 0 {
        let (mut runs, mut flushed) = (Vec::new(), Vec::new());
        for entry in entries.drain(..) {
            match entry {
                QueueEntry::Run(tenant, run) => runs.push((tenant, *run)),
                QueueEntry::Flush(done) => flushed.push(done),
            }
        }
        write_batch(&store, &runs).await;
        for done in flushed {
            // The receiver may have stopped waiting.
            let _ = done.send(());
        }
    }
}

async fn write_batch(store: &Store, runs: &[(TenantId, NewRun)]) {
    if runs.len() > 1 && store.record_runs(runs).await.is_ok() {
        return;
    }
    // One that cannot be written must not cost the others theirs.
    for (tenant, run) in runs {
        if let Err(error) = store.record_run(tenant, run).await {
            tracing::warn!(%error, run = run.id, "cannot write the record of a run");
        }
    }
}
