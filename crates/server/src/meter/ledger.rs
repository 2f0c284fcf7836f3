//! The rows of usage: gathered by requests, written by one task, in batches.
//!
//! A request only puts its row into a queue. When the queue is full the row is dropped,
//! and counted: an answer never waits for the database.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::time::Duration;

use prowess_store::{Store, UsageRow};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// Rows that may wait to be written.
const QUEUE: usize = 16_384;
/// Kinds of rows written in one go.
const BATCH: usize = 500;
/// How long rows are gathered.
const EVERY: Duration = Duration::from_secs(1);
/// How often a batch is tried before it is given up.
const TRIES: u32 = 5;

const DROPPED: &str = "prowess_usage_dropped_total";

/// Takes rows and sees to it that they are written.
pub(crate) struct Ledger {
    store: Store,
    /// Where the writer lives: a connection's own runtime ends before the server does.
    home: Option<Handle>,
    // Started by the first row, when there surely is a runtime.
    queue: OnceLock<mpsc::Sender<Entry>>,
}

enum Entry {
    Row(Box<UsageRow>),
    /// Asks for everything before it to be written.
    Flush(oneshot::Sender<()>),
}

impl Ledger {
    pub(crate) fn new(store: Store) -> Ledger {
        Ledger {
            store,
            home: Handle::try_current().ok(),
            queue: OnceLock::new(),
        }
    }

    /// Takes a row, or drops it when too many wait.
    pub(crate) fn note(&self, row: UsageRow) {
        // An answer may be dropped after its runtime has ended.
        let Some(runtime) = self.home.clone().or_else(|| Handle::try_current().ok()) else {
            metrics::counter!(DROPPED).increment(1);
            return;
        };
        let queue = self.queue.get_or_init(|| {
            let (sender, receiver) = mpsc::channel(QUEUE);
            runtime.spawn(write(self.store.clone(), receiver));
            sender
        });
        if queue.try_send(Entry::Row(Box::new(row))).is_err() {
            metrics::counter!(DROPPED).increment(1);
        }
    }

    /// Waits until all rows so far are written, or given up.
    pub(crate) async fn flush(&self) {
        let (done, written) = oneshot::channel();
        if let Some(queue) = self.queue.get()
            && queue.send(Entry::Flush(done)).await.is_ok()
        {
            // The writer lives as long as the queue.
            let _ = written.await;
        }
    }
}

async fn write(store: Store, mut queue: mpsc::Receiver<Entry>) {
    let mut batch = Batch::default();
    while let Some(entry) = queue.recv().await {
        let until = Instant::now() + EVERY;
        let mut waiting = batch.take(entry);
        while waiting.is_none() && batch.rows.len() < BATCH {
            match tokio::time::timeout_at(until, queue.recv()).await {
                Ok(Some(entry)) => waiting = batch.take(entry),
                Ok(None) | Err(_) => break,
            }
        }
        batch.write(&store).await;
        if let Some(waiting) = waiting {
            // Nobody may be waiting any more.
            let _ = waiting.send(());
        }
    }
}

/// Rows that are to be written together. Those that agree in all but their counts are
/// one.
#[derive(Default)]
struct Batch {
    rows: Vec<UsageRow>,
    places: HashMap<Kind, usize>,
}

#[derive(PartialEq, Eq, Hash)]
struct Kind(String, Option<String>, String, String, String, String, u16);

impl Kind {
    fn of(row: &UsageRow) -> Kind {
        Kind(
            row.tenant.as_str().to_owned(),
            row.key.clone(),
            row.model.clone(),
            row.provider.clone(),
            row.upstream_model.clone(),
            row.dialect.clone(),
            row.status,
        )
    }
}

impl Batch {
    /// Takes an entry; gives whom to tell when it is a wish for all to be written.
    fn take(&mut self, entry: Entry) -> Option<oneshot::Sender<()>> {
        match entry {
            Entry::Flush(done) => Some(done),
            Entry::Row(row) => {
                self.add(*row);
                None
            }
        }
    }

    fn add(&mut self, row: UsageRow) {
        let place = self.places.entry(Kind::of(&row));
        let place = *place.or_insert(self.rows.len());
        match self.rows.get_mut(place) {
            Some(sum) => add(sum, &row),
            None => self.rows.push(row),
        }
    }

    /// Writes all rows and forgets them. What cannot be written after several tries is
    /// counted as dropped.
    async fn write(&mut self, store: &Store) {
        let rows = std::mem::take(&mut self.rows);
        self.places.clear();
        for tried in 1..=TRIES {
            match store.record_usage(&rows).await {
                Ok(()) => return,
                Err(error) if tried == TRIES || !error.is_transient() => {
                    let requests: u64 = rows.iter().map(|row| row.requests).sum();
                    metrics::counter!(DROPPED).increment(requests);
                    tracing::error!(requests, %error, "cannot write the usage of requests");
                    return;
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot write usage yet");
                    tokio::time::sleep(EVERY * tried).await;
                }
            }
        }
    }
}

fn add(sum: &mut UsageRow, row: &UsageRow) {
    for (mine, theirs) in [
        (&mut sum.requests, row.requests),
        (&mut sum.unpriced, row.unpriced),
        (&mut sum.estimated, row.estimated),
        (&mut sum.input_tokens, row.input_tokens),
        (&mut sum.output_tokens, row.output_tokens),
        (&mut sum.cache_read_tokens, row.cache_read_tokens),
        (&mut sum.cache_write_tokens, row.cache_write_tokens),
        (&mut sum.cost_nanos, row.cost_nanos),
        (&mut sum.millis, row.millis),
    ] {
        *mine = mine.saturating_add(theirs);
    }
}
