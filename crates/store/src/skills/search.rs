//! Full-text search over the name, description and body of each skill's latest version.
//!
//! Words are split by [`words`](crate::words), not by the databases, and every word of a
//! query must be the prefix of some word of the skill; so both databases find the same
//! skills, and [`ranking`](super::ranking) puts them in the same order.
//!
//! # Limits
//!
//! A search returns at most [`MAX_HITS`] skills. If more match, whole-word matches are
//! preferred to prefix matches; among these, those with all words in their names, then in
//! name or description, then the others; newest first. So a word that every skill has
//! costs no more than a rare one.

use std::cmp::Ordering;
use std::fmt::Write as _;

use super::ranking::{MAX_LINE_WORDS, score};
use super::{SkillRecord, VersionRecord};
use crate::Store;
use crate::db::{Database, DbRow, Sql, Tx};
use crate::error::{Error, Result};
use crate::page::{PageCursor, PagePosition, PageRequest, RecordPage};
use crate::tenant::TenantId;
use crate::words::words;

/// Maximum skills returned by a search, on all its pages together.
const MAX_HITS: i64 = 200;
/// Words of a body that are indexed. PostgreSQL supports positions up to 16,383.
const MAX_BODY_WORDS: usize = 8_000;
/// Words of a query.
const MAX_QUERY_WORDS: usize = 16;

/// A skill found by a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// The skill.
    pub skill: SkillRecord,
    /// How well it matches; comparable within one search only.
    pub score: f64,
}

impl Store {
    /// The tenant's skills that match a query, best first; 200 at most, on all pages
    /// together. A query without a word matches nothing.
    ///
    /// A page may begin after a hit's cursor, or after [`PageCursor::from_id`] of a hit's
    /// id.
    pub async fn search_skills(
        &self,
        tenant: &TenantId,
        query: &str,
        page: &PageRequest,
    ) -> Result<RecordPage<SearchHit>> {
        let terms: Vec<_> = words(query, MAX_QUERY_WORDS).collect();
        if terms.is_empty() {
            return Ok(RecordPage {
                items: Vec::new(),
                next: None,
            });
        }
        let sql = search_query(self.db().database(), tenant, &terms);
        let rows = self.db().fetch_all(sql).await?;
        let ranked = rank_rows(&rows, &terms)?;
        let on_page = page_slice(&ranked, page)?;
        let hits = self.load_hits(tenant, on_page).await?;
        Ok(RecordPage::from_fetched(hits, page, |hit: &SearchHit| {
            PageCursor::from_score(hit.score, &hit.skill.id)
        }))
    }

    /// The full records of some skills, in the given order. One deleted meanwhile is left
    /// out.
    async fn load_hits(
        &self,
        tenant: &TenantId,
        on_page: Vec<RankedSkill>,
    ) -> Result<Vec<SearchHit>> {
        if on_page.is_empty() {
            return Ok(Vec::new());
        }
        let sql = Sql::new(SkillRecord::SELECT).push_bind(" WHERE s.tenant = ", tenant.as_str());
        let ids = on_page.iter().map(|ranked| ranked.id.as_str());
        let rows = self
            .db()
            .fetch_all(sql.push(" AND s.id IN ").push_list(ids))
            .await?;
        let skills = rows.iter().map(SkillRecord::from_row);
        let mut skills = skills.collect::<Result<Vec<_>>>()?;
        let hit = |RankedSkill { score, id }| {
            let at = skills.iter().position(|skill| skill.id == id)?;
            let skill = skills.swap_remove(at);
            Some(SearchHit { skill, score })
        };
        Ok(on_page.into_iter().filter_map(hit).collect())
    }
}

/// A skill's position in the results.
#[derive(Debug, Clone)]
struct RankedSkill {
    score: f64,
    id: String,
}

impl RankedSkill {
    /// Best first; among equals the newest.
    fn compare(&self, score: f64, id: &str) -> Ordering {
        score.total_cmp(&self.score).then(id.cmp(&self.id))
    }
}

fn rank_rows(rows: &[DbRow], terms: &[String]) -> Result<Vec<RankedSkill>> {
    let ranked = rows.iter().map(|row| {
        Ok(RankedSkill {
            score: score(terms, &row.text("name")?, &row.text("description")?),
            id: row.text("id")?,
        })
    });
    let mut ranked = ranked.collect::<Result<Vec<_>>>()?;
    ranked.sort_by(|a, b| a.compare(b.score, &b.id));
    Ok(ranked)
}

/// The hits of a page, plus one, in reading order.
fn page_slice(ranked: &[RankedSkill], page: &PageRequest) -> Result<Vec<RankedSkill>> {
    let fetch = usize::try_from(page.fetch_limit()).unwrap_or_default();
    let (before, after) = match &page.from {
        PagePosition::Start => (0, 0),
        PagePosition::Offset(count) => (0, usize::try_from(*count).unwrap_or(usize::MAX)),
        PagePosition::After(cursor) | PagePosition::Before(cursor) => cursor_range(ranked, cursor)?,
    };
    Ok(match page.from {
        PagePosition::Before(_) => {
            let above = ranked.iter().take(before).rev();
            above.take(fetch).cloned().collect()
        }
        _ => ranked.iter().skip(after).take(fetch).cloned().collect(),
    })
}

/// How many hits precede a cursor, without and with its own. The cursor's skill may have
/// been deleted if the cursor has its score.
fn cursor_range(ranked: &[RankedSkill], cursor: &PageCursor) -> Result<(usize, usize)> {
    let Some(score) = cursor.score() else {
        let at = ranked.iter().position(|ranked| ranked.id == cursor.id());
        return at.map(|at| (at, at + 1)).ok_or(Error::InvalidCursor);
    };
    let count = |up_to: Ordering| {
        ranked.partition_point(|ranked| ranked.compare(score, cursor.id()) <= up_to)
    };
    Ok((count(Ordering::Less), count(Ordering::Equal)))
}

/// The query for the best skills, with the columns for ranking.
fn search_query(database: Database, tenant: &TenantId, terms: &[String]) -> Sql {
    let sql = match database {
        Database::Sqlite => Sql::new(SQLITE_SEARCH),
        Database::Postgres => Sql::new(POSTGRES_SEARCH),
    };
    let sql = sql.bind(tenant.as_str()).bind(MAX_HITS);
    TIERS.iter().fold(sql, |sql, tier| {
        sql.bind(match database {
            Database::Sqlite => sqlite_query(tenant, terms, tier),
            Database::Postgres => postgres_query(terms, tier),
        })
    })
}

/// Where all words of a query must occur, in the syntax of each database.
struct MatchTier {
    columns: &'static str,
    weights: &'static str,
    /// Whether a prefix of a word is enough.
    is_prefix: bool,
}

const fn tier(columns: &'static str, weights: &'static str, is_prefix: bool) -> MatchTier {
    MatchTier {
        columns,
        weights,
        is_prefix,
    }
}

/// Best first. The last one includes all others. Whole words come first as they are the
/// cheapest to find: a page full of them needs no prefix search.
const TIERS: [MatchTier; 6] = [
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

/// The index returns skills newest first without reading more than needed. CROSS JOIN
/// fixes the join order: SQLite must query its index once, not once per skill.
const SQLITE_SEARCH: &str = concat!(
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

const POSTGRES_SEARCH: &str = "
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

/// Words contain letters and digits only, so quoting them is safe. The tenant is a word
/// too, so that the index never scans other tenants' skills.
fn sqlite_query(tenant: &TenantId, terms: &[String], tier: &MatchTier) -> String {
    let mut query = format!("tenant:\"{}\"", tenant_word(tenant));
    let star = if tier.is_prefix { "*" } else { "" };
    for term in terms {
        let _ = write!(query, " AND {}:\"{term}\"{star}", tier.columns);
    }
    query
}

fn postgres_query(terms: &[String], tier: &MatchTier) -> String {
    let star = if tier.is_prefix { "*" } else { "" };
    let term = |term: &String| format!("'{term}':{star}{}", tier.weights);
    terms.iter().map(term).collect::<Vec<_>>().join(" & ")
}

/// A tenant's name as one word: it would be split at `-` and `_`.
fn tenant_word(tenant: &TenantId) -> String {
    tenant.as_str().replace('-', "0h").replace('_', "0u")
}

/// Replaces the indexed words of a skill by those of a version.
pub(super) async fn index_version(
    tx: &mut Tx,
    tenant: &TenantId,
    version: &VersionRecord,
    body: &str,
) -> Result<()> {
    let name: Vec<_> = words(&version.name, MAX_LINE_WORDS).collect();
    let description: Vec<_> = words(&version.description, MAX_LINE_WORDS).collect();
    let body: Vec<_> = words(body, MAX_BODY_WORDS).collect();
    if tx.database() == Database::Postgres {
        let vector = tsvector(&[(&name, 'A'), (&description, 'B'), (&body, 'C')]);
        let sql = Sql::new(
            "INSERT INTO skill_words (skill, tenant, words) VALUES ($1, $2, $3::tsvector)
             ON CONFLICT (skill) DO UPDATE SET words = excluded.words",
        );
        let sql = sql.bind(&version.skill).bind(tenant.as_str());
        return tx.execute(sql.bind(vector)).await.map(drop);
    }
    remove_from_index(tx, &version.skill).await?;
    let sql = Sql::new("INSERT INTO skill_words (skill) VALUES ($1) RETURNING number");
    let row = tx.fetch_optional(sql.bind(&version.skill)).await?;
    let number = row.map(|row| row.int("number")).transpose()?;
    let sql = Sql::new(
        "INSERT INTO skill_index (rowid, tenant, name, description, body)
         VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(number)
    .bind(tenant_word(tenant))
    .bind(name.join(" "))
    .bind(description.join(" "));
    tx.execute(sql.bind(body.join(" "))).await.map(drop)
}

/// Removes a skill from the index.
pub(super) async fn remove_from_index(tx: &mut Tx, skill: &str) -> Result<()> {
    let sql = Sql::new("DELETE FROM skill_words WHERE skill = $1");
    tx.execute(sql.bind(skill)).await.map(drop)
}

/// Words with their positions and weights, in PostgreSQL's syntax.
fn tsvector(parts: &[(&[String], char)]) -> String {
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
    use crate::skills::query_plan::assert_no_table_is_scanned;

    #[test]
    fn a_search_asks_its_index_once_and_then_looks_skills_up() {
        let tenant = TenantId::default_tenant();
        let terms = ["pdf".to_owned(), "form".to_owned()];
        let steps = assert_no_table_is_scanned([search_query(Database::Sqlite, &tenant, &terms)]);
        let place = |table: &str| steps.iter().position(|step| step.starts_with(table));
        assert!(place("SCAN skill_index") < place("SEARCH w"), "{steps:#?}");
        assert!(place("SEARCH w") < place("SEARCH s"), "{steps:#?}");
    }
}
