//! A batch, its states and counts.

use std::time::Duration;

use crate::db::{DbRow, Sql};
use crate::error::{Error, Result};
use crate::id::IdPrefix;
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Where the requests of a batch come from, and where its results go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BatchKind {
    /// Requests come in the body, results are read from the batch.
    Messages,
    /// Requests come in a file, results become files.
    File,
}

/// The state of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BatchState {
    /// Its requests are being received. Clients do not see it yet.
    Receiving,
    /// Its file of requests is being read.
    Validating,
    /// Its requests are run.
    InProgress,
    /// No more requests are started.
    Cancelling,
    /// All requests have ended, and its files are written.
    Finalizing,
    /// All requests have a result.
    Completed,
    /// It was cancelled.
    Cancelled,
    /// Its time was over.
    Expired,
    /// Its file of requests was not valid.
    Failed,
}

/// The state of a request in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BatchItemState {
    /// It waits.
    Pending,
    /// It is a run, or becomes one now.
    Running,
    /// Its run is to be cancelled.
    Stopping,
    /// It has a response.
    Succeeded,
    /// It has an error.
    Errored,
    /// It was cancelled.
    Cancelled,
    /// The time of its batch was over.
    Expired,
}

/// Numbers of requests of a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BatchCounts {
    /// All.
    pub total: i64,
    /// Those with a response.
    pub succeeded: i64,
    /// Those with an error.
    pub errored: i64,
    /// Those that were cancelled.
    pub cancelled: i64,
    /// Those that were not run in time.
    pub expired: i64,
}

/// A batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchRecord {
    /// `msgbatch_…` or `batch_…`.
    pub id: String,
    /// Its tenant.
    pub tenant: TenantId,
    /// Its kind.
    pub kind: BatchKind,
    /// The dialect of its requests.
    pub dialect: String,
    /// The id of the key that it was created with; `None` for the operator.
    pub api_key: Option<String>,
    /// Its state.
    pub state: BatchState,
    /// The client's metadata, as JSON; of a Message Batch, what the server keeps of the request that
    /// created it.
    pub metadata: String,
    /// The file with the requests.
    pub input_file: Option<String>,
    /// The file with the responses.
    pub output_file: Option<String>,
    /// The file with the errors.
    pub error_file: Option<String>,
    /// How long its results are stored after its end.
    pub output_lifetime: Duration,
    /// Why it failed, or why its files cannot be written for now, as JSON.
    pub errors: Option<String>,
    /// Its requests by state.
    pub counts: BatchCounts,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its requests were complete.
    pub started_at: Option<Timestamp>,
    /// When it was first to be cancelled.
    pub cancel_requested_at: Option<Timestamp>,
    /// When all requests had ended.
    pub finalizing_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// When requests without a result expire.
    pub expires_at: Timestamp,
}

impl BatchKind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            BatchKind::Messages => "messages",
            BatchKind::File => "file",
        }
    }

    pub(super) fn id_prefix(self) -> IdPrefix {
        match self {
            BatchKind::Messages => IdPrefix::MessageBatch,
            BatchKind::File => IdPrefix::FileBatch,
        }
    }

    fn parse(text: &str) -> Result<Self> {
        match text {
            "messages" => Ok(BatchKind::Messages),
            "file" => Ok(BatchKind::File),
            _ => Err(malformed("kind", text)),
        }
    }
}

impl BatchState {
    const ALL: [BatchState; 9] = [
        BatchState::Receiving,
        BatchState::Validating,
        BatchState::InProgress,
        BatchState::Cancelling,
        BatchState::Finalizing,
        BatchState::Completed,
        BatchState::Cancelled,
        BatchState::Expired,
        BatchState::Failed,
    ];

    /// As stored, and as in OpenAI's API where it has the state.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            BatchState::Receiving => "receiving",
            BatchState::Validating => "validating",
            BatchState::InProgress => "in_progress",
            BatchState::Cancelling => "cancelling",
            BatchState::Finalizing => "finalizing",
            BatchState::Completed => "completed",
            BatchState::Cancelled => "cancelled",
            BatchState::Expired => "expired",
            BatchState::Failed => "failed",
        }
    }

    /// Whether clients can cancel it: later there is nothing left to cancel.
    #[must_use]
    pub fn is_cancellable(self) -> bool {
        matches!(self, BatchState::Validating | BatchState::InProgress)
    }

    /// Whether it never changes again.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(
            self,
            BatchState::Completed
                | BatchState::Cancelled
                | BatchState::Expired
                | BatchState::Failed
        )
    }

    fn parse(text: &str) -> Result<Self> {
        let mut all = BatchState::ALL.into_iter();
        let found = all.find(|state| state.as_str() == text);
        found.ok_or_else(|| malformed("state", text))
    }
}

impl BatchItemState {
    const ALL: [BatchItemState; 7] = [
        BatchItemState::Pending,
        BatchItemState::Running,
        BatchItemState::Stopping,
        BatchItemState::Succeeded,
        BatchItemState::Errored,
        BatchItemState::Cancelled,
        BatchItemState::Expired,
    ];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            BatchItemState::Pending => "pending",
            BatchItemState::Running => "running",
            BatchItemState::Stopping => "stopping",
            BatchItemState::Succeeded => "succeeded",
            BatchItemState::Errored => "errored",
            BatchItemState::Cancelled => "cancelled",
            BatchItemState::Expired => "expired",
        }
    }

    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut all = BatchItemState::ALL.into_iter();
        let found = all.find(|state| state.as_str() == text);
        found.ok_or_else(|| malformed("state of an item", text))
    }
}

impl BatchCounts {
    /// Those without a result.
    #[must_use]
    pub fn processing(&self) -> i64 {
        self.total - self.succeeded - self.errored - self.cancelled - self.expired
    }
}

const COLUMNS: &str =
    "id, tenant, kind, dialect, api_key, state, metadata, input_file, output_file,
    error_file, output_lifetime, errors, total, succeeded, errored, cancelled, expired, created_at,
    started_at, cancel_requested_at, finalizing_at, ended_at, expires_at";

impl BatchRecord {
    /// `SELECT` of all columns; the caller adds the condition.
    pub(super) fn select() -> Sql {
        Sql::new("SELECT ").push(COLUMNS).push(" FROM batches")
    }

    /// `RETURNING` all columns.
    pub(super) fn returning(sql: Sql) -> Sql {
        sql.push(" RETURNING ").push(COLUMNS)
    }

    pub(super) fn from_row(row: &DbRow) -> Result<Self> {
        let lifetime = u64::try_from(row.int("output_lifetime")?).unwrap_or_default();
        Ok(BatchRecord {
            id: row.text("id")?,
            tenant: TenantId::new(row.text("tenant")?)?,
            kind: BatchKind::parse(&row.text("kind")?)?,
            dialect: row.text("dialect")?,
            api_key: row.optional_text("api_key")?,
            state: BatchState::parse(&row.text("state")?)?,
            metadata: row.text("metadata")?,
            input_file: row.optional_text("input_file")?,
            output_file: row.optional_text("output_file")?,
            error_file: row.optional_text("error_file")?,
            output_lifetime: Duration::from_micros(lifetime),
            errors: row.optional_text("errors")?,
            counts: BatchCounts {
                total: row.int("total")?,
                succeeded: row.int("succeeded")?,
                errored: row.int("errored")?,
                cancelled: row.int("cancelled")?,
                expired: row.int("expired")?,
            },
            created_at: row.time("created_at")?,
            started_at: row.optional_time("started_at")?,
            cancel_requested_at: row.optional_time("cancel_requested_at")?,
            finalizing_at: row.optional_time("finalizing_at")?,
            ended_at: row.optional_time("ended_at")?,
            expires_at: row.time("expires_at")?,
        })
    }
}

fn malformed(what: &str, text: &str) -> Error {
    Error::MalformedRow {
        table: "batches",
        reason: format!("unknown {what} `{text}`"),
    }
}
