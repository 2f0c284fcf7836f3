//! A database that is lost while its content exists is not accepted as a new store.

use std::fs::{self, File};

use prowess_store::{Database, Store};

use crate::attack_data::upload;
use crate::testbed::{TestBed, run};

/// A used store, with or without large content.
async fn used(bed: &TestBed, size: usize) -> std::path::PathBuf {
    let store = bed.open().await;
    upload(&store, &bed.tenant, 1, size).await.unwrap();
    store.close().await;
    bed.config.data_dir.join("prowess.db")
}

async fn refusal(bed: &TestBed) -> String {
    let error = Store::open(&bed.config).await.unwrap_err();
    assert_eq!(error.code(), "store-emptied", "{error}");
    assert!(!error.is_transient());
    error.to_string()
}

#[test]
fn a_database_of_0_bytes_is_refused_and_left_as_it_is() {
    run(async {
        for size in [10, 5_000] {
            let bed = TestBed::new(Database::Sqlite);
            let file = used(&bed, size).await;
            File::create(&file).unwrap();
            let message = refusal(&bed).await;
            assert!(message.contains("0 bytes"), "{message}");
            assert!(message.contains("accept_empty"), "{message}");
            assert_eq!(fs::metadata(&file).unwrap().len(), 0);
        }
    });
}

#[test]
fn a_missing_database_is_refused_and_none_is_made() {
    run(async {
        let bed = TestBed::new(Database::Sqlite);
        let file = used(&bed, 5_000).await;
        fs::remove_file(&file).unwrap();
        assert!(refusal(&bed).await.contains("missing"));
        assert!(!file.exists());
    });
}

#[test]
fn a_database_without_tables_is_refused() {
    run(async {
        let bed = TestBed::new(Database::Sqlite);
        let file = used(&bed, 5_000).await;
        let other = TestBed::new(Database::Sqlite);
        let empty = other.config.data_dir.join("empty.db");
        use sqlx::{Connection, SqliteConnection};
        let url = format!("sqlite://{}?mode=rwc", empty.display());
        let mut connection = SqliteConnection::connect(&url).await.unwrap();
        let sql = "PRAGMA user_version = 1";
        sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        fs::copy(&empty, &file).unwrap();
        assert!(refusal(&bed).await.contains("no tables"));
    });
}

#[test]
fn another_postgres_database_beside_the_content_of_the_first_is_refused() {
    run(async {
        let mut bed = TestBed::new(Database::Postgres);
        let store = bed.open().await;
        upload(&store, &bed.tenant, 1, 5_000).await.unwrap();
        store.close().await;
        bed = bed.without_schema();
        assert!(refusal(&bed).await.contains("no tables"));
        bed.config.accept_empty = true;
        bed.open().await.close().await;
        bed.config.accept_empty = false;
        bed.open().await;
    });
}

#[test]
fn the_operator_may_accept_it_once() {
    run(async {
        let mut bed = TestBed::new(Database::Sqlite);
        let file = used(&bed, 5_000).await;
        File::create(&file).unwrap();
        refusal(&bed).await;
        bed.config.accept_empty = true;
        let store = bed.open().await;
        upload(&store, &bed.tenant, 1, 5_000).await.unwrap();
        store.close().await;
        bed.config.accept_empty = false;
        bed.open().await;
    });
}

#[test]
fn a_restored_database_is_taken_again() {
    run(async {
        let bed = TestBed::new(Database::Sqlite);
        let file = used(&bed, 5_000).await;
        let backup = fs::read(&file).unwrap();
        File::create(&file).unwrap();
        refusal(&bed).await;
        fs::write(&file, backup).unwrap();
        let used = bed.open().await.storage_usage(&bed.tenant).await.unwrap();
        assert_eq!(used.files, 1);
    });
}

#[test]
fn a_folder_that_nothing_was_stored_in_is_new_whatever_was_made_there() {
    run(async {
        // A first start that was killed before it wrote anything.
        let bed = TestBed::new(Database::Sqlite);
        File::create(bed.config.data_dir.join("prowess.db")).unwrap();
        bed.open().await;
        // A volume mounted at the content folder.
        let bed = TestBed::new(Database::Sqlite);
        fs::create_dir_all(bed.config.data_dir.join("blobs/lost+found")).unwrap();
        bed.open().await;
    });
}
