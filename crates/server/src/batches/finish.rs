//! The files with the results of a batch, as in OpenAI's API.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use prowess_store::{
    BatchFiles, BatchItemState, BatchRecord, BatchResult, Error as StoreError, NewFile,
    Result as StoreResult, Store, Timestamp,
};
use serde_json::json;

use super::openai::{failed_requests, result_line};

/// Results read at once. Each may be as large as a response.
const PAGE_RESULTS: u32 = 16;
/// How long a tenant has to make space for the files, before the batch fails.
const QUOTA_WAIT: Duration = Duration::from_secs(3_600);

/// Writes the files of a finalizing batch, which ends it. If they exceed the tenant's quota,
/// the batch has the reason at once, and ends with it after some time.
pub(super) async fn finish(store: &Store, batch: &BatchRecord, now: Timestamp) -> StoreResult<()> {
    let error = match write_files(store, batch).await {
        Err(error @ StoreError::QuotaExceeded { .. }) => error,
        other => return other,
    };
    let until = batch.finalizing_at.map(|at| at.after(QUOTA_WAIT));
    let is_final = until.is_none_or(|until| until <= now);
    let errors = json!([{
        "code": "storage_quota_exceeded",
        "line": null,
        "message": format!(
            "the files with the results cannot be stored: {error}; delete files within an hour \
             of the batch's `finalizing_at`"
        ),
        "param": null,
    }]);
    let errors = errors.to_string();
    let recorded = store.record_finish_error(&batch.tenant, &batch.id, &errors, is_final);
    match recorded.await? && !is_final {
        true => Err(error),
        false => Ok(()),
    }
}

async fn write_files(store: &Store, batch: &BatchRecord) -> StoreResult<()> {
    let names = ["output", "error"].map(|part| format!("{}_{part}.jsonl", batch.id));
    let file = |name| NewFile {
        name,
        mime: "application/jsonl",
        purpose: "batch_output",
        scope: None,
        downloadable: true,
        expires_in: Some(batch.output_lifetime),
        // The tenant's quota limits it.
        limit: u64::MAX,
    };
    let files = BatchFiles {
        output: (batch.counts.succeeded > 0)
            .then(|| (file(names[0].as_str()), lines(store, batch, true))),
        errors: (failed_requests(batch) > 0)
            .then(|| (file(names[1].as_str()), lines(store, batch, false))),
    };
    // If another server was faster, there is nothing left to do.
    store.finish_batch(&batch.tenant, &batch.id, files).await?;
    Ok(())
}

/// The lines of those requests that succeeded, or of the others.
fn lines(
    store: &Store,
    batch: &BatchRecord,
    succeeded: bool,
) -> BoxStream<'static, io::Result<Bytes>> {
    let reader = ResultReader {
        store: store.clone(),
        batch: batch.clone(),
        page: VecDeque::new(),
        after: -1,
    };
    let lines = stream::try_unfold(reader, move |mut reader| async move {
        loop {
            match reader.next().await.map_err(io::Error::other)? {
                None => return Ok(None),
                Some(result) if (result.state == BatchItemState::Succeeded) == succeeded => {
                    let line = result_line(&reader.batch.id, &result) + "\n";
                    return Ok(Some((Bytes::from(line), reader)));
                }
                Some(_) => {}
            }
        }
    });
    lines.boxed()
}

/// Reads all results in their order.
struct ResultReader {
    store: Store,
    batch: BatchRecord,
    page: VecDeque<BatchResult>,
    after: i64,
}

impl ResultReader {
    async fn next(&mut self) -> StoreResult<Option<BatchResult>> {
        if self.page.is_empty() {
            let (tenant, batch) = (&self.batch.tenant, &self.batch.id);
            let page = self
                .store
                .batch_results(tenant, batch, self.after, PAGE_RESULTS);
            self.page = page.await?.into();
        }
        let next = self.page.pop_front();
        if let Some(next) = &next {
            self.after = next.seq;
        }
        Ok(next)
    }
}
