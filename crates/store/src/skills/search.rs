//! Full-text search over the name, description and body of each skill's latest
//! version.
//!
//! The words are cut by [`words`](crate::words), not by the engines, and every
//! word of a query must begin some word of the skill; so both engines find the
//! same skills, and [`rank`](super::rank) puts them in the same order.
//!
//! # Bounds
//!
//! A search ends at [`MOST`] skills. Should more fit, those are taken that have the
//! words themselves before those with words that only begin so; of these, those with
//! all words in their names, then in name or description, then the others; newest
//! first. So a word that every skill has costs no more than one that few have.

use std::cmp::Ordering;
use std::fmt::Write as _;

use super::rank::{LINE_WORDS, score};
use super::{SkillRecord, VersionRecord};
use crate::Store;
use crate::db::{Engine, Row, Sql, Tx};
use crate::error::{Error, Result};
use crate::page::{Cursor, Page, PageRequest, Position};
use crate::tenant::TenantId;
use crate::words::words;

/// Skills that a search gives, on all its pages together.
const MOST: i64 = 200;
/// Words of a body that are indexed. PostgreSQL counts positions up to 16,383.
const BODY_WORDS: usize = 8_000;
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
    /// The tenant's skills that fit a query, best first; 200 at most, on all pages
    /// together. A query without a word finds nothing.
    ///
    /// A page may begin after a hit's cursor, or after [`Cursor::at`] a hit's id.
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
        let found = found(self.db().engine(), tenant, &terms);
        let rows = self.db().all(found).await?;
        let ranked = ranked(&rows, &terms)?;
        let wanted = part(&ranked, page)?;
        let hits = self.hits(tenant, wanted).await?;
        Ok(Page::cut(hits, page, |hit: &SearchHit| {
            Cursor::ranked(hit.score, &hit.skill.id)
        }))
    }

    /// All there is to show of some skills, in the order given. One that has been
    /// deleted in this moment is left out.
    async fn hits(&self, tenant: &TenantId, wanted: Vec<Ranked>) -> Result<Vec<SearchHit>> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let sql = Sql::new(SkillRecord::SELECT).with(" WHERE s.tenant = ", tenant.as_str());
        let ids = wanted.iter().map(|ranked| ranked.id.as_str());
        let rows = self.db().all(sql.push(" AND s.id IN ").list(ids)).await?;
        let skills = rows.iter().map(SkillRecord::read);
        let mut skills = skills.collect::<Result<Vec<_>>>()?;
        let hit = |Ranked { score, id }| {
            let at = skills.iter().position(|skill| skill.id == id)?;
            let skill = skills.swap_remove(at);
            Some(SearchHit { skill, score })
        };
        Ok(wanted.into_iter().filter_map(hit).collect())
    }
}

/// A skill's place in the list of what was found.
#[derive(Debug, Clone)]
struct Ranked {
    score: f64,
    id: String,
}

impl Ranked {
    /// Best first; of equals the newest.
    fn order(&self, score: f64, id: &str) -> Ordering {
        score.total_cmp(&self.score).then(id.cmp(&self.id))
    }
}

fn ranked(rows: &[Row], terms: &[String]) -> Result<Vec<Ranked>> {
    let ranked = rows.iter().map(|row| {
        Ok(Ranked {
            score: score(terms, &row.text("name")?, &row.text("description")?),
            id: row.text("id")?,
        })
    });
    let mut ranked = ranked.collect::<Result<Vec<_>>>()?;
    ranked.sort_by(|a, b| a.order(b.score, &b.id));
    Ok(ranked)
}

/// What is on a page, and the one after it, in the direction of reading.
fn part(ranked: &[Ranked], page: &PageRequest) -> Result<Vec<Ranked>> {
    let fetch = usize::try_from(page.fetch()).unwrap_or_default();
    let (before, after) = match &page.from {
        Position::Start => (0, 0),
        Position::Offset(count) => (0, usize::try_from(*count).unwrap_or(usize::MAX)),
        Position::After(cursor) | Position::Before(cursor) => place(ranked, cursor)?,
    };
    Ok(match page.from {
        Position::Before(_) => {
            let above = ranked.iter().take(before).rev();
            above.take(fetch).cloned().collect()
        }
        _ => ranked.iter().skip(after).take(fetch).cloned().collect(),
    })
}

/// How many stand before a cursor, and how many with the one it names. That one may
/// be gone if the cursor knows its score.
fn place(ranked: &[Ranked], cursor: &Cursor) -> Result<(usize, usize)> {
    let Some(score) = cursor.score() else {
        let at = ranked.iter().position(|ranked| ranked.id == cursor.id());
        return at.map(|at| (at, at + 1)).ok_or(Error::Cursor);
    };
    let count = |up_to: Ordering| {
        ranked.partition_point(|ranked| ranked.order(score, cursor.id()) <= up_to)
    };
    Ok((count(Ordering::Less), count(Ordering::Equal)))
}

/// The best skills, with what they are ranked by.
fn found(engine: Engine, tenant: &TenantId, terms: &[String]) -> Sql {
    let sql = match engine {
        Engine::Sqlite => Sql::new(SQLITE_FOUND),
        Engine::Postgres => Sql::new(POSTGRES_FOUND),
    };
    let sql = sql.bind(tenant.as_str()).bind(MOST);
    TIERS.iter().fold(sql, |sql, tier| {
        sql.bind(match engine {
            Engine::Sqlite => sqlite_query(tenant, terms, tier),
            Engine::Postgres => postgres_query(terms, tier),
        })
    })
}

/// Where all words of a query stand, in the words of each engine.
struct Tier {
    columns: &'static str,
    weights: &'static str,
    /// Whether the beginning of a word is enough.
    beginning: bool,
}

const fn tier(columns: &'static str, weights: &'static str, beginning: bool) -> Tier {
    Tier {
        columns,
        weights,
        beginning,
    }
}

/// Best first. The last one holds all others. Whole words come first as they are the
/// cheapest to find: a page full of them is found without looking for beginnings.
const TIERS: [Tier; 6] = [
    tier("{name}", "A", false),
    tier("{name description}", "AB", false),
    tier("{name description body}", "ABC", false),
    tier("{name}", "A", true),
    tier("{name description}", "AB", true),
    tier("{name description body}", "ABC", true),
];

macro_rules! sqlite_tier {
    ($query:literal) => {
        concat!(
            "SELECT number FROM (SELECT rowid AS number FROM skill_index
                WHERE skill_index MATCH ",
            $query,
            " ORDER BY rowid DESC LIMIT $2)"
        )
    };
}

/// The index gives skills newest first without reading further than asked. What is
/// joined with CROSS JOIN is met in the order written: SQLite must ask its index
/// once, not once for each skill.
const SQLITE_FOUND: &str = concat!(
    "WITH found AS MATERIALIZED (SELECT DISTINCT number FROM (",
    sqlite_tier!("$3"),
    " UNION ALL ",
    sqlite_tier!("$4"),
    " UNION ALL ",
    sqlite_tier!("$5"),
    " UNION ALL ",
    sqlite_tier!("$6"),
    " UNION ALL ",
    sqlite_tier!("$7"),
    " UNION ALL ",
    sqlite_tier!("$8"),
    ") LIMIT $2)
    SELECT s.id, s.name, l.description
    FROM found CROSS JOIN skill_words w CROSS JOIN skills s CROSS JOIN versions l
    WHERE w.number = found.number AND s.id = w.skill AND s.tenant = $1
      AND l.id = s.latest_version"
);

const POSTGRES_FOUND: &str = "
    WITH found AS MATERIALIZED (
        SELECT skill FROM skill_words WHERE words @@ $8::tsquery AND tenant = $1
        ORDER BY CASE WHEN words @@ $3::tsquery THEN 1 WHEN words @@ $4::tsquery THEN 2
                      WHEN words @@ $5::tsquery THEN 3 WHEN words @@ $6::tsquery THEN 4
                      WHEN words @@ $7::tsquery THEN 5 ELSE 6 END, skill DESC
        LIMIT $2
    )
    SELECT s.id, s.name, l.description
    FROM found JOIN skills s ON s.id = found.skill JOIN versions l ON l.id = s.latest_version
    WHERE s.tenant = $1";

/// Words hold letters and digits only, so quoting them is safe. The tenant is a
/// word too: the index then never walks through other tenants' skills.
fn sqlite_query(tenant: &TenantId, terms: &[String], tier: &Tier) -> String {
    let mut query = format!("tenant:\"{}\"", tenant_word(tenant));
    let star = if tier.beginning { "*" } else { "" };
    for term in terms {
        let _ = write!(query, " AND {}:\"{term}\"{star}", tier.columns);
    }
    query
}

fn postgres_query(terms: &[String], tier: &Tier) -> String {
    let star = if tier.beginning { "*" } else { "" };
    let term = |term: &String| format!("'{term}':{star}{}", tier.weights);
    terms.iter().map(term).collect::<Vec<_>>().join(" & ")
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
        let terms = ["pdf".to_owned(), "form".to_owned()];
        let steps = assert_no_table_is_scanned([found(Engine::Sqlite, &tenant, &terms)]);
        let place = |table: &str| steps.iter().position(|step| step.starts_with(table));
        assert!(place("SCAN skill_index") < place("SEARCH w"), "{steps:#?}");
        assert!(place("SEARCH w") < place("SEARCH s"), "{steps:#?}");
    }
}
