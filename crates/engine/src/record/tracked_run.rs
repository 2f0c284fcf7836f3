//! One foreground run, and what is to be written of it.

use std::time::Duration;

use prowess_store::{EndedForegroundRun, ForegroundRun, NewRun, UsageRow};
use tokio::time::Instant;

/// How long a run has no row, and how often rows are written.
pub(super) const WRITE_DELAY: Duration = Duration::from_millis(250);

/// A foreground run, and what is to be written of it.
#[derive(Debug)]
pub(super) struct TrackedRun {
    pub(super) began: Instant,
    pub(super) run: ForegroundRun,
    /// Whether `run` is newer than its row.
    pub(super) is_changed: bool,
    pub(super) row: RowState,
    pub(super) end: RunEnding,
    /// How often it could not be written.
    pub(super) attempts: u32,
}

/// Whether a run has a row.
#[derive(Debug)]
pub(super) enum RowState {
    Absent,
    /// It was written, perhaps without success.
    Uncertain,
    /// It was written, with this usage.
    Stored(Box<UsageRow>),
    /// Another server has recorded the run as interrupted, with this usage.
    Gone(Box<UsageRow>),
}

/// What is known of a run's end.
#[derive(Debug, Default)]
pub(super) struct RunEnding {
    pub(super) record: Option<Box<NewRun>>,
    /// The usage once it is known, which may be that nobody counts it.
    pub(super) usage: Option<Option<Box<UsageRow>>>,
}

/// What is to be written.
#[derive(Debug, Default)]
pub(super) struct DueWrites {
    pub(super) new: Vec<ForegroundRun>,
    pub(super) changed: Vec<ForegroundRun>,
    pub(super) ended: Vec<EndedForegroundRun>,
}

impl DueWrites {
    pub(super) fn len(&self) -> usize {
        self.new.len() + self.changed.len() + self.ended.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl TrackedRun {
    pub(super) fn new(run: ForegroundRun) -> Self {
        TrackedRun {
            began: Instant::now(),
            is_changed: true,
            row: RowState::Absent,
            end: RunEnding::default(),
            attempts: 0,
            run,
        }
    }

    /// Adds what is to be written of it now.
    pub(super) fn take_due(&mut self, due: &mut DueWrites) {
        if self.end.is_known() {
            due.ended.extend(self.take_end());
            return;
        }
        // Also when it has ended and its client has not received all of the response: its usage
        // is then not known yet.
        if !self.is_changed {
            return;
        }
        match self.row {
            RowState::Absent if self.began.elapsed() < WRITE_DELAY => return,
            RowState::Absent | RowState::Uncertain => {
                self.row = RowState::Uncertain;
                due.new.push(self.run.clone());
            }
            RowState::Stored(_) => due.changed.push(self.run.clone()),
            RowState::Gone(_) => {}
        }
        self.is_changed = false;
    }

    /// The end, once record and usage are known.
    fn take_end(&mut self) -> Option<EndedForegroundRun> {
        let record = self.end.record.take()?;
        Some(EndedForegroundRun {
            tenant: self.run.usage.tenant.clone(),
            record: *record,
            usage: self.end.usage.take()?.map(|usage| *usage),
            stored_usage: match &self.row {
                RowState::Stored(usage) | RowState::Gone(usage) => Some((**usage).clone()),
                RowState::Absent | RowState::Uncertain => None,
            },
        })
    }
}

impl RunEnding {
    pub(super) fn is_known(&self) -> bool {
        self.record.is_some() && self.usage.is_some()
    }
}
