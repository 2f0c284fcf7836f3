//! A statement with its values, for either database.
//!
//! Only literals of this crate become SQL text; everything else is a bound value.

use std::borrow::Cow;

use crate::time::Timestamp;

/// A statement and the values of its `$1`, `$2`, …
#[derive(Debug, Clone)]
pub(crate) struct Sql {
    pub(super) text: Cow<'static, str>,
    pub(super) values: Vec<SqlValue>,
    pub(super) row_locks: RowLocks,
}

/// Which of the rows that a statement reads it locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowLocks {
    None,
    /// All; waits for those that are locked.
    Wait,
    /// Those that are not locked; the others are not read.
    Skip,
}

/// A value that both databases can store. Absent values keep their type, as PostgreSQL
/// requires it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SqlValue {
    Int(Option<i64>),
    Text(Option<String>),
    Bytes(Option<Vec<u8>>),
}

impl Sql {
    pub(crate) fn new(text: &'static str) -> Self {
        Sql {
            text: Cow::Borrowed(text),
            values: Vec::new(),
            row_locks: RowLocks::None,
        }
    }

    /// Binds the next `$n`.
    pub(crate) fn bind(mut self, value: impl Into<SqlValue>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Appends literal text.
    pub(crate) fn push(mut self, text: &'static str) -> Self {
        self.text.to_mut().push_str(text);
        self
    }

    /// Appends literal text, the next placeholder and its value.
    pub(crate) fn push_bind(self, text: &'static str, value: impl Into<SqlValue>) -> Self {
        let mut sql = self.push(text).bind(value);
        let placeholder = format!("${}", sql.values.len());
        sql.text.to_mut().push_str(&placeholder);
        sql
    }

    /// Appends `(a, b, …)`. There must be at least one value: an empty list is not valid
    /// SQL.
    pub(crate) fn push_list<V: Into<SqlValue>>(self, values: impl IntoIterator<Item = V>) -> Self {
        let mut sql = self;
        for (at, value) in values.into_iter().enumerate() {
            sql = sql.push_bind(if at == 0 { "(" } else { ", " }, value);
        }
        sql.push(")")
    }

    /// Appends `(…), (…), …`, one list per row.
    pub(crate) fn push_rows(self, rows: impl IntoIterator<Item = Vec<SqlValue>>) -> Self {
        let mut sql = self;
        for (at, row) in rows.into_iter().enumerate() {
            sql = if at == 0 { sql } else { sql.push(", ") };
            sql = sql.push_list(row);
        }
        sql
    }

    /// Requests SQLite's query plan instead of the result.
    #[cfg(test)]
    pub(crate) fn explain_query_plan(mut self) -> Self {
        self.text.to_mut().insert_str(0, "EXPLAIN QUERY PLAN ");
        self
    }

    /// Locks the selected rows until the transaction ends. SQLite needs no clause for it:
    /// its writing transactions are exclusive.
    pub(crate) fn for_update(mut self) -> Self {
        self.row_locks = RowLocks::Wait;
        self
    }

    /// Like [`Sql::for_update`], but leaves out rows that another transaction has locked, so
    /// that servers that take work at the same moment get different rows.
    pub(crate) fn for_update_skip_locked(mut self) -> Self {
        self.row_locks = RowLocks::Skip;
        self
    }
}

impl From<i64> for SqlValue {
    fn from(value: i64) -> Self {
        SqlValue::Int(Some(value))
    }
}

impl From<Option<i64>> for SqlValue {
    fn from(value: Option<i64>) -> Self {
        SqlValue::Int(value)
    }
}

impl From<bool> for SqlValue {
    fn from(value: bool) -> Self {
        SqlValue::Int(Some(i64::from(value)))
    }
}

impl From<Timestamp> for SqlValue {
    fn from(value: Timestamp) -> Self {
        SqlValue::Int(Some(value.as_micros()))
    }
}

impl From<Option<Timestamp>> for SqlValue {
    fn from(value: Option<Timestamp>) -> Self {
        SqlValue::Int(value.map(Timestamp::as_micros))
    }
}

impl From<&str> for SqlValue {
    fn from(value: &str) -> Self {
        SqlValue::Text(Some(value.to_owned()))
    }
}

impl From<String> for SqlValue {
    fn from(value: String) -> Self {
        SqlValue::Text(Some(value))
    }
}

impl From<&String> for SqlValue {
    fn from(value: &String) -> Self {
        SqlValue::Text(Some(value.clone()))
    }
}

impl From<Option<&str>> for SqlValue {
    fn from(value: Option<&str>) -> Self {
        SqlValue::Text(value.map(str::to_owned))
    }
}

impl From<Option<String>> for SqlValue {
    fn from(value: Option<String>) -> Self {
        SqlValue::Text(value)
    }
}

impl From<Vec<u8>> for SqlValue {
    fn from(value: Vec<u8>) -> Self {
        SqlValue::Bytes(Some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_numbered_in_the_order_of_their_values() {
        let sql = Sql::new("SELECT a FROM t WHERE x = $1")
            .bind("x")
            .push_bind(" AND y = ", 2)
            .push(" AND z IN ")
            .push_list(["p", "q"]);
        assert_eq!(
            sql.text,
            "SELECT a FROM t WHERE x = $1 AND y = $2 AND z IN ($3, $4)"
        );
        assert_eq!(sql.values.len(), 4);
    }

    #[test]
    fn rows_become_one_list_each() {
        let sql = Sql::new("INSERT INTO t VALUES ")
            .push_rows([vec![1.into(), "a".into()], vec![2.into(), "b".into()]]);
        assert_eq!(sql.text, "INSERT INTO t VALUES ($1, $2), ($3, $4)");
    }
}
