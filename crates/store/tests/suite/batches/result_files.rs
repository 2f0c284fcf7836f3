//! The files of results with which a batch of a file ends.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use prowess_store::{
    BatchFiles, BatchKind, BatchState, FileFilter, FinishOutcome, NewFile, PageRequest,
};

use super::setup::{DAY, reference, started, succeeded, up_to};
use crate::testbed::{TestBed, on_both_databases};

on_both_databases! {
    files_that_cannot_be_written_end_their_batch,
    a_batch_of_a_file_ends_with_its_files,
}

const FILE: NewFile<'static> = NewFile {
    name: "output.jsonl",
    mime: "application/jsonl",
    purpose: "batch_output",
    scope: None,
    downloadable: true,
    expires_in: Some(DAY),
    limit: 10_000_000,
};

fn content(text: &str) -> BoxStream<'static, io::Result<Bytes>> {
    stream::iter([Ok(Bytes::from(text.to_owned()))]).boxed()
}

async fn files_that_cannot_be_written_end_their_batch(bed: TestBed) {
    let store = bed.open().await;
    let (tenant, kind) = (&bed.tenant, BatchKind::File);
    let batch = started(&store, tenant, kind, 1).await;
    store.mark_running_items(up_to(1)).await.unwrap();
    let item = reference(&batch, 0);
    store
        .record_batch_result(&item, &succeeded("{}"))
        .await
        .unwrap();
    let record = async |is_final| {
        let recorded = store.record_finish_error(tenant, &batch, "[1]", is_final);
        let recorded = recorded.await.unwrap();
        (recorded, store.batch(tenant, kind, &batch).await.unwrap())
    };
    let (recorded, waiting) = record(false).await;
    assert!(recorded);
    assert_eq!(
        (waiting.state, waiting.ended_at),
        (BatchState::Finalizing, None)
    );
    assert_eq!(waiting.errors.as_deref(), Some("[1]"));
    let (recorded, failed) = record(true).await;
    assert!(recorded && failed.ended_at.is_some());
    assert_eq!(failed.state, BatchState::Failed);
    assert_eq!(failed.counts.succeeded, 1);
    assert!(!record(true).await.0);
    assert!(!store.has_open_batches().await.unwrap());
}

async fn a_batch_of_a_file_ends_with_its_files(bed: TestBed) {
    let store = bed.open().await;
    let batch = started(&store, &bed.tenant, BatchKind::File, 1).await;
    assert!(batch.starts_with("batch_"), "{batch}");
    store.mark_running_items(up_to(4)).await.unwrap();
    let item = reference(&batch, 0);
    store
        .record_batch_result(&item, &succeeded("{}"))
        .await
        .unwrap();
    let waiting = store
        .oldest_batches_in_state(BatchState::Finalizing, 10)
        .await;
    let waiting = waiting.unwrap();
    assert_eq!(waiting.len(), 1);
    assert_eq!(
        (waiting[0].id.as_str(), waiting[0].ended_at),
        (batch.as_str(), None)
    );
    // The same text in both: contents are stored once.
    let text = "x".repeat(3_000);
    let files = || BatchFiles {
        output: Some((FILE, content(&text))),
        errors: Some((FILE, content(&text))),
    };
    let broken = BatchFiles {
        output: Some((FILE, content(&text))),
        errors: Some((FILE, stream::iter([Err(io::Error::other("gone"))]).boxed())),
    };
    let failed = store.finish_batch(&bed.tenant, &batch, broken).await;
    assert_eq!(failed.unwrap_err().code(), "upload-interrupted");
    let all = (0..2).map(|_| store.finish_batch(&bed.tenant, &batch, files()));
    let finished = futures_util::future::join_all(all).await;
    let mut ended = Vec::new();
    for finished in finished {
        match finished.unwrap() {
            FinishOutcome::Finished(batch) => ended.push(batch),
            FinishOutcome::Lost => {}
        }
    }
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0].state, BatchState::Completed);
    let (all, page) = (FileFilter::default(), PageRequest::default());
    let listed = store.list_files(&bed.tenant, &all, &page).await.unwrap();
    assert_eq!(listed.items.len(), 2);
    for file in [&ended[0].output_file, &ended[0].error_file] {
        let id = file.as_deref().unwrap();
        let (_, content) = store.read_file(&bed.tenant, id).await.unwrap();
        assert_eq!(content.collect().await.unwrap(), text);
    }
    let results = store.batch_results(&bed.tenant, &batch, -1, 10).await;
    assert_eq!(results.unwrap(), []);
    store.collect_garbage(Duration::ZERO).await.unwrap();
    assert_eq!(bed.objects(), 1);
}
