//! Opening a store, and the schema.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use prowess_store::{Database, Store, StoreConfig};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row, SqliteConnection, raw_sql};

use crate::crash::children;
use crate::testbed::{TestBed, on_both_databases, run};

on_both_databases! {
    many_handles_opened_at_once_find_one_schema,
    many_processes_started_at_once_find_one_schema,
    a_database_of_a_newer_release_is_refused,
    what_was_stored_is_there_after_opening_again,
    a_closed_store_answers_no_more,
    the_migration_level_is_read_without_migrating,
}

async fn many_handles_opened_at_once_find_one_schema(bed: TestBed) {
    let bed = bed.without_schema();
    let stores = join_all((0..8).map(|_| bed.open())).await;
    for (at, store) in stores.iter().enumerate() {
        store.ping().await.unwrap();
        bed.create(store, &format!("skill-{at}")).await;
    }
}

async fn many_processes_started_at_once_find_one_schema(bed: TestBed) {
    let bed = bed.without_schema();
    let processes: Vec<_> = (0..5).map(|_| children::start(&bed, "open")).collect();
    for mut process in processes {
        assert!(process.wait().unwrap().success());
    }
    bed.create(&bed.open().await, "one").await;
}

async fn execute(bed: &TestBed, sql: &str) -> Vec<(String, String)> {
    let sql = AssertSqlSafe(sql.to_owned());
    let pair = |a: Result<String, _>, b: Result<String, sqlx::Error>| (a.unwrap(), b.unwrap());
    if bed.config.database == "sqlite" {
        let file = bed.config.data_dir.join("prowess.db");
        let url = format!("sqlite://{}", file.display());
        let mut connection = SqliteConnection::connect(&url).await.unwrap();
        let rows = raw_sql(sql).fetch_all(&mut connection).await.unwrap();
        rows.iter()
            .map(|row| pair(row.try_get(0), row.try_get(1)))
            .collect()
    } else {
        let mut connection = PgConnection::connect(&bed.config.database).await.unwrap();
        let rows = raw_sql(sql).fetch_all(&mut connection).await.unwrap();
        rows.iter()
            .map(|row| pair(row.try_get(0), row.try_get(1)))
            .collect()
    }
}

async fn the_migration_level_is_read_without_migrating(bed: TestBed) {
    let bed = bed.without_schema();
    let before = Store::schema_level(&bed.config).await.unwrap();
    // There is no file yet, or a database without tables.
    assert_eq!(before.applied.unwrap_or(0), 0);
    assert_eq!(Store::schema_level(&bed.config).await.unwrap(), before);
    bed.open().await.close().await;
    let after = Store::schema_level(&bed.config).await.unwrap();
    assert_eq!(after.applied, Some(after.known));
    execute(&bed, "INSERT INTO schema_version (version) VALUES (999)").await;
    let newer = Store::schema_level(&bed.config).await.unwrap();
    assert_eq!(newer.applied, Some(999));
}

async fn a_database_of_a_newer_release_is_refused(bed: TestBed) {
    bed.open().await.close().await;
    execute(&bed, "INSERT INTO schema_version (version) VALUES (999)").await;
    let error = Store::open(&bed.config).await.unwrap_err();
    assert_eq!(error.code(), "schema-too-new");
    assert!(error.to_string().contains("999"), "{error}");
}

async fn what_was_stored_is_there_after_opening_again(bed: TestBed) {
    let first = bed.open().await;
    let made = bed.create(&first, "one").await;
    first.close().await;
    let second = bed.open().await;
    let found = second.skill(&bed.tenant, &made.skill.id).await.unwrap();
    assert_eq!(found, made.skill);
}

async fn a_closed_store_answers_no_more(bed: TestBed) {
    let store = bed.open().await;
    store.close().await;
    let error = store.ping().await.unwrap_err();
    assert_eq!(error.code(), "database");
    assert!(error.is_transient());
}

#[test]
fn a_database_that_another_process_is_creating_is_waited_for() {
    run(async {
        let bed = TestBed::new(Database::Sqlite);
        let file = bed.config.data_dir.join("prowess.db");
        let url = format!("sqlite://{}?mode=rwc", file.display());
        // As a process that has created the file, and has not switched it to its log yet.
        let mut other = SqliteConnection::connect(&url).await.unwrap();
        raw_sql("BEGIN IMMEDIATE")
            .execute(&mut other)
            .await
            .unwrap();
        let release = async {
            // Long enough for an attempt that does not wait to fail.
            tokio::time::sleep(Duration::from_millis(200)).await;
            raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
        };
        let (store, ()) = tokio::join!(bed.open(), release);
        bed.create(&store, "one").await;
    });
}

#[test]
fn both_engines_have_the_same_tables_and_columns() {
    run(async {
        let (sqlite, postgres) = (
            TestBed::new(Database::Sqlite),
            TestBed::new(Database::Postgres),
        );
        for bed in [&sqlite, &postgres] {
            bed.open().await.close().await;
        }
        let sqlite = "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c
                      WHERE m.type = 'table'";
        let postgres = "SELECT table_name::text, column_name::text FROM information_schema.columns
                        WHERE table_schema = 'public'";
        let columns = async |bed: &TestBed, sql: &str| -> BTreeSet<_> {
            let all = execute(bed, sql).await.into_iter();
            // How words are indexed differs between the databases.
            all.filter(|(table, _)| !table.starts_with("skill_"))
                .collect()
        };
        let bed = TestBed::new(Database::Sqlite);
        bed.open().await.close().await;
        let sqlite = columns(&bed, sqlite).await;
        let bed = TestBed::new(Database::Postgres).without_schema();
        bed.open().await.close().await;
        assert_eq!(sqlite, columns(&bed, postgres).await);
        assert!(sqlite.len() > 50);
    });
}

#[test]
fn a_setting_that_cannot_be_used_is_named_and_secrets_are_not() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let local = StoreConfig::local(folder.path());
        let database = StoreConfig {
            database: "mysql://root:hunter2@host/db".into(),
            ..local.clone()
        };
        let blobs = StoreConfig {
            blobs: "ftp://host/x".into(),
            ..local
        };
        for (config, setting) in [(database, "store.url"), (blobs, "blobs.url")] {
            let error = Store::open(&config).await.unwrap_err();
            assert_eq!(error.code(), "store-config");
            let message = error.to_string();
            assert!(message.starts_with(setting), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
    });
}
