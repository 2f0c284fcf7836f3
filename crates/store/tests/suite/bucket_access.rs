//! A bucket in which objects may be read and written but not listed, and one that is
//! shared.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use prowess_store::{Database, Store};

use crate::testbed::{TestBed, run};

/// Serves an S3 bucket that returns a fixed response for each method.
fn bucket(answer: impl Fn(&str) -> String + Send + 'static) -> TestBed {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut head = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            while !head.ends_with("\r\n\r\n") {
                if reader.read_line(&mut head).unwrap_or(0) == 0 {
                    break;
                }
            }
            let method = head.split(' ').next().unwrap_or_default();
            // The client may have disconnected.
            let _ = stream.write_all(answer(method).as_bytes());
        }
    });
    let mut bed = TestBed::new(Database::Sqlite);
    bed.config.blobs = "s3://skills/some/where".to_owned();
    let options = [
        ("aws_endpoint", format!("http://{address}")),
        ("aws_allow_http", "true".to_owned()),
        ("aws_region", "us-east-1".to_owned()),
        ("aws_access_key_id", "id".to_owned()),
        ("aws_secret_access_key", "secret".to_owned()),
    ];
    bed.config.blob_options = options.map(|(name, value)| (name.to_owned(), value)).into();
    bed
}

fn http_response(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}")
}

/// A bucket with one object.
fn bucket_with(key: &'static str) -> TestBed {
    bucket(move |method| match method {
        "GET" => http_response(
            "200 OK",
            &format!(
                "<ListBucketResult><Name>skills</Name><Prefix>some/where/</Prefix>\
                 <KeyCount>1</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated>\
                 <Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>\
                 <ETag>\"e\"</ETag><Size>1</Size></Contents></ListBucketResult>"
            ),
        ),
        _ => http_response("404 Not Found", ""),
    })
}

#[test]
fn a_bucket_that_may_not_be_listed_is_started_with_and_ready() {
    for status in ["403 Forbidden", "401 Unauthorized"] {
        for missing in [status, "404 Not Found"] {
            let bed = bucket(move |method| match method {
                "GET" => http_response(status, "<Error><Code>AccessDenied</Code></Error>"),
                _ => http_response(missing, ""),
            });
            run(async {
                let store = bed.open().await;
                assert_eq!(store.check_ready().await, Ok(()), "{status} {missing}");
            });
        }
    }
}

#[test]
fn a_bucket_that_fails_to_list_is_not_taken_for_empty() {
    let bed = bucket(|_| http_response("400 Bad Request", ""));
    run(async {
        let error = Store::open(&bed.config).await.unwrap_err();
        assert_eq!(error.code(), "blob-storage", "{error}");
    });
}

#[test]
fn a_bucket_that_fails_is_not_ready() {
    let mut bed = bucket(|_| http_response("400 Bad Request", ""));
    bed.config.accept_empty = true;
    run(async {
        let store = bed.open().await;
        assert_eq!(store.check_ready().await.unwrap_err().part, "blob storage");
    });
}

#[test]
fn objects_of_others_in_a_shared_bucket_are_not_taken_for_ours() {
    for key in [
        "some/where/backup.tar",
        "some/where/12/blob_short",
        "some/where/zz/blob_01j8f3k2m9p0123456789abc",
        "some/where/bc/blob_01j8f3k2m9p0123456789abU",
        "some/where/deeper/bc/blob_01j8f3k2m9p0123456789abc",
    ] {
        let bed = bucket_with(key);
        run(async {
            let opened = Store::open(&bed.config).await;
            assert!(opened.is_ok(), "{key}: {:?}", opened.err());
        });
    }
}

#[test]
fn an_object_of_ours_without_its_database_is_still_refused() {
    let bed = bucket_with("some/where/bc/blob_01j8f3k2m9p0123456789abc");
    run(async {
        let error = Store::open(&bed.config).await.unwrap_err();
        assert_eq!(error.code(), "store-emptied", "{error}");
    });
}
