//! Large content in an object store, on an S3 server.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use prowess_store::{Database, NewFile, NewSkill, SkillDeleteRule};
use prowess_testkit::s3::TestS3;

use crate::testbed::{TestBed, described, run};

/// A store whose large content is in a bucket of this server.
pub(crate) fn bed(s3: &TestS3) -> TestBed {
    s3.bucket("skills");
    let mut bed = TestBed::new(Database::Sqlite);
    bed.config.blobs = "s3://skills/some/where".to_owned();
    let options = [
        ("aws_endpoint", s3.endpoint()),
        ("aws_allow_http", "true".to_owned()),
        ("aws_region", "us-east-1".to_owned()),
        ("aws_access_key_id", "id".to_owned()),
        ("aws_secret_access_key", "secret".to_owned()),
    ];
    bed.config.blob_options = options.map(|(name, value)| (name.to_owned(), value)).into();
    bed
}

#[test]
fn a_skill_goes_into_a_bucket_and_out_again_and_is_collected() {
    let s3 = TestS3::start();
    let bed = bed(&s3);
    run(async {
        let store = bed.open().await;
        let (one, two) = (vec![1; 5_000], vec![2; 1_000_000]);
        let files: &[(&str, &[u8], bool)] = &[("one", &one, false), ("two", &two, true)];
        let skill = described("one", "In a bucket.", "x", files);
        let made = store
            .create_skill(&bed.tenant, &NewSkill::from_skill(&skill))
            .await
            .unwrap();
        let keys = s3.keys("skills");
        assert_eq!(keys.len(), 2);
        assert!(
            keys.iter().all(|key| key.starts_with("some/where/")),
            "{keys:?}"
        );
        bed.assert_intact(&made.skill.id, &made.version.id, &skill)
            .await;
        let again = store
            .create_skill(&bed.tenant, &NewSkill::from_skill(&skill))
            .await
            .unwrap();
        assert_eq!(s3.keys("skills").len(), 2);
        for id in [made.skill.id, again.skill.id] {
            store
                .delete_skill(&bed.tenant, &id, SkillDeleteRule::Cascade)
                .await
                .unwrap();
        }
        store.collect_garbage(Duration::ZERO).await.unwrap();
        assert!(s3.keys("skills").is_empty());
    });
}

#[test]
fn a_large_file_is_sent_in_parts_and_a_broken_one_leaves_nothing() {
    let s3 = TestS3::start();
    let bed = bed(&s3);
    run(async {
        let store = bed.open().await;
        let new = NewFile {
            name: "large.bin",
            mime: "application/octet-stream",
            purpose: "user_data",
            scope: None,
            downloadable: true,
            expires_in: None,
            limit: 13_000_000,
        };
        let chunk = |at: u8| Ok::<_, io::Error>(Bytes::from(vec![at; 1_000_000]));
        let content = stream::iter((0..13).map(chunk));
        let file = store.create_file(&bed.tenant, &new, content).await.unwrap();
        let (_, content) = store.read_file(&bed.tenant, &file.id).await.unwrap();
        let content = content.collect().await.unwrap();
        assert_eq!(content.len(), 13_000_000);
        assert!(
            content
                .chunks(1_000_000)
                .zip(0..)
                .all(|(chunk, at)| chunk.iter().all(|b| *b == at))
        );
        let content = stream::iter((0..14).map(chunk));
        let error = store
            .create_file(&bed.tenant, &new, content)
            .await
            .unwrap_err();
        assert_eq!(error.code(), "file-too-large");
        assert_eq!(s3.keys("skills").len(), 1);
        store.delete_file(&bed.tenant, &file.id).await.unwrap();
        store.collect_garbage(Duration::ZERO).await.unwrap();
        assert!(s3.keys("skills").is_empty());
    });
}
