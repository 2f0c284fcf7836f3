//! Pages of runs, whether they have ended or not. Ids sort by the time at which runs began, and
//! stay when a run ends, so that a page that follows another is the same whatever ended between.

use crate::Store;
use crate::db::{Database, Sql};
use crate::error::Result;
use crate::page::{MAX_PAGE_OFFSET, PageCursor, PagePosition, PageRequest, RecordPage, SortOrder};
use crate::tenant::TenantId;

use super::filter::{RunFilter, RunTable};
use super::view::{COLUMNS, JOINS, RunRecord};

impl Store {
    /// A page of the tenant's runs, by age: those in progress, and records of the others.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn list_runs(
        &self,
        tenant: &TenantId,
        page: &PageRequest,
    ) -> Result<RecordPage<RunRecord>> {
        let all = RunFilter::default();
        self.list_filtered_runs(tenant, &all, page).await
    }

    /// Like [`Store::list_runs`], with a filter.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn list_filtered_runs(
        &self,
        tenant: &TenantId,
        filter: &RunFilter<'_>,
        page: &PageRequest,
    ) -> Result<RecordPage<RunRecord>> {
        let sql = select_page(tenant, filter, page, self.database());
        let rows = self.db().fetch_all(sql).await?;
        let runs = rows.iter().map(RunRecord::from_row);
        let runs = runs.collect::<Result<_>>()?;
        Ok(RecordPage::from_fetched(runs, page, |run: &RunRecord| {
            PageCursor::from_id(&run.id)
        }))
    }
}

/// The ids of the page come from an index of each table, and only they are looked up.
fn select_page(
    tenant: &TenantId,
    filter: &RunFilter<'_>,
    page: &PageRequest,
    database: Database,
) -> Sql {
    let upwards = match page.from {
        PagePosition::Before(_) => page.order == SortOrder::Descending,
        _ => page.order == SortOrder::Ascending,
    };
    let by_id = if upwards {
        " ORDER BY id LIMIT "
    } else {
        " ORDER BY id DESC LIMIT "
    };
    let offset = match page.from {
        PagePosition::Offset(count) => i64::from(count.min(MAX_PAGE_OFFSET)),
        _ => 0,
    };
    let mut sql = Sql::new("SELECT ").push(COLUMNS).push(" FROM (");
    // A kept run that has ended is in two of them.
    for (at, table) in RunTable::ALL.into_iter().enumerate() {
        sql = sql.push(if at == 0 { "" } else { " UNION " });
        sql = sql.push("SELECT id FROM (");
        sql = sql.push_bind(table.select_ids(), tenant.as_str());
        sql = filter.apply(sql, table, database);
        if let PagePosition::After(cursor) | PagePosition::Before(cursor) = &page.from {
            sql = sql.push_bind(
                if upwards { " AND id > " } else { " AND id < " },
                cursor.id(),
            );
        }
        sql = sql.push_bind(by_id, offset + page.fetch_limit());
        sql = sql.push(") AS found");
    }
    sql = sql.push_bind(by_id, page.fetch_limit());
    if offset > 0 {
        sql = sql.push_bind(" OFFSET ", offset);
    }
    sql.push(") AS found").push(JOINS).push(if upwards {
        " ORDER BY found.id"
    } else {
        " ORDER BY found.id DESC"
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skills::query_plan::assert_no_table_is_scanned;

    #[test]
    fn a_page_reads_an_index_of_each_table() {
        let cursor = PageCursor::from_id("run_1");
        let pages = [
            PagePosition::Start,
            PagePosition::After(cursor.clone()),
            PagePosition::Before(cursor),
            PagePosition::Offset(7),
        ];
        let pages = pages.map(|from| PageRequest {
            from,
            ..PageRequest::default()
        });
        let all = RunFilter::default();
        let tenant = TenantId::default_tenant();
        let queries = pages.map(|page| select_page(&tenant, &all, &page, Database::Sqlite));
        let steps = assert_no_table_is_scanned(queries);
        for index in [
            "runs_by_tenant",
            "journal_runs_by_id",
            "foreground_runs_by_tenant",
        ] {
            let uses = |step: &&String| step.contains(&format!("INDEX {index} (tenant=?"));
            assert_eq!(steps.iter().filter(uses).count(), 4, "{index}: {steps:#?}");
        }
    }
}
