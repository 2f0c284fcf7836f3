//! Files and their content.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use prowess_store::{FileFilter, FileRecord, NewFile, PageRequest, SortOrder, Store, TenantId};

use crate::testbed::{TestBed, on_both_databases};

on_both_databases! {
    a_file_reads_back_as_it_was_written,
    a_file_is_read_in_parts,
    a_file_that_is_too_large_leaves_nothing,
    an_upload_that_breaks_off_leaves_nothing,
    an_expired_file_is_reported_as_expired_and_not_listed,
    files_are_listed_filtered_and_fetched_by_id,
    a_deleted_file_is_gone,
    damaged_content_is_never_given_out_as_good,
    an_unknown_tenant_cannot_own_a_file,
}

const NEW: NewFile<'static> = NewFile {
    name: "chart.png",
    mime: "image/png",
    purpose: "user_data",
    scope: None,
    downloadable: true,
    expires_in: None,
    limit: 10_000_000,
};

fn chunks(data: &[u8], size: usize) -> impl futures_util::Stream<Item = io::Result<Bytes>> {
    let chunks: Vec<_> = data
        .chunks(size)
        .map(Bytes::copy_from_slice)
        .map(Ok)
        .collect();
    stream::iter(chunks)
}

async fn keep(bed: &TestBed, store: &Store, new: &NewFile<'_>, data: &[u8]) -> FileRecord {
    let content = chunks(data, 700);
    store.create_file(&bed.tenant, new, content).await.unwrap()
}

async fn a_file_reads_back_as_it_was_written(bed: TestBed) {
    let store = bed.open().await;
    for size in [0, 1, 999, 1_000, 1_001, 50_000] {
        let data: Vec<_> = (0..size).map(|at| (at % 251) as u8).collect();
        let new = NewFile {
            scope: Some("container_1"),
            ..NEW
        };
        let made = keep(&bed, &store, &new, &data).await;
        assert_eq!(made.size, size);
        let (file, content) = store.read_file(&bed.tenant, &made.id).await.unwrap();
        assert_eq!(file, made);
        assert_eq!(content.collect().await.unwrap(), data);
    }
}

async fn a_file_is_read_in_parts(bed: TestBed) {
    let store = bed.open().await;
    let data = vec![3; 2_000_000];
    let file = keep(&bed, &store, &NEW, &data).await;
    let (_, content) = store.read_file(&bed.tenant, &file.id).await.unwrap();
    let parts: Vec<_> = content.map(|part| part.unwrap().len()).collect().await;
    assert!(parts.len() > 1);
    assert_eq!(parts.iter().sum::<usize>(), data.len());
}

async fn a_file_that_is_too_large_leaves_nothing(bed: TestBed) {
    let store = bed.open().await;
    let new = NewFile {
        limit: 3_000,
        ..NEW
    };
    let error = store
        .create_file(&bed.tenant, &new, chunks(&[1; 3_001], 500))
        .await;
    assert_eq!(error.unwrap_err().code(), "file-too-large");
    store.collect_garbage(Duration::ZERO).await.unwrap();
    assert_eq!(bed.objects(), 0);
    keep(&bed, &store, &new, &[1; 3_000]).await;
}

async fn an_upload_that_breaks_off_leaves_nothing(bed: TestBed) {
    let store = bed.open().await;
    let broken = chunks(&[1; 5_000], 500).chain(stream::iter([Err(io::Error::other("gone"))]));
    let error = store
        .create_file(&bed.tenant, &NEW, broken)
        .await
        .unwrap_err();
    assert_eq!(error.code(), "upload-interrupted");
    let list = store
        .list_files(&bed.tenant, &FileFilter::default(), &PageRequest::default())
        .await;
    assert_eq!(list.unwrap().items, []);
    store.collect_garbage(Duration::ZERO).await.unwrap();
    assert_eq!(bed.objects(), 0);
}

async fn an_expired_file_is_reported_as_expired_and_not_listed(bed: TestBed) {
    let store = bed.open().await;
    let new = NewFile {
        expires_in: Some(Duration::ZERO),
        ..NEW
    };
    let file = keep(&bed, &store, &new, b"old").await;
    let error = store.file(&bed.tenant, &file.id).await.unwrap_err();
    assert_eq!(error.code(), "file-expired");
    let list = store
        .list_files(&bed.tenant, &FileFilter::default(), &PageRequest::default())
        .await;
    assert_eq!(list.unwrap().items, []);
    assert_eq!(
        store.files_by_id(&bed.tenant, &[&file.id]).await.unwrap(),
        []
    );
    let collected = store.collect_garbage(Duration::ZERO).await.unwrap();
    assert_eq!(collected.files, 1);
    let error = store.file(&bed.tenant, &file.id).await.unwrap_err();
    assert_eq!(error.code(), "file-not-found");
}

async fn files_are_listed_filtered_and_fetched_by_id(bed: TestBed) {
    let store = bed.open().await;
    let one = keep(&bed, &store, &NEW, b"1").await;
    let scoped = NewFile {
        scope: Some("container_1"),
        ..NEW
    };
    let two = keep(&bed, &store, &scoped, b"2").await;
    let batch = NewFile {
        purpose: "batch",
        ..NEW
    };
    let three = keep(&bed, &store, &batch, b"3").await;
    let list = async |filter: FileFilter| {
        let page = PageRequest {
            order: SortOrder::Ascending,
            ..PageRequest::default()
        };
        store
            .list_files(&bed.tenant, &filter, &page)
            .await
            .unwrap()
            .items
    };
    let all = FileFilter::default();
    assert_eq!(
        list(all.clone()).await,
        [one.clone(), two.clone(), three.clone()]
    );
    let scope = FileFilter {
        scope: Some("container_1".to_owned()),
        ..all.clone()
    };
    assert_eq!(list(scope).await, std::slice::from_ref(&two));
    let purpose = FileFilter {
        purpose: Some("batch".to_owned()),
        ..all
    };
    assert_eq!(list(purpose).await, std::slice::from_ref(&three));
    let ids = [three.id.as_str(), "file_none", &one.id];
    assert_eq!(
        store.files_by_id(&bed.tenant, &ids).await.unwrap(),
        [three, one]
    );
    let error = store.files_by_id(&bed.tenant, &["file_x"; 1_001]).await;
    assert_eq!(error.unwrap_err().code(), "value-invalid");
}

async fn a_deleted_file_is_gone(bed: TestBed) {
    let store = bed.open().await;
    let file = keep(&bed, &store, &NEW, &[1; 5_000]).await;
    store.delete_file(&bed.tenant, &file.id).await.unwrap();
    for result in [
        store.file(&bed.tenant, &file.id).await.map(drop),
        store.read_file(&bed.tenant, &file.id).await.map(drop),
        store.delete_file(&bed.tenant, &file.id).await,
    ] {
        assert_eq!(result.unwrap_err().code(), "file-not-found");
    }
    store.collect_garbage(Duration::ZERO).await.unwrap();
    assert_eq!(bed.objects(), 0);
}

async fn damaged_content_is_never_given_out_as_good(bed: TestBed) {
    let store = bed.open().await;
    let file = keep(&bed, &store, &NEW, &[1; 5_000]).await;
    let shard = std::fs::read_dir(bed.blob_folder())
        .unwrap()
        .next()
        .unwrap();
    let object = std::fs::read_dir(shard.unwrap().path())
        .unwrap()
        .next()
        .unwrap();
    let object = object.unwrap().path();
    let read = async || {
        let (_, content) = store.read_file(&bed.tenant, &file.id).await?;
        content.collect().await
    };
    assert!(read().await.is_ok());
    std::fs::write(&object, [2; 5_000]).unwrap();
    assert_eq!(read().await.unwrap_err().code(), "content-damaged");
    std::fs::remove_file(&object).unwrap();
    assert_eq!(read().await.unwrap_err().code(), "blob-storage");
}

async fn an_unknown_tenant_cannot_own_a_file(bed: TestBed) {
    let store = bed.open().await;
    let nobody = TenantId::new("nobody").unwrap();
    let error = store.create_file(&nobody, &NEW, chunks(b"x", 1)).await;
    assert_eq!(error.unwrap_err().code(), "tenant-not-found");
}
