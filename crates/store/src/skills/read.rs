//! Get and list. No blob is read, and lists read no large column.

use super::{Revocation, SkillRecord, SkillSource, VersionDetail, VersionRecord, VersionSelector};
use crate::Store;
use crate::db::{Db, Sql};
use crate::error::{Error, ResourceKind, Result};
use crate::page::{MAX_PAGE_OFFSET, PageCursor, PagePosition, PageRequest, RecordPage, SortOrder};
use crate::tenant::TenantId;

/// A filter for skills.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillFilter {
    /// Only those with this name.
    pub name: Option<String>,
    /// Only those from this source.
    pub source: Option<SkillSource>,
    /// Include those whose versions have all been deleted.
    pub include_empty: bool,
}

impl Store {
    /// Gets a skill.
    pub async fn skill(&self, tenant: &TenantId, id: &str) -> Result<SkillRecord> {
        let row = self.db().fetch_optional(select_skill(tenant, id)).await?;
        let row = row.ok_or_else(|| Error::not_found(ResourceKind::Skill, id))?;
        SkillRecord::from_row(&row)
    }

    /// A page of the tenant's skills, by age.
    pub async fn list_skills(
        &self,
        tenant: &TenantId,
        filter: &SkillFilter,
        page: &PageRequest,
    ) -> Result<RecordPage<SkillRecord>> {
        let rows = self
            .db()
            .fetch_all(select_skill_page(tenant, filter, page))
            .await?;
        let skills = rows
            .iter()
            .map(SkillRecord::from_row)
            .collect::<Result<_>>()?;
        Ok(RecordPage::from_fetched(skills, page, |skill| {
            PageCursor::from_id(&skill.id)
        }))
    }

    /// Gets a version, without details.
    pub async fn version(
        &self,
        tenant: &TenantId,
        skill: &str,
        selector: &VersionSelector,
    ) -> Result<VersionRecord> {
        let sql = Sql::new("SELECT ").push(VersionRecord::COLUMNS);
        let row = self
            .db()
            .fetch_optional(select_version(sql, tenant, skill, selector))
            .await?;
        match row {
            Some(row) => VersionRecord::from_row(&row),
            None => Err(self.missing_version_error(tenant, skill, selector).await),
        }
    }

    /// Gets a version with its frontmatter, manifest, body and scan report.
    pub async fn version_detail(
        &self,
        tenant: &TenantId,
        skill: &str,
        selector: &VersionSelector,
    ) -> Result<VersionDetail> {
        let sql = Sql::new(SELECT_DETAIL);
        let row = self
            .db()
            .fetch_optional(select_version(sql, tenant, skill, selector))
            .await?;
        match row {
            Some(row) => VersionDetail::from_row(&row),
            None => Err(self.missing_version_error(tenant, skill, selector).await),
        }
    }

    /// A page of a skill's versions, by age.
    pub async fn list_versions(
        &self,
        tenant: &TenantId,
        skill: &str,
        page: &PageRequest,
    ) -> Result<RecordPage<VersionRecord>> {
        let sql = Sql::new("SELECT ")
            .push(VersionRecord::COLUMNS)
            .push(VersionRecord::FROM)
            .push_bind(" WHERE skill = ", skill)
            .push_bind(" AND tenant = ", tenant.as_str());
        let rows = self.db().fetch_all(paginate(sql, &ID_COLUMN, page)).await?;
        if rows.is_empty() {
            self.skill(tenant, skill).await?;
        }
        let versions = rows
            .iter()
            .map(VersionRecord::from_row)
            .collect::<Result<_>>()?;
        Ok(RecordPage::from_fetched(versions, page, |version| {
            PageCursor::from_id(&version.id)
        }))
    }

    /// The reason: no such skill, a skill without versions, no such label or no such version.
    pub(crate) async fn missing_version_error(
        &self,
        tenant: &TenantId,
        skill: &str,
        selector: &VersionSelector,
    ) -> Error {
        match (self.skill(tenant, skill).await, selector) {
            (Err(error), _) => error,
            (Ok(found), _) if found.latest.is_none() => Error::NoVersion { skill: found.id },
            (Ok(_), VersionSelector::Label(name)) => {
                self.missing_label_error(tenant, skill, name).await
            }
            (Ok(_), _) => Error::not_found(ResourceKind::Version, format!("{skill}/{selector}")),
        }
    }
}

const SELECT_DETAIL: &str = "SELECT id, skill, number, ordinal, name, description, folder, digest,
    file_count, total_bytes, scan_status, created_at, notes, revoked_at, revoked_reason,
    frontmatter, manifest, scan_report, body";

pub(super) fn select_skill(tenant: &TenantId, id: &str) -> Sql {
    Sql::new(SkillRecord::SELECT)
        .push_bind(" WHERE s.id = ", id)
        .push_bind(" AND s.tenant = ", tenant.as_str())
}

fn select_skill_page(tenant: &TenantId, filter: &SkillFilter, page: &PageRequest) -> Sql {
    let mut sql = Sql::new(SkillRecord::SELECT).push_bind(" WHERE s.tenant = ", tenant.as_str());
    if let Some(name) = &filter.name {
        sql = sql.push_bind(" AND s.name = ", name);
    }
    if let Some(source) = filter.source {
        sql = sql.push_bind(" AND s.source = ", source.as_str());
    }
    if !filter.include_empty {
        sql = sql.push(" AND s.latest_version IS NOT NULL");
    }
    paginate(sql, &SKILL_ID_COLUMN, page)
}

/// Completes `SELECT …` to the selected version.
pub(super) fn select_version(
    select: Sql,
    tenant: &TenantId,
    skill: &str,
    selector: &VersionSelector,
) -> Sql {
    let sql = select.push(VersionRecord::FROM);
    let sql = sql.push_bind(" WHERE skill = ", skill);
    let sql = sql.push_bind(" AND tenant = ", tenant.as_str());
    match selector {
        VersionSelector::Latest => {
            let sql = sql.push_bind(
                " AND id = (SELECT latest_version FROM skills WHERE id = ",
                skill,
            );
            sql.push(")")
        }
        VersionSelector::Default => {
            let sql = sql.push_bind(
                " AND id = (SELECT default_version FROM skills WHERE id = ",
                skill,
            );
            sql.push(")")
        }
        // The older form of an id names the same version.
        VersionSelector::Id(id) => match id.strip_prefix("skill_version_") {
            Some(rest) => sql.push_bind(" AND id = ", format!("skver_{rest}")),
            None => sql.push_bind(" AND id = ", id),
        },
        VersionSelector::Number(number) => sql.push_bind(" AND number = ", *number),
        VersionSelector::Ordinal(ordinal) => sql.push_bind(" AND ordinal = ", *ordinal),
        VersionSelector::Label(name) => {
            let sql = sql.push_bind(
                " AND id = (SELECT version FROM skill_labels WHERE skill = ",
                skill,
            );
            sql.push_bind(" AND name = ", name.as_str()).push(")")
        }
    }
}

/// The id of the selected version: the cheapest query.
///
/// # Errors
/// When it is revoked.
pub(crate) async fn usable_version_id(
    db: &Db,
    tenant: &TenantId,
    skill: &str,
    selector: &VersionSelector,
) -> Result<Option<String>> {
    let select = Sql::new("SELECT id, name, ordinal, revoked_at, revoked_reason");
    let row = db
        .fetch_optional(select_version(select, tenant, skill, selector))
        .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    match Revocation::from_row(&row)? {
        None => row.text("id").map(Some),
        Some(revoked) => Err(Error::VersionRevoked {
            skill: skill.to_owned(),
            name: row.text("name")?,
            version: row.int("ordinal")?,
            reason: revoked.reason,
        }),
    }
}

/// The newest version of each of these skills that has one that can be used: skill and version.
pub(crate) async fn latest_version_ids(
    db: &Db,
    tenant: &TenantId,
    skills: &[&str],
) -> Result<Vec<(String, String)>> {
    if skills.is_empty() {
        return Ok(Vec::new());
    }
    let rows = db.fetch_all(select_latest(tenant, skills)).await?;
    let ids = rows
        .iter()
        .map(|row| Ok((row.text("id")?, row.text("latest_version")?)));
    ids.collect()
}

fn select_latest(tenant: &TenantId, skills: &[&str]) -> Sql {
    Sql::new(
        "SELECT id, latest_version
         FROM skills LEFT JOIN version_marks ON version_marks.version = latest_version
         WHERE latest_version IS NOT NULL AND revoked_at IS NULL",
    )
    .push_bind(" AND tenant = ", tenant.as_str())
    .push(" AND id IN ")
    .push_list(skills.iter().copied())
}

/// A version by its id alone, which must come from this store.
pub(crate) async fn version_detail_by_id(db: &Db, id: &str) -> Result<Option<VersionDetail>> {
    let row = db
        .fetch_optional(
            Sql::new(SELECT_DETAIL)
                .push(VersionRecord::FROM)
                .push_bind(" WHERE id = ", id),
        )
        .await?;
    row.as_ref().map(VersionDetail::from_row).transpose()
}

/// A skill's title, which never changes.
pub(crate) async fn skill_title(db: &Db, skill: &str) -> Result<Option<String>> {
    let sql = Sql::new("SELECT title FROM skills WHERE id = $1");
    let row = db.fetch_optional(sql.bind(skill)).await?;
    Ok(row
        .map(|row| row.optional_text("title"))
        .transpose()?
        .flatten())
}

/// SQL fragments that compare and sort by the id column.
pub(crate) struct IdColumn {
    above: &'static str,
    below: &'static str,
    up: &'static str,
    down: &'static str,
}

const SKILL_ID_COLUMN: IdColumn = IdColumn {
    above: " AND s.id > ",
    below: " AND s.id < ",
    up: " ORDER BY s.id LIMIT ",
    down: " ORDER BY s.id DESC LIMIT ",
};

pub(crate) const ID_COLUMN: IdColumn = IdColumn {
    above: " AND id > ",
    below: " AND id < ",
    up: " ORDER BY id LIMIT ",
    down: " ORDER BY id DESC LIMIT ",
};

/// Completes `SELECT … WHERE …` to one page, read in the requested direction.
pub(crate) fn paginate(sql: Sql, ids: &IdColumn, page: &PageRequest) -> Sql {
    let upwards = match page.from {
        PagePosition::Before(_) => page.order == SortOrder::Descending,
        _ => page.order == SortOrder::Ascending,
    };
    let sql = match &page.from {
        PagePosition::Start | PagePosition::Offset(_) => sql,
        PagePosition::After(cursor) | PagePosition::Before(cursor) => {
            sql.push_bind(if upwards { ids.above } else { ids.below }, cursor.id())
        }
    };
    let sql = sql.push_bind(if upwards { ids.up } else { ids.down }, page.fetch_limit());
    match page.from {
        PagePosition::Offset(count) => {
            sql.push_bind(" OFFSET ", i64::from(count.min(MAX_PAGE_OFFSET)))
        }
        _ => sql,
    }
}

/// A tenant's skill, as seen by a transaction.
pub(super) async fn skill_in_tx(
    tx: &mut crate::db::Tx,
    tenant: &TenantId,
    skill: &str,
) -> Result<SkillRecord> {
    let row = tx.fetch_optional(select_skill(tenant, skill)).await?;
    let row = row.ok_or_else(|| Error::not_found(ResourceKind::Skill, skill))?;
    SkillRecord::from_row(&row)
}

/// The selected version of a tenant's skill, as seen by a transaction.
pub(super) async fn version_in_tx(
    tx: &mut crate::db::Tx,
    tenant: &TenantId,
    skill: &str,
    selector: &VersionSelector,
) -> Result<Option<VersionRecord>> {
    let sql = Sql::new("SELECT ").push(VersionRecord::COLUMNS);
    let row = tx
        .fetch_optional(select_version(sql, tenant, skill, selector))
        .await?;
    row.as_ref().map(VersionRecord::from_row).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skills::LabelName;
    use crate::skills::query_plan::assert_no_table_is_scanned;

    #[test]
    fn no_read_walks_through_a_table() {
        let tenant = TenantId::default_tenant();
        let start = PageRequest::default();
        let after = PageRequest {
            from: PagePosition::After(PageCursor::from_id("skill_1")),
            ..start.clone()
        };
        let all = SkillFilter::default();
        let named = SkillFilter {
            name: Some("one".to_owned()),
            ..all.clone()
        };
        let select = || Sql::new("SELECT id");
        let version = |selector| select_version(select(), &tenant, "skill_1", &selector);
        assert_no_table_is_scanned([
            select_skill(&tenant, "skill_1"),
            select_skill_page(&tenant, &all, &start),
            select_skill_page(&tenant, &all, &after),
            select_skill_page(&tenant, &named, &after),
            select_latest(&tenant, &["skill_1", "skill_2"]),
            version(VersionSelector::Latest),
            version(VersionSelector::Number(1)),
            version(VersionSelector::Ordinal(1)),
            version(VersionSelector::Id("skver_1".to_owned())),
            version(VersionSelector::Label(LabelName::parse("one").unwrap())),
        ]);
    }
}
