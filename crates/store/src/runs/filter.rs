//! Which runs are listed. Ids sort by the time at which runs began, so a time is a bound of ids.

use crate::db::{Database, Sql};
use crate::id::{self, IdPrefix};
use crate::time::Timestamp;

/// Which runs are listed; the default is all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter<'a> {
    /// Those of this model, by the name that the client sent.
    pub model: Option<&'a str>,
    /// Those with this skill, by its id or its name. A kept run without a record is not among
    /// them: its skills are not known yet.
    pub skill: Option<&'a str>,
    /// Those of this key, by its id.
    pub key: Option<&'a str>,
    /// Those in this state, or that ended so.
    pub state: Option<&'a str>,
    /// Those that began at this time or later.
    pub since: Option<Timestamp>,
    /// Those that began before this time.
    pub until: Option<Timestamp>,
}

/// A table that has runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunTable {
    Records,
    Journal,
    Foreground,
}

impl RunTable {
    pub(super) const ALL: [RunTable; 3] =
        [RunTable::Records, RunTable::Journal, RunTable::Foreground];

    /// The beginning of a statement that selects ids of a tenant.
    pub(super) fn select_ids(self) -> &'static str {
        match self {
            RunTable::Records => "SELECT id FROM runs t WHERE tenant = ",
            RunTable::Journal => "SELECT id FROM journal_runs t WHERE tenant = ",
            RunTable::Foreground => "SELECT id FROM foreground_runs t WHERE tenant = ",
        }
    }
}

impl RunFilter<'_> {
    /// Adds the conditions to the selection of ids from a table.
    pub(super) fn apply(&self, mut sql: Sql, table: RunTable, database: Database) -> Sql {
        let bound = |time| id::time_bound(IdPrefix::Run, time);
        if let Some(since) = self.since {
            sql = sql.push_bind(" AND id >= ", bound(since));
        }
        if let Some(until) = self.until {
            sql = sql.push_bind(" AND id < ", bound(until));
        }
        if let Some(model) = self.model {
            sql = sql.push_bind(" AND model = ", model);
        }
        if let Some(key) = self.key {
            sql = sql.push_bind(" AND api_key = ", key);
        }
        if let Some(state) = self.state {
            sql = match table {
                // While a kept run is in progress its journal is right.
                RunTable::Records => sql
                    .push_bind(" AND status = ", state)
                    .push_bind(
                        " AND NOT EXISTS (SELECT 1 FROM journal_runs j WHERE j.id = t.id
                        AND j.state <> ",
                        state,
                    )
                    .push(")"),
                RunTable::Journal => sql.push_bind(" AND state = ", state),
                RunTable::Foreground => sql.push_bind(" AND 'running' = ", state),
            };
        }
        if let Some(skill) = self.skill {
            sql = match table {
                RunTable::Journal => sql.push(" AND 1 = 0"),
                _ => has_skill(sql, skill, database),
            };
        }
        sql
    }
}

/// Skills are stored as JSON, whose fields are written without spaces.
fn has_skill(sql: Sql, skill: &str, database: Database) -> Sql {
    let quoted = serde_json::Value::from(skill).to_string();
    let position = match database {
        Database::Sqlite => ["(instr(skills, ", "instr(skills, "],
        Database::Postgres => ["(strpos(skills, ", "strpos(skills, "],
    };
    let [first, second] = position;
    sql.push(" AND ")
        .push_bind(first, format!("\"id\":{quoted}"))
        .push(") > 0 OR ")
        .push_bind(second, format!("\"name\":{quoted}"))
        .push(") > 0)")
}
