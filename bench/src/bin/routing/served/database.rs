//! The databases that searches are measured on, and the bytes of their index.

use anyhow::{Context, Result, bail, ensure};
use prowess_bench::server::postgres::{self, BenchPostgres};
use sqlx::{Connection as _, Row as _, SqliteConnection};

use super::pool_server::PoolServer;

const SQLITE_NAME: &str = "SQLite";
const POSTGRES_NAME: &str = "PostgreSQL";

/// What the index stores: pages of blocks that are not replaced, the blocks, and the terms of
/// recent documents. The key of a page begins with the id of its block.
const INDEX_BYTES: &str = "
    SELECT CAST(
        (SELECT COALESCE(SUM(LENGTH(p.content) + 8), 0) FROM skill_pages p
         WHERE EXISTS (SELECT 1 FROM skill_blocks b
                       WHERE b.state = 'live' AND p.key >= b.id * 1048576
                         AND p.key < (b.id + 1) * 1048576))
        + (SELECT COALESCE(SUM(LENGTH(numbers) + LENGTH(lengths) + LENGTH(directory)
                               + LENGTH(dead)), 0) FROM skill_blocks WHERE state = 'live')
        + (SELECT COALESCE(SUM(LENGTH(terms)), 0) FROM skill_documents)
    AS BIGINT) AS bytes";

/// A kind of database.
pub(super) enum RoutingDatabase {
    Sqlite,
    Postgres(BenchPostgres),
}

impl RoutingDatabase {
    /// The database of this name, or all. One that is missing is an error: nothing is left out.
    pub(super) fn start(name: Option<&str>) -> Result<Vec<RoutingDatabase>> {
        let is_selected = |known: &str| name.is_none_or(|name| name.eq_ignore_ascii_case(known));
        let mut all = Vec::new();
        if is_selected(SQLITE_NAME) {
            all.push(RoutingDatabase::Sqlite);
        }
        if is_selected(POSTGRES_NAME) {
            if let Some(why) = postgres::missing() {
                bail!("{why}; measure the other alone with `--database {SQLITE_NAME}`");
            }
            all.push(RoutingDatabase::Postgres(BenchPostgres::start(&[])?));
        }
        ensure!(
            !all.is_empty(),
            "a database is one of {SQLITE_NAME}, {POSTGRES_NAME}"
        );
        Ok(all)
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            RoutingDatabase::Sqlite => SQLITE_NAME,
            RoutingDatabase::Postgres(_) => POSTGRES_NAME,
        }
    }

    /// The configuration of a server that has an empty database of its own, by this number:
    /// the first has that which statements are sent to.
    pub(super) fn config(&self, number: usize) -> Result<String> {
        let url = match (self, number) {
            (RoutingDatabase::Sqlite, _) => String::new(),
            (RoutingDatabase::Postgres(postgres), 0) => postgres.url(),
            (RoutingDatabase::Postgres(postgres), number) => {
                postgres.create_database(&format!("server_{number}"))?
            }
        };
        let url = match url.is_empty() {
            true => String::new(),
            false => format!("url = \"{url}\"\n"),
        };
        Ok(format!(
            "[store]\n{url}tenant_skills = 0\ntenant_versions = 0\ntenant_bytes = 0\n"
        ))
    }

    /// Bytes of the index of the first server.
    pub(super) async fn index_bytes(&self, server: &PoolServer) -> Result<u64> {
        let bytes: i64 = match self {
            RoutingDatabase::Sqlite => {
                let url = format!("sqlite://{}", server.sqlite_file().display());
                let mut connection = SqliteConnection::connect(&url).await?;
                let row = sqlx::query(INDEX_BYTES).fetch_one(&mut connection).await?;
                row.try_get("bytes")?
            }
            RoutingDatabase::Postgres(postgres) => {
                let bytes = postgres.query(INDEX_BYTES)?;
                bytes.parse().context("no number of bytes")?
            }
        };
        Ok(bytes.unsigned_abs())
    }
}
