//! Schema migrations, applied at start-up.
//!
//! All pending migrations run in one transaction, under a lock that every starting
//! process acquires: the first one does the work, the others find it done.

#[cfg(feature = "postgres")]
use sqlx::PgPool;
use sqlx::{Executor, Row, SqlitePool, raw_sql};

use crate::error::{Error, Result};
use crate::lost_database::EarlierContent;

/// The migrations, oldest first. A released migration is never changed.
const MIGRATIONS: [Migration; 20] = [
    Migration {
        sqlite: include_str!("../../migrations/0001_sqlite.sql"),
        postgres: include_str!("../../migrations/0001_postgres.sql"),
    },
    // Runs, containers, and turns that a dialect cannot carry.
    Migration {
        sqlite: include_str!("../../migrations/0002_sqlite.sql"),
        postgres: include_str!("../../migrations/0002_postgres.sql"),
    },
    // Limits of keys, usage, stored responses.
    Migration {
        sqlite: include_str!("../../migrations/0003_sqlite.sql"),
        postgres: include_str!("../../migrations/0003_postgres.sql"),
    },
    // Names of containers.
    Migration {
        sqlite: include_str!("../../migrations/0004_sqlite.sql"),
        postgres: include_str!("../../migrations/0004_postgres.sql"),
    },
    // Files stored by providers.
    Migration {
        sqlite: include_str!("../../migrations/0005_sqlite.sql"),
        postgres: include_str!("../../migrations/0005_postgres.sql"),
    },
    // Storage totals per tenant, and a row for readiness checks.
    Migration {
        sqlite: include_str!("../../migrations/0006_sqlite.sql"),
        postgres: include_str!("../../migrations/0006_postgres.sql"),
    },
    // Items of stored responses, conversations, stored chat completions.
    Migration {
        sqlite: include_str!("../../migrations/0007_sqlite.sql"),
        postgres: include_str!("../../migrations/0007_postgres.sql"),
    },
    // The journal of runs, webhooks, and the files of containers by generation.
    Migration {
        sqlite: include_str!("../../migrations/0008_sqlite.sql"),
        postgres: include_str!("../../migrations/0008_postgres.sql"),
    },
    // Batches.
    Migration {
        sqlite: include_str!("../../migrations/0009_sqlite.sql"),
        postgres: include_str!("../../migrations/0009_postgres.sql"),
    },
    // Runs in progress that end when their client leaves.
    Migration {
        sqlite: include_str!("../../migrations/0010_sqlite.sql"),
        postgres: include_str!("../../migrations/0010_postgres.sql"),
    },
    // The index of skills' words.
    Migration {
        sqlite: include_str!("../../migrations/0011_sqlite.sql"),
        postgres: include_str!("../../migrations/0011_postgres.sql"),
    },
    // Vectors of skills.
    Migration {
        sqlite: include_str!("../../migrations/0012_sqlite.sql"),
        postgres: include_str!("../../migrations/0012_postgres.sql"),
    },
    // What skills took of requests.
    Migration {
        sqlite: include_str!("../../migrations/0013_sqlite.sql"),
        postgres: include_str!("../../migrations/0013_postgres.sql"),
    },
    // Whether runs of a key may use all stored skills.
    Migration {
        sqlite: include_str!("../../migrations/0014_sqlite.sql"),
        postgres: include_str!("../../migrations/0014_postgres.sql"),
    },
    // The audit log, and keys that are rotated.
    Migration {
        sqlite: include_str!("../../migrations/0015_sqlite.sql"),
        postgres: include_str!("../../migrations/0015_postgres.sql"),
    },
    // Labels of versions, notes about them, and which are revoked.
    Migration {
        sqlite: include_str!("../../migrations/0016_sqlite.sql"),
        postgres: include_str!("../../migrations/0016_postgres.sql"),
    },
    // Browsers that are signed in to the console.
    Migration {
        sqlite: include_str!("../../migrations/0017_sqlite.sql"),
        postgres: include_str!("../../migrations/0017_postgres.sql"),
    },
    // What one skill took.
    Migration {
        sqlite: include_str!("../../migrations/0018_sqlite.sql"),
        postgres: include_str!("../../migrations/0018_postgres.sql"),
    },
    // Containers of a cluster.
    Migration {
        sqlite: include_str!("../../migrations/0019_sqlite.sql"),
        postgres: include_str!("../../migrations/0019_postgres.sql"),
    },
    // Whose key a provider's file needs.
    Migration {
        sqlite: include_str!("../../migrations/0020_sqlite.sql"),
        postgres: include_str!("../../migrations/0020_postgres.sql"),
    },
];

struct Migration {
    sqlite: &'static str,
    #[cfg_attr(
        not(feature = "postgres"),
        expect(
            dead_code,
            reason = "one table of migrations, with or without the feature"
        )
    )]
    postgres: &'static str,
}

/// Any number that no other program uses on the same database.
#[cfg(feature = "postgres")]
const ACQUIRE_LOCK: &str = "SELECT pg_advisory_xact_lock(7381250463)";
const CREATE_VERSION_TABLE: &str =
    "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)";
pub(super) const SELECT_VERSION: &str =
    "SELECT COALESCE(MAX(version), 0) AS version FROM schema_version";
const INSERT_VERSION: &str = "INSERT INTO schema_version (version) VALUES ($1)";

pub(super) async fn migrate_sqlite(pool: &SqlitePool, evidence: &EarlierContent<'_>) -> Result<()> {
    let mut tx = pool.begin_with("BEGIN IMMEDIATE").await?;
    tx.execute(CREATE_VERSION_TABLE).await?;
    let current: i64 = tx.fetch_one(SELECT_VERSION).await?.try_get("version")?;
    if current == 0 {
        evidence.refuse_if_present().await?;
    }
    for (version, step) in pending_migrations(current)? {
        tx.execute(raw_sql(step.sqlite)).await?;
        sqlx::query(INSERT_VERSION)
            .bind(version)
            .execute(&mut *tx)
            .await?;
    }
    Ok(tx.commit().await?)
}

#[cfg(feature = "postgres")]
pub(super) async fn migrate_postgres(pool: &PgPool, evidence: &EarlierContent<'_>) -> Result<()> {
    let mut tx = pool.begin().await?;
    tx.execute(ACQUIRE_LOCK).await?;
    tx.execute(CREATE_VERSION_TABLE).await?;
    let current: i64 = tx.fetch_one(SELECT_VERSION).await?.try_get("version")?;
    if current == 0 {
        evidence.refuse_if_present().await?;
    }
    for (version, step) in pending_migrations(current)? {
        tx.execute(raw_sql(step.postgres)).await?;
        sqlx::query(INSERT_VERSION)
            .bind(version)
            .execute(&mut *tx)
            .await?;
    }
    Ok(tx.commit().await?)
}

/// How many migrations there are.
pub(crate) fn known_migrations() -> i64 {
    MIGRATIONS.len() as i64
}

/// The migrations after `current`, with their numbers.
fn pending_migrations(current: i64) -> Result<impl Iterator<Item = (i64, &'static Migration)>> {
    let known = known_migrations();
    if current > known {
        return Err(Error::SchemaTooNew {
            found: current,
            known,
        });
    }
    Ok((1..)
        .zip(&MIGRATIONS)
        .filter(move |(version, _)| *version > current))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Later migrations meet servers of the release before, which go on with the new schema.
    const FIRST_RELEASED: usize = 20;
    /// Later migrations that may remove what no server of the release before uses any more.
    const CONTRACTING: [usize; 0] = [];

    /// What a server that does not know of it cannot go on with.
    fn contracts(sql: &str) -> bool {
        let lines = sql.lines().map(str::trim_start);
        let lines: Vec<&str> = lines.filter(|line| !line.starts_with("--")).collect();
        let text = lines.join(" ").to_uppercase();
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").split(';').any(|statement| {
            let has = |words: &str| statement.contains(words);
            let is_required = has("ADD COLUMN") && has("NOT NULL") && !has("DEFAULT");
            let is_another = has("ALTER COLUMN") && has(" TYPE ");
            let removes = ["DROP TABLE", "DROP COLUMN", "RENAME", "SET NOT NULL"];
            is_required || is_another || removes.into_iter().any(has)
        })
    }

    #[test]
    fn migrations_expand_the_schema_a_release_before_others_contract_it() {
        for (number, migration) in (1..).zip(&MIGRATIONS) {
            if number > FIRST_RELEASED && !CONTRACTING.contains(&number) {
                assert!(!contracts(migration.sqlite), "{number} for SQLite");
                #[cfg(feature = "postgres")]
                assert!(!contracts(migration.postgres), "{number} for PostgreSQL");
            }
        }
    }

    #[test]
    fn what_a_server_of_the_release_before_cannot_go_on_with_is_recognised() {
        for sql in [
            "DROP TABLE a;",
            "ALTER TABLE a\n    DROP COLUMN b;",
            "alter table a rename column b to c;",
            "ALTER TABLE a ADD COLUMN b BIGINT NOT NULL;",
            "ALTER TABLE a ALTER COLUMN b TYPE BIGINT;",
            "CREATE TABLE a (b BIGINT);\nALTER TABLE c ALTER COLUMN d SET NOT NULL;",
        ] {
            assert!(contracts(sql), "{sql}");
        }
        for sql in [
            "-- Not to RENAME anything.\nCREATE TABLE a (b BIGINT NOT NULL);",
            "ALTER TABLE a ADD COLUMN b BIGINT NOT NULL DEFAULT 0;\nDROP INDEX c;",
            "ALTER TABLE a ADD COLUMN b TEXT;",
        ] {
            assert!(!contracts(sql), "{sql}");
        }
    }
}
