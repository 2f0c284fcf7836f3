//! The skills that match a query, in pages, as records.
//!
//! What matches, and how well, is for [`skill_index`](crate::skill_index); this module knows
//! pages and records.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::SkillRecord;
use crate::Store;
use crate::db::Sql;
use crate::error::{Error, Result};
use crate::page::{PageCursor, PagePosition, PageRequest, RecordPage};
use crate::skill_index::{Explanation, RankedDocument, check_query};
use crate::tenant::TenantId;

/// Maximum skills returned by a search, on all its pages together.
const MAX_HITS: usize = 200;

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
    /// together. A skill needs only one of the words, but those with more of them, and with
    /// rarer ones, come first. Words alone decide: all pages must be of the same ranking, even
    /// when vectors come or go meanwhile.
    ///
    /// A page may begin after a hit's cursor, or after [`PageCursor::from_id`] of a hit's
    /// id.
    ///
    /// # Errors
    /// An empty query, or one of more than [`MAX_QUERY_CHARS`](crate::MAX_QUERY_CHARS), is
    /// invalid.
    pub async fn search_skills(
        &self,
        tenant: &TenantId,
        query: &str,
        page: &PageRequest,
    ) -> Result<RecordPage<SearchHit>> {
        let query = check_query(query)?;
        let ranked = self
            .rank_documents(tenant, query, None, MAX_HITS, Explanation::None)
            .await?;
        let cursor = self.cursor_position(tenant, page).await?;
        let on_page = page_slice(&ranked, page, cursor)?;
        let hits = self.load_hits(tenant, &on_page).await?;
        let page = RecordPage::from_fetched(hits, page, |(number, hit): &(i64, SearchHit)| {
            PageCursor::from_score(hit.score, number.to_string())
        });
        Ok(page.map(|(_, hit)| hit))
    }

    /// Where a page's cursor is: with its score, or by the id of a skill.
    async fn cursor_position(
        &self,
        tenant: &TenantId,
        page: &PageRequest,
    ) -> Result<Option<CursorPosition>> {
        let (PagePosition::After(cursor) | PagePosition::Before(cursor)) = &page.from else {
            return Ok(None);
        };
        if let Some(score) = cursor.score() {
            let number = cursor.id().parse().map_err(|_| Error::InvalidCursor)?;
            return Ok(Some(CursorPosition::Scored(score, number)));
        }
        let sql = Sql::new("SELECT number FROM skill_documents WHERE skill = $1 AND tenant = $2");
        let sql = sql.bind(cursor.id()).bind(tenant.as_str());
        let row = self.db().fetch_optional(sql).await?;
        let row = row.ok_or(Error::InvalidCursor)?;
        Ok(Some(CursorPosition::Number(row.int("number")?)))
    }

    /// The full records of some documents, in the given order. One deleted or replaced
    /// meanwhile is left out.
    async fn load_hits(
        &self,
        tenant: &TenantId,
        on_page: &[&RankedDocument],
    ) -> Result<Vec<(i64, SearchHit)>> {
        if on_page.is_empty() {
            return Ok(Vec::new());
        }
        let numbers = on_page.iter().map(|ranked| ranked.number);
        let sql = Sql::new("SELECT number, skill FROM skill_documents");
        let sql = sql.push_bind(" WHERE tenant = ", tenant.as_str());
        let rows = self
            .db()
            .fetch_all(sql.push(" AND number IN ").push_list(numbers))
            .await?;
        let ids = rows
            .iter()
            .map(|row| Ok((row.int("number")?, row.text("skill")?)));
        let ids = ids.collect::<Result<HashMap<_, _>>>()?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let sql = Sql::new(SkillRecord::SELECT).push_bind(" WHERE s.tenant = ", tenant.as_str());
        let rows = self
            .db()
            .fetch_all(sql.push(" AND s.id IN ").push_list(ids.values()))
            .await?;
        let skills = rows.iter().map(|row| {
            let skill = SkillRecord::from_row(row)?;
            Ok((skill.id.clone(), skill))
        });
        let mut skills = skills.collect::<Result<HashMap<_, _>>>()?;
        let hit = |ranked: &&RankedDocument| {
            let skill = skills.remove(ids.get(&ranked.number)?)?;
            let score = ranked.score;
            Some((ranked.number, SearchHit { skill, score }))
        };
        Ok(on_page.iter().filter_map(hit).collect())
    }
}

/// The place of a cursor in the results.
#[derive(Debug, Clone, Copy)]
enum CursorPosition {
    /// By score and number: the document may have been removed.
    Scored(f64, i64),
    /// By the number of a document, which must be there.
    Number(i64),
}

/// Best first; among equals the oldest.
fn compare(ranked: &RankedDocument, score: f64, number: i64) -> Ordering {
    score
        .total_cmp(&ranked.score)
        .then(ranked.number.cmp(&number))
}

/// The hits of a page, plus one, in reading order.
fn page_slice<'r>(
    ranked: &'r [RankedDocument],
    page: &PageRequest,
    cursor: Option<CursorPosition>,
) -> Result<Vec<&'r RankedDocument>> {
    let fetch = usize::try_from(page.fetch_limit()).unwrap_or_default();
    let (before, after) = match (&page.from, cursor) {
        (PagePosition::Offset(count), _) => (0, usize::try_from(*count).unwrap_or(usize::MAX)),
        (_, Some(cursor)) => cursor_range(ranked, cursor)?,
        (_, None) => (0, 0),
    };
    Ok(match page.from {
        PagePosition::Before(_) => {
            let above = ranked.iter().take(before).rev();
            above.take(fetch).collect()
        }
        _ => ranked.iter().skip(after).take(fetch).collect(),
    })
}

/// How many hits precede a cursor, without and with its own.
fn cursor_range(ranked: &[RankedDocument], cursor: CursorPosition) -> Result<(usize, usize)> {
    match cursor {
        CursorPosition::Number(number) => {
            let at = ranked.iter().position(|ranked| ranked.number == number);
            at.map(|at| (at, at + 1)).ok_or(Error::InvalidCursor)
        }
        CursorPosition::Scored(score, number) => {
            let count = |up_to: Ordering| {
                ranked.partition_point(|ranked| compare(ranked, score, number) <= up_to)
            };
            Ok((count(Ordering::Less), count(Ordering::Equal)))
        }
    }
}
