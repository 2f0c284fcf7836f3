//! Full-text search over the name, description and body of each skill's latest
//! version.
//!
//! The words are cut by [`words`](crate::words), not by the engines, and every
//! word of a query must begin some word of the skill; so both engines find the
//! same skills. A word in the name weighs more than one in the description, which
//! weighs more than one in the body; apart from that each engine ranks in its own
//! way.

use std::fmt::Write as _;

use super::{SkillRecord, VersionRecord};
use crate::Store;
use crate::db::{Engine, Sql, Tx};
use crate::error::Result;
use crate::page::{Cursor, Page, PageRequest, Position};
use crate::tenant::TenantId;
use crate::words::words;

/// Words of a body that are indexed. PostgreSQL counts positions up to 16,383.
const BODY_WORDS: usize = 8_000;
/// Words of a name or a description.
const LINE_WORDS: usize = 400;
/// Words of a query.
const QUERY_WORDS: usize = 16;

/// A skill that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// The skill.
    pub skill: SkillRecord,
    /// How well it fits; comparable within one search only.
    pub score: f64,
}

impl Store {
    /// The tenant's skills that fit a query, best first. A query without a word
    /// finds nothing.
    pub async fn search_skills(
        &self,
        tenant: &TenantId,
        query: &str,
        page: &PageRequest,
    ) -> Result<Page<SearchHit>> {
        let terms: Vec<_> = words(query, QUERY_WORDS).collect();
        if terms.is_empty() {
            return Ok(Page {
                items: Vec::new(),
                next: None,
            });
        }
        let found = match self.db().engine() {
            Engine::Sqlite => Sql::new(SQLITE_FOUND).bind(sqlite_query(tenant, &terms)),
            Engine::Postgres => Sql::new(POSTGRES_FOUND)
                .bind(postgres_query(&terms))
                .bind(tenant.as_str()),
        };
        let rows = self.db().all(ranked(found, tenant, page)?).await?;
        let hits = rows.iter().map(|row| {
            Ok(SearchHit {
                skill: SkillRecord::read(row)?,
                score: row.real("score")?,
            })
        });
        let hits = hits.collect::<Result<_>>()?;
        Ok(Page::cut(hits, page, |hit: &SearchHit| {
            Cursor::ranked(hit.score, &hit.skill.id)
        }))
    }
}

/// The tenant's skills with their scores, higher being better. What is joined
/// with CROSS JOIN is met in the order written: SQLite must ask its index once,
/// not once for each skill.
const SQLITE_FOUND: &str = "
    WITH found AS MATERIALIZED (
        SELECT w.skill, -bm25(skill_index, 0.0, 8.0, 3.0, 1.0) AS score
        FROM skill_index CROSS JOIN skill_words w
        WHERE skill_index MATCH $1 AND w.number = skill_index.rowid
    )";

const POSTGRES_FOUND: &str = "
    WITH found AS MATERIALIZED (
        SELECT skill, ts_rank('{0.1, 0.1, 0.3, 0.8}', words, $1::tsquery)::float8 AS score
        FROM skill_words WHERE words @@ $1::tsquery AND tenant = $2
    )";

/// Takes one page of what was found, and only then looks the skills up.
fn ranked(found: Sql, tenant: &TenantId, page: &PageRequest) -> Result<Sql> {
    let sql = found.push(", hits AS MATERIALIZED (SELECT skill, score FROM found");
    let (sql, order) = match &page.from {
        Position::Start => (sql, [" ORDER BY score DESC, skill DESC", BEST_FIRST]),
        Position::After(cursor) => (
            beyond(sql, cursor, [" WHERE score < ", " AND skill < "])?,
            [" ORDER BY score DESC, skill DESC", BEST_FIRST],
        ),
        Position::Before(cursor) => (
            beyond(sql, cursor, [" WHERE score > ", " AND skill > "])?,
            [" ORDER BY score, skill", WORST_FIRST],
        ),
    };
    let [inner, outer] = order;
    let sql = sql.push(inner).with(" LIMIT ", page.fetch()).push(")");
    let sql = sql.push(SkillRecord::SELECT_RANKED);
    let sql = sql.with(" WHERE s.id = h.skill AND s.tenant = ", tenant.as_str());
    Ok(sql.push(outer))
}

const BEST_FIRST: &str = " ORDER BY h.score DESC, s.id DESC";
const WORST_FIRST: &str = " ORDER BY h.score, s.id";

/// What comes after a cursor: a lower score, or the same and a lower id (or higher).
fn beyond(sql: Sql, cursor: &Cursor, [score, id]: [&'static str; 2]) -> Result<Sql> {
    let at = cursor.score()?;
    let sql = sql.with(score, at).with(" OR (score = ", at);
    Ok(sql.with(id, cursor.id()).push(")"))
}

/// Words hold letters and digits only, so quoting them is safe. The tenant is a
/// word too: the index then never walks through other tenants' skills.
fn sqlite_query(tenant: &TenantId, terms: &[String]) -> String {
    let mut query = format!("tenant:\"{}\"", tenant_word(tenant));
    for term in terms {
        let _ = write!(query, " AND {{name description body}}:\"{term}\"*");
    }
    query
}

fn postgres_query(terms: &[String]) -> String {
    let terms: Vec<_> = terms.iter().map(|term| format!("'{term}':*")).collect();
    terms.join(" & ")
}

/// A tenant's name as one word: its `-` and `_` would be cut at.
fn tenant_word(tenant: &TenantId) -> String {
    tenant.as_str().replace('-', "0h").replace('_', "0u")
}

/// Puts a version's words in the place of its skill's former ones.
pub(super) async fn index(
    tx: &mut Tx,
    tenant: &TenantId,
    version: &VersionRecord,
    body: &str,
) -> Result<()> {
    let name: Vec<_> = words(&version.name, LINE_WORDS).collect();
    let description: Vec<_> = words(&version.description, LINE_WORDS).collect();
    let body: Vec<_> = words(body, BODY_WORDS).collect();
    if tx.engine() == Engine::Postgres {
        let vector = vector(&[(&name, 'A'), (&description, 'B'), (&body, 'C')]);
        let sql = Sql::new(
            "INSERT INTO skill_words (skill, tenant, words) VALUES ($1, $2, $3::tsvector)
             ON CONFLICT (skill) DO UPDATE SET words = excluded.words",
        );
        let sql = sql.bind(&version.skill).bind(tenant.as_str());
        return tx.run(sql.bind(vector)).await.map(drop);
    }
    forget(tx, &version.skill).await?;
    let sql = Sql::new("INSERT INTO skill_words (skill) VALUES ($1) RETURNING number");
    let row = tx.one(sql.bind(&version.skill)).await?;
    let number = row.map(|row| row.int("number")).transpose()?;
    let sql = Sql::new(
        "INSERT INTO skill_index (rowid, tenant, name, description, body)
         VALUES ($1, $2, $3, $4, $5)",
    );
    let sql = sql.bind(number).bind(tenant_word(tenant));
    let sql = sql.bind(name.join(" ")).bind(description.join(" "));
    tx.run(sql.bind(body.join(" "))).await.map(drop)
}

/// Takes a skill out of the index.
pub(super) async fn forget(tx: &mut Tx, skill: &str) -> Result<()> {
    let sql = Sql::new("DELETE FROM skill_words WHERE skill = $1");
    tx.run(sql.bind(skill)).await.map(drop)
}

/// Words with their positions and weights, as PostgreSQL writes them.
fn vector(parts: &[(&[String], char)]) -> String {
    let mut text = String::new();
    let mut position = 0;
    for (words, weight) in parts {
        for word in *words {
            position += 1;
            let _ = write!(text, "'{word}':{position}{weight} ");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skills::plan::assert_no_table_is_scanned;

    #[test]
    fn a_search_asks_its_index_once_and_then_looks_skills_up() {
        let tenant = TenantId::default_tenant();
        let found = || Sql::new(SQLITE_FOUND).bind(sqlite_query(&tenant, &["pdf".to_owned()]));
        let request = |from| PageRequest {
            from,
            ..PageRequest::default()
        };
        let cursor = Cursor::ranked(1.0, "skill_1");
        let positions = [
            Position::Start,
            Position::After(cursor.clone()),
            Position::Before(cursor),
        ];
        let queries = positions.map(|from| ranked(found(), &tenant, &request(from)).unwrap());
        let steps = assert_no_table_is_scanned(queries);
        let place = |table: &str| steps.iter().position(|step| step.starts_with(table));
        assert!(place("SCAN skill_index") < place("SEARCH w"), "{steps:#?}");
        assert!(place("SEARCH w") < place("SEARCH s"), "{steps:#?}");
    }
}
