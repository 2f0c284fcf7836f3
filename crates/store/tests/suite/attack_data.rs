//! Transactions that end early: cancelled requests, and failures after which the database
//! rolls back.

use std::io;

use bytes::Bytes;
use futures_util::stream;
use prowess_store::{FileRecord, NewFile, NewSkill, Result, Store, TenantId};

use crate::testbed::{TestBed, described, on_both_databases};

on_both_databases! {
    a_write_that_is_dropped_at_any_moment_keeps_no_other_from_writing,
}

pub(crate) const NEW_FILE: NewFile<'static> = NewFile {
    name: "a",
    mime: "text/plain",
    purpose: "user_data",
    scope: None,
    downloadable: true,
    expires_in: None,
    limit: 100 << 20,
};

/// Stores a file of this size with unique content.
pub(crate) async fn upload(
    store: &Store,
    tenant: &TenantId,
    number: usize,
    size: usize,
) -> Result<FileRecord> {
    let mut data = number.to_le_bytes().repeat(size / 8 + 1);
    data.truncate(size);
    let chunks = data.chunks(64 << 10).map(Bytes::copy_from_slice);
    let chunks: Vec<io::Result<Bytes>> = chunks.map(Ok).collect();
    store
        .create_file(tenant, &NEW_FILE, stream::iter(chunks))
        .await
}

/// Completes after this many polls.
async fn polled(times: usize) {
    for _ in 0..times {
        tokio::task::yield_now().await;
    }
}

async fn a_write_that_is_dropped_at_any_moment_keeps_no_other_from_writing(bed: TestBed) {
    let store = bed.open().await;
    let data = vec![7; 3_000];
    let mut dropped = 0;
    for times in 0..60 {
        let name = format!("skill-{times}");
        let skill = described(&name, "Is dropped.", "x", &[("large", &data, false)]);
        let new = NewSkill::from_skill(&skill);
        tokio::select! {
            biased;
            made = store.create_skill(&bed.tenant, &new) => drop(made.unwrap()),
            () = polled(times) => dropped += 1,
        }
        upload(&store, &bed.tenant, times, 100).await.unwrap();
    }
    assert!(dropped > 10, "{dropped}");
}
