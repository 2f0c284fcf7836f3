//! A row of either database, read by column name.

#[cfg(feature = "postgres")]
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{Decode, Row as _, Type};

use crate::error::Result;
use crate::time::Timestamp;

/// A row as the driver returns it.
pub(crate) enum DbRow {
    Sqlite(SqliteRow),
    #[cfg(feature = "postgres")]
    Postgres(PgRow),
}

/// A value that every driver of this build can read.
#[cfg(feature = "postgres")]
trait Readable<'r>:
    Decode<'r, sqlx::Sqlite> + Type<sqlx::Sqlite> + Decode<'r, sqlx::Postgres> + Type<sqlx::Postgres>
{
}
#[cfg(feature = "postgres")]
impl<'r, T> Readable<'r> for T where
    T: Decode<'r, sqlx::Sqlite>
        + Type<sqlx::Sqlite>
        + Decode<'r, sqlx::Postgres>
        + Type<sqlx::Postgres>
{
}

/// A value that every driver of this build can read.
#[cfg(not(feature = "postgres"))]
trait Readable<'r>: Decode<'r, sqlx::Sqlite> + Type<sqlx::Sqlite> {}
#[cfg(not(feature = "postgres"))]
impl<'r, T> Readable<'r> for T where T: Decode<'r, sqlx::Sqlite> + Type<sqlx::Sqlite> {}

impl DbRow {
    fn get<'r, T: Readable<'r>>(&'r self, column: &str) -> Result<T> {
        Ok(match self {
            DbRow::Sqlite(row) => row.try_get(column)?,
            #[cfg(feature = "postgres")]
            DbRow::Postgres(row) => row.try_get(column)?,
        })
    }

    pub(crate) fn int(&self, column: &str) -> Result<i64> {
        self.get(column)
    }

    pub(crate) fn optional_int(&self, column: &str) -> Result<Option<i64>> {
        self.get(column)
    }

    pub(crate) fn flag(&self, column: &str) -> Result<bool> {
        Ok(self.int(column)? != 0)
    }

    pub(crate) fn time(&self, column: &str) -> Result<Timestamp> {
        Ok(Timestamp::from_micros(self.int(column)?))
    }

    pub(crate) fn optional_time(&self, column: &str) -> Result<Option<Timestamp>> {
        Ok(self.optional_int(column)?.map(Timestamp::from_micros))
    }

    pub(crate) fn text(&self, column: &str) -> Result<String> {
        self.get(column)
    }

    pub(crate) fn optional_text(&self, column: &str) -> Result<Option<String>> {
        self.get(column)
    }

    pub(crate) fn optional_bytes(&self, column: &str) -> Result<Option<Vec<u8>>> {
        self.get(column)
    }
}
