//! What the scheduler does in one round. Each step can be repeated, also by another server.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use prowess_store::{
    BatchItemRef, BatchItemResult, BatchItemRun, BatchItemState, Result as StoreResult, RunState,
    Store, TenantId, Timestamp, UnsubmittedItem,
};
use prowess_wire::neutral::{ApiError, ErrorKind};
use prowess_wire::{ClientDialect, render_client_error};

use super::anthropic::request_betas;
use super::runs::{BatchRuns, NewBatchRun};
use super::settings::BatchSettings;

/// Batches or runs handled in one step; the next round continues.
const STEP_LIMIT: u32 = 64;
/// Results that are recorded together. Each may be as large as a response.
const RESULTS_AT_ONCE: usize = 16;
/// Requests of a tenant that are submitted at the same time.
const SUBMISSIONS_AT_ONCE: usize = 8;
/// The status of a request that was cancelled before it became a run. No client sees it.
const CANCELLED_STATUS: i64 = 499;
/// How long a tenant whose requests are refused for now is left alone, at first and at most.
const FIRST_DELAY: Duration = Duration::from_millis(500);
const MAX_DELAY: Duration = Duration::from_secs(30);

/// The steps of a scheduler, and what it remembers between rounds.
pub(super) struct ScheduleSteps<R> {
    pub(super) store: Store,
    pub(super) settings: BatchSettings,
    pub(super) runs: R,
    delays: HashMap<TenantId, Delay>,
}

/// A tenant whose requests are refused for now.
#[derive(Clone, Copy)]
struct Delay {
    until: Instant,
    length: Duration,
}

impl<R: BatchRuns> ScheduleSteps<R> {
    pub(super) fn new(store: Store, settings: BatchSettings, runs: R) -> ScheduleSteps<R> {
        ScheduleSteps {
            store,
            settings,
            runs,
            delays: HashMap::new(),
        }
    }

    /// One round. Returns whether anything has changed, so that more may follow at once.
    pub(super) async fn round(&mut self, now: Timestamp) -> StoreResult<bool> {
        let mut changed = self.expire(now).await?;
        changed |= self.stop_runs().await?;
        changed |= self.collect_results().await?;
        changed |= self
            .store
            .mark_running_items(self.settings.concurrency_limits())
            .await?
            > 0;
        changed |= self.submit().await?;
        Ok(changed)
    }

    async fn expire(&self, now: Timestamp) -> StoreResult<bool> {
        let runs = self.store.expire_batches(now, STEP_LIMIT).await?;
        for run in &runs {
            self.cancel(run).await;
        }
        Ok(!runs.is_empty())
    }

    /// Cancels the runs of cancelled batches.
    async fn stop_runs(&self) -> StoreResult<bool> {
        let runs = self.store.item_runs_to_stop(STEP_LIMIT).await?;
        for run in &runs {
            if self.cancel(run).await {
                self.store.mark_item_stopping(&run.item).await?;
            }
        }
        Ok(!runs.is_empty())
    }

    async fn cancel(&self, run: &BatchItemRun) -> bool {
        let cancelled = self.runs.cancel(&run.tenant, &run.run).await;
        if let Err(error) = &cancelled {
            tracing::warn!(run = run.run, %error, "cannot cancel a run of a batch");
        }
        cancelled.is_ok()
    }

    /// Records results: those of a batch together, as each transaction waits for a disk.
    async fn collect_results(&self) -> StoreResult<bool> {
        let mut ended = self.store.ended_item_runs(STEP_LIMIT).await?;
        ended.sort_by(|a, b| a.item.batch.cmp(&b.item.batch));
        let mut changed = false;
        for of_batch in ended.chunk_by(|a, b| a.item.batch == b.item.batch) {
            for part in of_batch.chunks(RESULTS_AT_ONCE) {
                changed |= self.collect_part(part).await?;
            }
        }
        Ok(changed)
    }

    /// Records the results of runs of one batch.
    async fn collect_part(&self, runs: &[BatchItemRun]) -> StoreResult<bool> {
        let Some(first) = runs.first() else {
            return Ok(false);
        };
        let mut found = Vec::new();
        for result in join_all(runs.iter().map(|run| self.read_result(run))).await {
            found.extend(result?);
        }
        let results: Vec<_> = found
            .iter()
            .map(|result| {
                let body = result.body.as_deref();
                let (state, status) = (result.state, result.status);
                (
                    result.seq,
                    BatchItemResult {
                        state,
                        status,
                        body,
                    },
                )
            })
            .collect();
        let batch = &first.item.batch;
        let recorded = self.store.record_batch_results(batch, &results).await?;
        if recorded > 0 {
            found.iter().for_each(|result| count(result.state));
        }
        Ok(recorded > 0)
    }

    /// How a request ended; none if that cannot be read for now.
    async fn read_result(&self, run: &BatchItemRun) -> StoreResult<Option<RequestEnd>> {
        let (state, status, body) = match self.runs.outcome(&run.tenant, &run.run).await {
            Ok(Some(outcome)) => {
                let state = match outcome.state {
                    RunState::Cancelled => BatchItemState::Cancelled,
                    _ if (200..300).contains(&outcome.status) => BatchItemState::Succeeded,
                    _ => BatchItemState::Errored,
                };
                (state, outcome.status, outcome.body.to_string())
            }
            Ok(None) => {
                // Its run was deleted before its result was collected.
                let error = ApiError::new(ErrorKind::Api, "the result of the request was lost");
                let rendered = render_client_error(self.client(run).await?, &error);
                let body = rendered.body.to_string();
                (BatchItemState::Errored, rendered.status, body)
            }
            Err(error) => {
                tracing::warn!(run = run.run, %error, "cannot read the result of a run");
                return Ok(None);
            }
        };
        Ok(Some(RequestEnd {
            seq: run.item.seq,
            state,
            status: status.into(),
            body: Some(body).filter(|_| state != BatchItemState::Cancelled),
        }))
    }

    /// The dialect of a request that has become a run.
    async fn client(&self, run: &BatchItemRun) -> StoreResult<ClientDialect> {
        let dialect = self.store.batch_dialect(&run.item.batch).await?;
        Ok(client_dialect(&dialect))
    }

    /// Submits requests that are marked as running and have no run.
    async fn submit(&mut self) -> StoreResult<bool> {
        let mut changed = false;
        for tenant in self.store.tenants_with_unsubmitted_items().await? {
            let limit = self.settings.tenant_concurrency;
            let items = self.store.unsubmitted_items(&tenant, limit).await?;
            let (cancelled, items): (Vec<_>, Vec<_>) =
                items.into_iter().partition(|item| item.is_cancelled);
            for item in &cancelled {
                changed |= self.cancel_item(&tenant, item).await?;
            }
            if self.is_delayed(&tenant) {
                continue;
            }
            for part in items.chunks(SUBMISSIONS_AT_ONCE) {
                let submitted = part.iter().map(|item| self.submit_item(&tenant, item));
                let mut is_refused = false;
                for submitted in join_all(submitted).await {
                    match submitted? {
                        SubmitOutcome::Done => changed = true,
                        SubmitOutcome::RefusedForNow => is_refused = true,
                    }
                }
                if is_refused {
                    self.delay(&tenant);
                    break;
                }
                self.delays.remove(&tenant);
            }
        }
        Ok(changed)
    }

    /// Ends a request of a cancelled batch that has no run. A server that died may have submitted
    /// it and not recorded its run, which is then cancelled like any other.
    async fn cancel_item(&self, tenant: &TenantId, item: &UnsubmittedItem) -> StoreResult<bool> {
        let reference = &item.item;
        match self.runs.find(tenant, &run_name(reference)).await {
            Ok(Some(run)) => self.store.set_batch_item_run(reference, &run).await?,
            Ok(None) => {
                let result = BatchItemResult {
                    state: BatchItemState::Cancelled,
                    status: CANCELLED_STATUS,
                    body: None,
                };
                self.store.record_batch_result(reference, &result).await?;
                count(result.state);
            }
            Err(error) => {
                tracing::warn!(batch = reference.batch, %error, "cannot cancel a request of a batch");
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn submit_item(
        &self,
        tenant: &TenantId,
        item: &UnsubmittedItem,
    ) -> StoreResult<SubmitOutcome> {
        let reference = &item.item;
        let Some(body) = self.store.batch_item_body(reference).await? else {
            return Ok(SubmitOutcome::Done);
        };
        let client = client_dialect(&item.dialect);
        let metadata = item.request_metadata.as_deref();
        let new = NewBatchRun {
            tenant,
            api_key: item.api_key.as_deref(),
            client,
            body: body.into(),
            betas: metadata.and_then(request_betas),
            idempotency_key: run_name(reference),
        };
        let error = match self.runs.submit(new).await {
            Ok(run) => {
                self.store.set_batch_item_run(reference, &run).await?;
                return Ok(SubmitOutcome::Done);
            }
            Err(error) => error,
        };
        if is_temporary(&error) {
            tracing::debug!(batch = reference.batch, %error, "a request of a batch has to wait");
            return Ok(SubmitOutcome::RefusedForNow);
        }
        let rendered = render_client_error(client, &error);
        let body = rendered.body.to_string();
        let result = BatchItemResult {
            state: BatchItemState::Errored,
            status: rendered.status.into(),
            body: Some(&body),
        };
        self.store.record_batch_result(reference, &result).await?;
        count(result.state);
        Ok(SubmitOutcome::Done)
    }

    fn is_delayed(&self, tenant: &TenantId) -> bool {
        let delay = self.delays.get(tenant);
        delay.is_some_and(|delay| delay.until > Instant::now())
    }

    fn delay(&mut self, tenant: &TenantId) {
        let before = self.delays.get(tenant);
        let length = before.map_or(FIRST_DELAY, |delay| (delay.length * 2).min(MAX_DELAY));
        let until = Instant::now() + length;
        self.delays.insert(tenant.clone(), Delay { until, length });
    }
}

/// The idempotency key of the run of a request.
fn run_name(item: &BatchItemRef) -> String {
    format!("batch:{}:{}", item.batch, item.seq)
}

/// Counts a request that has ended.
fn count(state: BatchItemState) {
    let outcome = match state {
        BatchItemState::Succeeded => "succeeded",
        BatchItemState::Cancelled => "cancelled",
        _ => "errored",
    };
    metrics::counter!("prowess_batch_requests_total", "outcome" => outcome).increment(1);
}

/// How a request ended.
struct RequestEnd {
    seq: i64,
    state: BatchItemState,
    status: i64,
    body: Option<String>,
}

enum SubmitOutcome {
    /// It is a run, or has its result.
    Done,
    RefusedForNow,
}

/// Whether the same request may be accepted soon: rate limits and failures of the server. A
/// spent budget lasts longer than the batch, or nearly so: its owner is to hear of it at once.
fn is_temporary(error: &ApiError) -> bool {
    error.kind != ErrorKind::Billing && (error.status >= 500 || matches!(error.status, 408 | 429))
}

fn client_dialect(text: &str) -> ClientDialect {
    match text {
        "chat" => ClientDialect::Chat,
        "responses" => ClientDialect::Responses,
        _ => ClientDialect::Messages,
    }
}
