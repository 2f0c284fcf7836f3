//! Files that cannot be stored are refused during the upload, not at its end.

use std::sync::atomic::Ordering;

use axum::http::StatusCode;
use prowess_server::ServerSettings;
use prowess_store::{StorageLimits, StoreConfig};

use crate::client::{ALL, Form, Server};
use crate::endless_forms::endless;

const FILE: &str = "--a-boundary-of-the-tests\r\n\
    Content-Disposition: form-data; name=\"file\"; filename=\"a.bin\"\r\n\r\n";

/// Sends an endless file in each dialect to a store; at most `max_taken` bytes may be read.
async fn refused(change: fn(&mut StoreConfig), status: StatusCode, code: &str, max_taken: usize) {
    let server = Server::with_store(ServerSettings::default(), change).await;
    for dialect in ALL {
        let (body, taken) = endless(FILE, "x");
        let call = server.post(dialect, "/v1/files");
        let refused = call.header("content-type", &Form::kind()).body(body).await;
        assert_eq!(refused.status, status, "{dialect:?}: {:?}", refused.body);
        assert_eq!(refused.code(), code, "{dialect:?}");
        let taken = taken.load(Ordering::SeqCst);
        assert!(taken <= max_taken, "{dialect:?}: {taken}");
    }
}

#[tokio::test]
async fn a_tenant_with_as_many_files_as_allowed_sends_no_other() {
    let change = |config: &mut StoreConfig| {
        config.limits = StorageLimits {
            files: Some(0),
            ..StorageLimits::default()
        };
    };
    refused(change, StatusCode::FORBIDDEN, "storage-quota-exceeded", 0).await;
}

#[tokio::test]
async fn a_file_beyond_what_its_tenant_may_keep_is_refused_on_its_way() {
    let change = |config: &mut StoreConfig| {
        config.limits = StorageLimits {
            bytes: Some(6 << 20),
            ..StorageLimits::default()
        };
    };
    let status = StatusCode::FORBIDDEN;
    refused(change, status, "storage-quota-exceeded", 9 << 20).await;
}

#[tokio::test]
async fn a_file_is_refused_before_it_comes_when_the_disk_is_full() {
    let change = |config: &mut StoreConfig| config.reserve_bytes = u64::MAX;
    let status = StatusCode::INSUFFICIENT_STORAGE;
    refused(change, status, "storage-full", 0).await;
}
