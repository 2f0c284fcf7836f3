//! The transaction of an upload.

use prowess_skill::Skill;

use super::notes::{check_notes, write_notes};
use super::read::skill_in_tx;
use super::{
    NewSkill, NewVersion, SkillRecord, UnchangedRule, UploadOutcome, UploadedVersion,
    VersionRecord, VersionRef,
};
use crate::blob::{ActivationOutcome, StagedBlob, activate};
use crate::db::{Database, Sql, Tx};
use crate::error::{Error, ResourceKind, Result};
use crate::id::{self, IdPrefix};
use crate::quota;
use crate::skill_index::{IndexChange, add_document, remove_document, version_terms};
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// What an upload creates a version of.
pub(super) enum UploadTarget<'a> {
    New(&'a NewSkill<'a>),
    /// A skill by its id, and its record a moment ago.
    Skill(&'a str, &'a SkillRecord),
}

/// Rows per statement.
const BATCH_ROWS: usize = 500;

/// The outcome of an attempt. Only [`InsertOutcome::Done`] may be committed.
pub(super) enum InsertOutcome {
    /// With what it changed in the index.
    Done(Box<UploadedVersion>, IndexChange),
    /// The latest version has the same files.
    Unchanged(Box<UploadedVersion>),
    /// Another upload used the request key meanwhile.
    Repeated,
    /// Staged content was collected.
    BlobsCollected,
    /// The commit failed, and whether it took effect is unknown.
    Uncertain(Error),
}

pub(super) async fn insert_upload(
    tx: &mut Tx,
    tenant: &TenantId,
    target: &UploadTarget<'_>,
    new: &NewVersion<'_>,
    staged: &[StagedBlob],
) -> Result<InsertOutcome> {
    let now = Timestamp::now();
    quota::lock_totals(tx, tenant).await?;
    let slot = match target {
        UploadTarget::New(skill) => insert_skill(tx, tenant, skill, now).await?,
        UploadTarget::Skill(id, _) => next_slot(tx, tenant, id, new.skill, now).await?,
    };
    if new.unchanged == UnchangedRule::KeepLatest
        && let UploadTarget::Skill(id, _) = target
        && let Some(same) = same_as_latest(tx, tenant, id, new.skill).await?
    {
        return Ok(InsertOutcome::Unchanged(Box::new(same)));
    }
    let version = version_record(&slot, new, now)?;
    insert_version(tx, tenant, &version, new).await?;
    if version.notes.is_some() {
        write_notes(tx, &version.id, version.notes.as_deref()).await?;
    }
    if activate(tx, staged, now).await? == ActivationOutcome::Collected {
        return Ok(InsertOutcome::BlobsCollected);
    }
    insert_references(tx, &version.id, staged).await?;
    set_latest(tx, &version, new.make_default, now).await?;
    let change = index_upload(tx, tenant, &version, new.skill).await?;
    if !claim_request_key(tx, tenant, new.request_key, &version.id, now).await? {
        return Ok(InsertOutcome::Repeated);
    }
    let uploaded = UploadedVersion {
        skill: skill_in_tx(tx, tenant, &version.skill).await?,
        version,
        outcome: UploadOutcome::Created,
    };
    Ok(InsertOutcome::Done(Box::new(uploaded), change))
}

/// Makes the version the one that searches see.
async fn index_upload(
    tx: &mut Tx,
    tenant: &TenantId,
    version: &VersionRecord,
    skill: &Skill,
) -> Result<IndexChange> {
    let removed = if version.ordinal > 1 {
        remove_document(tx, tenant, &version.skill).await?
    } else {
        IndexChange::default()
    };
    let terms = version_terms(
        &skill.name,
        &skill.description,
        &skill.frontmatter,
        &skill.body,
    );
    let added = add_document(tx, tenant, &version.skill, &terms).await?;
    Ok(removed.and(added))
}

/// Where a version goes: its skill, and its numbers there.
struct VersionSlot {
    skill: String,
    number: i64,
    ordinal: i64,
}

async fn insert_skill(
    tx: &mut Tx,
    tenant: &TenantId,
    new: &NewSkill<'_>,
    now: Timestamp,
) -> Result<VersionSlot> {
    if new.unique_title
        && let Some(title) = new.title
    {
        refuse_taken_title(tx, tenant, title).await?;
    }
    let skill = id::new_id(IdPrefix::Skill, now)?;
    let sql = Sql::new(
        "INSERT INTO skills (id, tenant, name, title, source, last_number, last_ordinal,
                             created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, 1, $6, $6)",
    )
    .bind(&skill)
    .bind(tenant.as_str())
    .bind(&new.version.skill.name)
    .bind(new.title)
    .bind(new.source.as_str())
    .bind(now);
    tenant.map_unknown_tenant(tx.execute(sql).await)?;
    Ok(VersionSlot {
        skill,
        number: now.as_micros(),
        ordinal: 1,
    })
}

/// Two uploads with the same new title must see one another. SQLite has one writer
/// anyway; PostgreSQL takes an advisory lock for the title.
async fn refuse_taken_title(tx: &mut Tx, tenant: &TenantId, title: &str) -> Result<()> {
    if tx.database() == Database::Postgres {
        let lock = Sql::new("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))");
        tx.execute(lock.bind(format!("title {tenant} {title}")))
            .await?;
    }
    let sql = Sql::new("SELECT id FROM skills WHERE tenant = $1 AND title = $2 LIMIT 1");
    match tx
        .fetch_optional(sql.bind(tenant.as_str()).bind(title))
        .await?
    {
        None => Ok(()),
        Some(row) => Err(Error::TitleTaken {
            title: title.to_owned(),
            skill: row.text("id")?,
        }),
    }
}

/// Takes the next numbers of a skill. From here on other writers of the skill wait, so
/// numbers are assigned in the order of commits.
async fn next_slot(
    tx: &mut Tx,
    tenant: &TenantId,
    skill: &str,
    upload: &Skill,
    now: Timestamp,
) -> Result<VersionSlot> {
    let sql = Sql::new(
        "UPDATE skills
         SET last_ordinal = last_ordinal + 1,
             last_number = CASE WHEN last_number >= $1 THEN last_number + 1 ELSE $1 END
         WHERE id = $2 AND tenant = $3
         RETURNING name, last_number, last_ordinal",
    );
    let sql = sql.bind(now).bind(skill).bind(tenant.as_str());
    let row = tx.fetch_optional(sql).await?;
    let row = row.ok_or_else(|| Error::not_found(ResourceKind::Skill, skill))?;
    check_same_name(skill, &row.text("name")?, &upload.name)?;
    Ok(VersionSlot {
        skill: skill.to_owned(),
        number: row.int("last_number")?,
        ordinal: row.int("last_ordinal")?,
    })
}

pub(super) fn check_same_name(skill: &str, expected: &str, found: &str) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::NameMismatch {
        skill: skill.to_owned(),
        expected: expected.to_owned(),
        found: found.to_owned(),
    })
}

async fn same_as_latest(
    tx: &mut Tx,
    tenant: &TenantId,
    skill: &str,
    upload: &Skill,
) -> Result<Option<UploadedVersion>> {
    let skill = skill_in_tx(tx, tenant, skill).await?;
    let Some(latest) = latest_if_same(&skill, upload) else {
        return Ok(None);
    };
    let sql = Sql::new("SELECT ").push(VersionRecord::COLUMNS);
    let sql = sql.push(VersionRecord::FROM);
    let sql = sql.push_bind(" WHERE id = ", &latest.id);
    let row = tx.fetch_optional(sql).await?;
    let version = row.as_ref().map(VersionRecord::from_row).transpose()?;
    Ok(version.map(|version| UploadedVersion {
        skill,
        version,
        outcome: UploadOutcome::Unchanged,
    }))
}

pub(super) fn latest_if_same<'s>(skill: &'s SkillRecord, upload: &Skill) -> Option<&'s VersionRef> {
    let latest = skill.latest.as_ref().filter(|it| !it.is_revoked)?;
    (latest.digest == upload.manifest.digest()).then_some(latest)
}

fn version_record(
    slot: &VersionSlot,
    new: &NewVersion<'_>,
    now: Timestamp,
) -> Result<VersionRecord> {
    let skill = new.skill;
    Ok(VersionRecord {
        id: id::new_id(IdPrefix::Version, Timestamp::from_micros(slot.number))?,
        skill: slot.skill.clone(),
        number: slot.number,
        ordinal: slot.ordinal,
        name: skill.name.clone(),
        description: skill.description.clone(),
        folder: skill.bundle.folder().map(str::to_owned),
        digest: skill.manifest.digest(),
        file_count: skill.manifest.files().len() as i64,
        total_bytes: i64::try_from(skill.manifest.total_bytes()).unwrap_or(i64::MAX),
        scan_status: new.scan.map(|scan| scan.status.clone()),
        created_at: now,
        notes: check_notes(new.notes)?.map(str::to_owned),
        revoked: None,
    })
}

async fn insert_version(
    tx: &mut Tx,
    tenant: &TenantId,
    version: &VersionRecord,
    new: &NewVersion<'_>,
) -> Result<()> {
    let skill = new.skill;
    let row = vec![
        version.id.clone().into(),
        version.skill.clone().into(),
        tenant.as_str().into(),
        version.number.into(),
        version.ordinal.into(),
        version.name.clone().into(),
        version.description.clone().into(),
        version.folder.clone().into(),
        version.digest.to_string().into(),
        version.file_count.into(),
        version.total_bytes.into(),
        version.scan_status.clone().into(),
        version.created_at.into(),
        to_json("frontmatter", &skill.frontmatter)?.into(),
        to_json("manifest", &skill.manifest)?.into(),
        new.scan.map(|scan| scan.report.to_string()).into(),
        skill.body.clone().into(),
    ];
    let sql = Sql::new(
        "INSERT INTO versions (id, skill, tenant, number, ordinal, name, description, folder,
             digest, file_count, total_bytes, scan_status, created_at,
             frontmatter, manifest, scan_report, body) VALUES ",
    );
    tx.execute(sql.push_rows([row])).await.map(drop)
}

fn to_json(column: &'static str, value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::Invalid {
        field: column,
        reason: error.to_string(),
    })
}

async fn insert_references(tx: &mut Tx, version: &str, staged: &[StagedBlob]) -> Result<()> {
    for batch in staged.chunks(BATCH_ROWS) {
        let rows = batch
            .iter()
            .map(|staged| vec![version.into(), staged.digest.to_string().into()]);
        let sql = Sql::new("INSERT INTO version_blobs (version, digest) VALUES ");
        tx.execute(sql.push_rows(rows)).await?;
    }
    Ok(())
}

/// A default that is revoked, because no other version could be used, is replaced too.
async fn set_latest(
    tx: &mut Tx,
    version: &VersionRecord,
    make_default: bool,
    now: Timestamp,
) -> Result<()> {
    let sql = Sql::new(
        "UPDATE skills
         SET latest_version = $1, updated_at = $2,
             default_version = CASE WHEN $3 = 1 OR default_version IS NULL
                                      OR EXISTS (SELECT 1 FROM version_marks
                                                 WHERE version = default_version
                                                   AND revoked_at IS NOT NULL)
                                    THEN $1 ELSE default_version END
         WHERE id = $4",
    );
    let sql = sql.bind(&version.id).bind(now).bind(make_default);
    tx.execute(sql.bind(&version.skill)).await.map(drop)
}

/// Records the upload of a request key. Returns false if another upload has used it.
async fn claim_request_key(
    tx: &mut Tx,
    tenant: &TenantId,
    key: Option<&str>,
    version: &str,
    now: Timestamp,
) -> Result<bool> {
    let Some(key) = key else {
        return Ok(true);
    };
    let sql = Sql::new(
        "INSERT INTO requests (tenant, key, version, created_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (tenant, key) DO NOTHING",
    );
    let sql = sql.bind(tenant.as_str()).bind(key).bind(version).bind(now);
    Ok(tx.execute(sql).await? == 1)
}
