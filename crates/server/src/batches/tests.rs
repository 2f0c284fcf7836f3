//! The scheduler over a real store, with runs that the test ends.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use prowess_store::{
    BatchConcurrency, BatchKind, BatchRecord, BatchState, BeginOutcome, NewBatch, NewBatchItem,
    NewFile, NewJournalRun, RunResult, RunState, Store, StoreConfig, TenantId, Timestamp,
};
use prowess_wire::neutral::{ApiError, ErrorKind};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::finish::finish;
use super::runs::{BatchRunOutcome, BatchRuns, NewBatchRun};
use super::scheduler::{BatchScheduler, RoundEnd};
use super::settings::BatchSettings;
use super::{anthropic, openai};

const DAY: Duration = Duration::from_secs(24 * 3_600);
const ONE_AT_A_TIME: BatchConcurrency = BatchConcurrency {
    total: 1,
    tenant: 1,
};

/// Runs in the journal of the store, which nobody runs until the test does.
#[derive(Clone)]
struct TestRuns {
    store: Store,
    /// Answers of `submit` that are not a run, by idempotency key.
    refusals: Arc<Mutex<HashMap<String, ApiError>>>,
    cancelled: Arc<Mutex<Vec<String>>>,
}

impl BatchRuns for TestRuns {
    async fn submit(&self, new: NewBatchRun<'_>) -> Result<String, ApiError> {
        if let Some(error) = self.refusals.lock().unwrap().get(&new.idempotency_key) {
            return Err(error.clone());
        }
        let id = Store::new_run_id().unwrap();
        let run = NewJournalRun {
            id: &id,
            api_key: new.api_key,
            dialect: "messages",
            model: "m",
            kept: true,
            format: 1,
            idempotency_key: Some(&new.idempotency_key),
            request_digest: "one",
            request: &new.body,
        };
        match self.store.enqueue_run(new.tenant, &run).await.unwrap() {
            BeginOutcome::Started(_) => Ok(id),
            BeginOutcome::Existing { run, .. } => Ok(run),
        }
    }

    async fn find(
        &self,
        tenant: &TenantId,
        idempotency_key: &str,
    ) -> Result<Option<String>, ApiError> {
        let found = self.store.run_by_idempotency_key(tenant, idempotency_key);
        Ok(found.await.unwrap())
    }

    async fn outcome(
        &self,
        tenant: &TenantId,
        run: &str,
    ) -> Result<Option<BatchRunOutcome>, ApiError> {
        let run = self.store.journal_run(tenant, run).await.unwrap();
        let body = run
            .result
            .map(|text| serde_json::from_str::<Value>(&text).unwrap());
        let body = body.unwrap_or_default();
        let status = match body.get("error") {
            None => 200,
            Some(_) => 400,
        };
        Ok(Some(BatchRunOutcome {
            state: run.state,
            status,
            body,
        }))
    }

    async fn cancel(&self, tenant: &TenantId, run: &str) -> Result<(), ApiError> {
        self.cancelled.lock().unwrap().push(run.to_owned());
        self.store.cancel_run(tenant, run, &[]).await.unwrap();
        Ok(())
    }
}

struct Bed {
    store: Store,
    tenant: TenantId,
    runs: TestRuns,
    _folder: TempDir,
}

impl Bed {
    async fn new() -> Bed {
        Bed::with_quota(None).await
    }

    /// The tenant may store so many bytes of files.
    async fn with_quota(bytes: Option<u64>) -> Bed {
        let folder = tempfile::tempdir().unwrap();
        let mut config = StoreConfig::local(folder.path());
        config.limits.bytes = bytes;
        let store = Store::open(&config).await.unwrap();
        Bed {
            runs: TestRuns {
                store: store.clone(),
                refusals: Arc::default(),
                cancelled: Arc::default(),
            },
            store,
            tenant: TenantId::default_tenant(),
            _folder: folder,
        }
    }

    fn scheduler(&self, owner: &str) -> BatchScheduler<TestRuns> {
        let settings = BatchSettings {
            tenant_concurrency: 2,
            max_requests: 5,
            ..BatchSettings::default()
        };
        let (store, runs) = (self.store.clone(), self.runs.clone());
        BatchScheduler::new(store, settings, 10_000, runs, owner.to_owned())
    }

    /// A batch of messages with this many requests.
    async fn messages(&self, requests: i64) -> BatchRecord {
        let batch = self.create(BatchKind::Messages, "messages", None).await;
        let item = |seq| NewBatchItem {
            seq,
            custom_id: format!("r{seq}"),
            body: format!("{{\"n\":{seq}}}").into_bytes(),
        };
        let items = (0..requests).map(item).collect();
        let added = self
            .store
            .add_batch_items(&self.tenant, &batch.id, 0, items);
        added.await.unwrap();
        let started = self.store.start_batch(&self.tenant, &batch.id, 0).await;
        started.unwrap().unwrap()
    }

    /// A batch of a file with this text.
    async fn file(&self, text: &str) -> BatchRecord {
        let file = self.upload(text).await;
        self.create(BatchKind::File, "chat", Some(&file)).await
    }

    /// A file with this text.
    async fn upload(&self, text: &str) -> String {
        let new = NewFile {
            name: "in.jsonl",
            mime: "application/jsonl",
            purpose: "batch",
            scope: None,
            downloadable: false,
            expires_in: None,
            limit: 1 << 20,
        };
        // Cut within lines.
        let parts: Vec<_> = text
            .as_bytes()
            .chunks(7)
            .map(Bytes::copy_from_slice)
            .collect();
        let content = stream::iter(parts.into_iter().map(Ok::<_, io::Error>));
        let file = self.store.create_file(&self.tenant, &new, content).await;
        file.unwrap().id
    }

    async fn create(&self, kind: BatchKind, dialect: &str, file: Option<&str>) -> BatchRecord {
        let new = NewBatch {
            kind,
            dialect,
            api_key: None,
            metadata: "{\"a\":\"b\"}",
            input_file: file,
            output_lifetime: DAY,
            expires_in: DAY,
        };
        let limits = BatchSettings::default().tenant_limits();
        let created = self.store.create_batch(&self.tenant, &new, &limits).await;
        created.unwrap()
    }

    async fn get(&self, batch: &BatchRecord) -> BatchRecord {
        let found = self.store.batch(&self.tenant, batch.kind, &batch.id).await;
        found.unwrap()
    }

    /// Claims all runs and ends them; returns the requests.
    async fn end_runs(&self, result: impl Fn(&Value) -> Value) -> Vec<Value> {
        let claimed = self
            .store
            .claim_runs("test", DAY, 1, 100, &[], &[])
            .await
            .unwrap();
        let mut requests = Vec::new();
        for run in claimed {
            let request: Value = serde_json::from_slice(&run.request).unwrap();
            let body = result(&request).to_string();
            let ended = RunResult {
                state: RunState::Completed,
                body: &body,
                events: None,
            };
            let _ = self.store.end_run(&run.lease, &ended, &[]).await.unwrap();
            requests.push(request);
        }
        // Several are submitted at the same time.
        requests.sort_by_key(Value::to_string);
        requests
    }
}

/// Runs the scheduler until nothing changes any more.
async fn settle(scheduler: &mut BatchScheduler<TestRuns>) {
    loop {
        let end = scheduler.schedule_once().await.unwrap();
        if !scheduler.finish_file_tasks().await && end != RoundEnd::Changed {
            return;
        }
    }
}

fn line(custom_id: &str) -> String {
    let body = json!({"model": "m", "messages": [custom_id]});
    let line = json!({
        "custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body,
    });
    format!("{line}\n")
}

#[tokio::test]
async fn requests_are_run_a_few_at_a_time_until_all_have_results() {
    let bed = Bed::new().await;
    let batch = bed.messages(3).await;
    let mut scheduler = bed.scheduler("a");
    settle(&mut scheduler).await;
    let first = bed.end_runs(|request| json!({"echo": request})).await;
    assert_eq!(first, [json!({"n": 0}), json!({"n": 1})]);
    settle(&mut scheduler).await;
    assert_eq!(bed.get(&batch).await.counts.processing(), 1);
    let rest = bed.end_runs(|_| json!({"error": {"type": "bad"}})).await;
    assert_eq!(rest, [json!({"n": 2})]);
    settle(&mut scheduler).await;
    let ended = anthropic::batch(&bed.get(&batch).await);
    assert_eq!(ended["processing_status"], "ended");
    let counts = json!({
        "processing": 0, "succeeded": 2, "errored": 1, "canceled": 0, "expired": 0,
    });
    assert_eq!(ended["request_counts"], counts);
    let url = format!("/v1/messages/batches/{}/results", batch.id);
    assert_eq!(ended["results_url"], url);
    let results = bed
        .store
        .batch_results(&bed.tenant, &batch.id, -1, 10)
        .await;
    let lines: Vec<Value> = results
        .unwrap()
        .iter()
        .map(|result| serde_json::from_str(&anthropic::result_line(result)).unwrap())
        .collect();
    let message = json!({"echo": {"n": 1}});
    let second = json!({"custom_id": "r1", "result": {"type": "succeeded", "message": message}});
    assert_eq!(lines[1], second);
    let error = json!({"error": {"type": "bad"}});
    let third = json!({"custom_id": "r2", "result": {"type": "errored", "error": error}});
    assert_eq!(lines[2], third);
}

#[tokio::test]
async fn a_request_submitted_before_a_crash_is_not_submitted_twice() {
    let bed = Bed::new().await;
    bed.messages(1).await;
    // A server marks the request and submits it, and dies before it records the run.
    bed.store.mark_running_items(ONE_AT_A_TIME).await.unwrap();
    let waiting = bed.store.unsubmitted_items(&bed.tenant, 1).await.unwrap();
    let item = &waiting[0].item;
    let run = bed.runs.submit(NewBatchRun {
        tenant: &bed.tenant,
        api_key: None,
        client: prowess_wire::ClientDialect::Messages,
        body: Bytes::from_static(b"{\"n\":0}"),
        betas: None,
        idempotency_key: format!("batch:{}:{}", item.batch, item.seq),
    });
    run.await.unwrap();
    let mut scheduler = bed.scheduler("b");
    settle(&mut scheduler).await;
    assert_eq!(bed.end_runs(|_| json!({})).await.len(), 1);
    settle(&mut scheduler).await;
    assert!(!bed.store.has_open_batches().await.unwrap());
}

#[tokio::test]
async fn only_one_server_schedules() {
    let bed = Bed::new().await;
    bed.messages(1).await;
    let (mut first, mut second) = (bed.scheduler("a"), bed.scheduler("b"));
    assert_eq!(first.schedule_once().await.unwrap(), RoundEnd::Changed);
    assert_eq!(second.schedule_once().await.unwrap(), RoundEnd::Idle);
    bed.store.release_batch_scheduler("a").await.unwrap();
    assert_ne!(second.schedule_once().await.unwrap(), RoundEnd::Idle);
}

#[tokio::test]
async fn a_refused_request_has_an_error_and_one_refused_for_now_waits() {
    let bed = Bed::new().await;
    let batch = bed.messages(2).await;
    let refuse = |seq: i64, kind: ErrorKind| {
        let key = format!("batch:{}:{seq}", batch.id);
        let error = ApiError::new(kind, "no");
        bed.runs.refusals.lock().unwrap().insert(key, error);
    };
    refuse(0, ErrorKind::InvalidRequest);
    refuse(1, ErrorKind::RateLimit);
    let mut scheduler = bed.scheduler("a");
    settle(&mut scheduler).await;
    let counts = bed.get(&batch).await.counts;
    assert_eq!((counts.errored, counts.processing()), (1, 1));
    bed.runs.refusals.lock().unwrap().clear();
    // Another server has no reason to wait.
    bed.store.release_batch_scheduler("a").await.unwrap();
    let mut other = bed.scheduler("b");
    settle(&mut other).await;
    assert_eq!(bed.end_runs(|_| json!({})).await.len(), 1);
    settle(&mut other).await;
    let results = bed
        .store
        .batch_results(&bed.tenant, &batch.id, -1, 10)
        .await;
    let results = results.unwrap();
    let error: Value = serde_json::from_str(results[0].body.as_deref().unwrap()).unwrap();
    assert_eq!(
        (&error["type"], results[0].status),
        (&json!("error"), Some(400))
    );
    assert_eq!(results[1].status, Some(200));
}

#[tokio::test]
async fn a_spent_budget_is_the_error_of_a_request_at_once() {
    let bed = Bed::new().await;
    let batch = bed.messages(1).await;
    let error = ApiError {
        status: 429,
        code: Some("insufficient_quota".to_owned()),
        ..ApiError::new(ErrorKind::Billing, "it has spent its budget")
    };
    let key = format!("batch:{}:0", batch.id);
    bed.runs.refusals.lock().unwrap().insert(key, error);
    settle(&mut bed.scheduler("a")).await;
    let ended = anthropic::batch(&bed.get(&batch).await);
    assert_eq!(ended["request_counts"]["errored"], 1);
    let results = bed.store.batch_results(&bed.tenant, &batch.id, -1, 1).await;
    let line = anthropic::result_line(&results.unwrap()[0]);
    assert!(line.contains("it has spent its budget"), "{line}");
}

#[tokio::test]
async fn files_beyond_the_quota_are_an_error_that_ends_the_batch() {
    let bed = Bed::with_quota(Some(3_000)).await;
    let batch = bed.file(&line("a")).await;
    settle(&mut bed.scheduler("a")).await;
    let long = "x".repeat(5_000);
    bed.end_runs(|_| json!({"text": long})).await;
    let mut scheduler = bed.scheduler("a");
    settle(&mut scheduler).await;
    // There is time to make space.
    let waiting = openai::batch(&bed.get(&batch).await);
    assert_eq!(waiting["status"], "finalizing");
    assert_eq!(
        waiting["errors"]["data"][0]["code"],
        "storage_quota_exceeded"
    );
    // Until there is not.
    let late = Timestamp::now().after(DAY);
    finish(&bed.store, &bed.get(&batch).await, late)
        .await
        .unwrap();
    let failed = openai::batch(&bed.get(&batch).await);
    assert_eq!(failed["status"], "failed");
    assert!(failed["failed_at"].is_i64() && failed["output_file_id"].is_null());
    let message = failed["errors"]["data"][0]["message"].as_str().unwrap();
    assert!(message.contains("cannot be stored"), "{message}");
}

#[tokio::test]
async fn files_of_requests_that_were_sent_at_the_same_moment_share_the_size_of_a_tenant() {
    let bed = Bed::new().await;
    let file = bed.upload(&line("a")).await;
    let first = bed.create(BatchKind::File, "chat", Some(&file)).await;
    let second = bed.create(BatchKind::File, "chat", Some(&file)).await;
    let settings = BatchSettings {
        max_stored_bytes: 1,
        ..BatchSettings::default()
    };
    let (store, runs) = (bed.store.clone(), bed.runs.clone());
    let mut scheduler = BatchScheduler::new(store, settings, 10_000, runs, "a".to_owned());
    settle(&mut scheduler).await;
    let first = openai::batch(&bed.get(&first).await);
    assert_eq!(first["status"], "in_progress");
    let second = openai::batch(&bed.get(&second).await);
    assert_eq!(second["status"], "failed");
    let error = &second["errors"]["data"][0];
    assert_eq!(error["code"], "storage_quota_exceeded");
}

#[tokio::test]
async fn files_are_written_once_there_is_space() {
    let bed = Bed::with_quota(Some(3_000)).await;
    let large = bed.upload(&"y".repeat(2_500)).await;
    let batch = bed.file(&line("a")).await;
    settle(&mut bed.scheduler("a")).await;
    let text = "x".repeat(500);
    bed.end_runs(|_| json!({"text": text})).await;
    settle(&mut bed.scheduler("a")).await;
    assert_eq!(
        openai::batch(&bed.get(&batch).await)["status"],
        "finalizing"
    );
    bed.store.delete_file(&bed.tenant, &large).await.unwrap();
    // Another scheduler has no reason to wait.
    settle(&mut bed.scheduler("a")).await;
    let ended = openai::batch(&bed.get(&batch).await);
    assert_eq!(
        (&ended["status"], &ended["errors"]),
        (&json!("completed"), &Value::Null)
    );
}

#[tokio::test]
async fn a_cancelled_batch_cancels_its_runs() {
    let bed = Bed::new().await;
    let batch = bed.messages(3).await;
    let mut scheduler = bed.scheduler("a");
    settle(&mut scheduler).await;
    let cancelled = bed.store.cancel_batch(&bed.tenant, batch.kind, &batch.id);
    let cancelled = anthropic::batch(&cancelled.await.unwrap());
    assert_eq!(cancelled["processing_status"], "canceling");
    settle(&mut scheduler).await;
    assert_eq!(bed.runs.cancelled.lock().unwrap().len(), 2);
    let ended = bed.get(&batch).await;
    assert_eq!(
        (ended.state, ended.counts.cancelled),
        (BatchState::Cancelled, 3)
    );
}

#[tokio::test]
async fn a_request_that_waits_for_its_limits_ends_when_its_batch_is_cancelled() {
    let bed = Bed::new().await;
    let batch = bed.messages(2).await;
    for seq in 0..2 {
        let key = format!("batch:{}:{seq}", batch.id);
        let error = ApiError::new(ErrorKind::RateLimit, "no");
        bed.runs.refusals.lock().unwrap().insert(key, error);
    }
    let mut scheduler = bed.scheduler("a");
    settle(&mut scheduler).await;
    assert_eq!(bed.get(&batch).await.counts.processing(), 2);
    // One was submitted, and its server died before it recorded the run.
    bed.runs.refusals.lock().unwrap().clear();
    let run = bed.runs.submit(NewBatchRun {
        tenant: &bed.tenant,
        api_key: None,
        client: prowess_wire::ClientDialect::Messages,
        body: Bytes::from_static(b"{}"),
        betas: None,
        idempotency_key: format!("batch:{}:1", batch.id),
    });
    let run = run.await.unwrap();
    let cancelled = bed.store.cancel_batch(&bed.tenant, batch.kind, &batch.id);
    assert_eq!(cancelled.await.unwrap().state, BatchState::Cancelling);
    settle(&mut scheduler).await;
    let ended = bed.get(&batch).await;
    assert_eq!(
        (ended.state, ended.counts.cancelled),
        (BatchState::Cancelled, 2)
    );
    assert_eq!(*bed.runs.cancelled.lock().unwrap(), [run]);
}

#[tokio::test]
async fn a_file_of_requests_becomes_files_of_results() {
    let bed = Bed::new().await;
    // As an editor may have written it: with a byte order mark, and other ends of lines.
    let [a, b, c] = ["a", "b", "c"].map(|name| line(name).trim_end().to_owned());
    let text = format!("\u{feff}{a}\r\n\n{b}\n{c}");
    let batch = bed.file(&text).await;
    assert_eq!(openai::batch(&batch)["status"], "validating");
    let mut scheduler = bed.scheduler("a");
    while bed.get(&batch).await.ended_at.is_none() {
        settle(&mut scheduler).await;
        bed.end_runs(|request| match request["messages"][0] == "b" {
            true => json!({"error": {"message": "bad"}}),
            false => json!({"text": request["messages"]}),
        })
        .await;
    }
    let ended = openai::batch(&bed.get(&batch).await);
    assert_eq!(
        (&ended["status"], &ended["endpoint"]),
        (&json!("completed"), &json!("/v1/chat/completions"))
    );
    assert_eq!(
        ended["request_counts"],
        json!({"total": 3, "completed": 2, "failed": 1})
    );
    assert_eq!(ended["metadata"], json!({"a": "b"}));
    let read = async |field: &str| {
        let id = ended[field].as_str().unwrap();
        let (_, content) = bed.store.read_file(&bed.tenant, id).await.unwrap();
        let content = content.collect().await.unwrap();
        let lines = std::str::from_utf8(&content).unwrap().lines();
        let lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.collect::<Vec<_>>()
    };
    let output = read("output_file_id").await;
    assert_eq!(output.len(), 2);
    assert_eq!(output[1]["custom_id"], "c");
    assert_eq!(output[1]["response"]["status_code"], 200);
    assert_eq!(output[1]["response"]["body"], json!({"text": ["c"]}));
    assert_eq!(output[1]["error"], Value::Null);
    let errors = read("error_file_id").await;
    assert_eq!(errors.len(), 1);
    assert_eq!(
        (
            &errors[0]["custom_id"],
            &errors[0]["response"]["status_code"]
        ),
        (&json!("b"), &json!(400))
    );
}

#[tokio::test]
async fn a_file_that_is_not_valid_fails_with_lines_and_fields() {
    let bed = Bed::new().await;
    let fail = async |text: &str| {
        let batch = bed.file(text).await;
        let mut scheduler = bed.scheduler("a");
        settle(&mut scheduler).await;
        let failed = openai::batch(&bed.get(&batch).await);
        assert_eq!(failed["status"], "failed");
        failed["errors"]["data"].clone()
    };
    let text = format!("{}nothing\n{}", line("a"), line("a"));
    let errors = fail(&text).await;
    let found: Vec<_> = errors
        .as_array()
        .unwrap()
        .iter()
        .map(|error| {
            (
                error["line"].as_i64().unwrap(),
                error["code"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(found, [(2, "invalid_json"), (3, "duplicate_custom_id")]);
    assert_eq!(errors[1]["param"], "custom_id");
    assert_eq!(fail("\n \n").await[0]["code"], "empty_file");
    let many: String = (0..6).map(|n| line(&n.to_string())).collect();
    let errors = fail(&many).await;
    assert_eq!(
        (&errors[0]["code"], &errors[0]["line"]),
        (&json!("too_many_requests"), &json!(6))
    );
    let long = line(&"x".repeat(20_000));
    assert_eq!(fail(&long).await[0]["code"], "request_too_large");
}
