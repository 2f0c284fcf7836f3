//! Usage is counted once, wherever a transaction that writes it breaks off, also after its commit.

use std::sync::LazyLock;

use prowess_testkit::postgres::TestPostgres;
use serde_json::json;

use super::*;
use crate::db::{Database, crash};
use crate::{EndedForegroundRun, ForegroundRun, NewRun, StoreConfig};

static POSTGRES: LazyLock<TestPostgres> = LazyLock::new(TestPostgres::start);

/// More points than any of these transactions has.
const MAX_POINTS: u32 = 50;

const LEASE: Duration = Duration::from_secs(600);

async fn open(database: Database) -> (Store, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut config = StoreConfig::local(folder.path());
    if database == Database::Postgres {
        config.database = POSTGRES.database();
    }
    (Store::open(&config).await.unwrap(), folder)
}

fn row(key: &str) -> UsageRow {
    let mut cost = SkillCost::new("forms", Some("skill_1"));
    cost.loaded.input_tokens = 4;
    UsageRow {
        tenant: TenantId::default_tenant(),
        key: Some(key.to_owned()),
        model: "m".to_owned(),
        provider: "p".to_owned(),
        upstream_model: "m".to_owned(),
        dialect: "messages".to_owned(),
        status: 200,
        requests: 1,
        unpriced: 0,
        estimated: 0,
        input_tokens: 10,
        output_tokens: 5,
        cache_read_tokens: 0,
        cache_write_tokens: 0,
        cost_nanos: 100,
        millis: 7,
        sandbox_millis: 0,
        skills: vec![cost],
    }
}

fn run(id: &str, key: &str) -> ForegroundRun {
    ForegroundRun {
        id: id.to_owned(),
        turns: 1,
        calls: 0,
        started_at: Timestamp::now(),
        container: None,
        turn_usage: json!({}),
        skills: json!([]),
        files: json!([]),
        usage: row(key),
    }
}

fn ended(id: &str, key: &str, stored_usage: Option<UsageRow>) -> EndedForegroundRun {
    let now = Timestamp::now();
    EndedForegroundRun {
        tenant: TenantId::default_tenant(),
        record: NewRun {
            id: id.to_owned(),
            model: "m".to_owned(),
            provider: None,
            dialect: "messages",
            status: "completed",
            turns: 2,
            calls: 0,
            input_tokens: 20,
            output_tokens: 10,
            started_at: now,
            ended_at: now,
            container: None,
            error: None,
            usage: json!({}),
            skills: json!([]),
            files: json!([]),
            events: json!([]),
        },
        usage: Some(UsageRow {
            cost_nanos: 200,
            ..row(key)
        }),
        stored_usage,
    }
}

async fn writes_a_batch_once(database: Database) {
    let (store, _folder) = open(database).await;
    for points in 0..MAX_POINTS {
        let key = format!("key_{points}");
        let batch = UsageBatch::new(vec![row(&key), row(&key)]).unwrap();
        crash::after(Some(points));
        let crashed = store.record_usage_batch(&batch).await.is_err();
        crash::after(None);
        if !crashed {
            assert!(points > 3, "{points}");
            return;
        }
        for _ in 0..2 {
            store.record_usage_batch(&batch).await.unwrap();
            let spent = store.spent_nanos(&key, Timestamp::EPOCH).await.unwrap();
            assert_eq!(spent, 200, "after {points} points");
        }
    }
    panic!("every attempt crashed");
}

async fn ends_a_run_once(database: Database) {
    let (store, _folder) = open(database).await;
    for is_certain in [true, false] {
        let mut points = 0;
        loop {
            let id = Store::new_run_id().unwrap();
            let key = format!("key_{is_certain}_{points}");
            let new = [run(&id, &key)];
            let written = store.write_foreground_runs("a", LEASE, &new, &[]).await;
            assert_eq!(written.unwrap(), [""; 0]);
            let ended = [ended(&id, &key, is_certain.then(|| row(&key)))];
            crash::after(Some(points));
            let crashed = store.end_foreground_runs(&ended).await.is_err();
            crash::after(None);
            if !crashed {
                assert!(points > 3, "{points}");
                break;
            }
            store.end_foreground_runs(&ended).await.unwrap();
            let spent = store.spent_nanos(&key, Timestamp::EPOCH).await.unwrap();
            assert_eq!(spent, 200, "after {points} points, {is_certain}");
            points += 1;
            assert!(points < MAX_POINTS);
        }
    }
}

#[tokio::test]
async fn a_batch_is_written_once_in_sqlite() {
    writes_a_batch_once(Database::Sqlite).await;
}

#[tokio::test]
async fn a_batch_is_written_once_in_postgres() {
    writes_a_batch_once(Database::Postgres).await;
}

#[tokio::test]
async fn a_run_is_ended_once_in_sqlite() {
    ends_a_run_once(Database::Sqlite).await;
}

#[tokio::test]
async fn a_run_is_ended_once_in_postgres() {
    ends_a_run_once(Database::Postgres).await;
}
