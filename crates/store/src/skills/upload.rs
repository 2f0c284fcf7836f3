//! Uploads of a new skill, or of a new version.
//!
//! Blobs are written first; then one transaction writes all rows and makes the version
//! visible. Before its commit nothing of the upload is visible, after it everything is.

use std::collections::BTreeMap;

use prowess_skill::Skill;
use prowess_skill::scan::ScanReport;
use serde_json::Value;

use super::insert::{self, InsertOutcome, UploadTarget};
use super::notes::check_notes;
use super::{SkillRecord, SkillSource, VersionRecord, VersionSelector};
use crate::Store;
use crate::blob::StagedBlob;
use crate::db::Sql;
use crate::error::{Error, Result};
use crate::quota::StorageUsage;
use crate::tenant::TenantId;

/// How often staged content may be collected before it is referenced.
const MAX_ATTEMPTS: usize = 5;

/// A skill to be created, with its first version.
#[derive(Debug, Clone)]
pub struct NewSkill<'a> {
    /// Its first version.
    pub version: NewVersion<'a>,
    /// Its display title.
    pub title: Option<&'a str>,
    /// Refuse a title that another skill of the tenant has (the rule of the beta API).
    pub unique_title: bool,
    /// Where it comes from.
    pub source: SkillSource,
}

impl<'a> NewSkill<'a> {
    /// A skill without a title, uploaded by its owner.
    pub fn from_skill(skill: &'a Skill) -> Self {
        NewSkill {
            version: NewVersion::from_skill(skill),
            title: None,
            unique_title: false,
            source: SkillSource::Custom,
        }
    }
}

/// A version to be created.
#[derive(Debug, Clone)]
pub struct NewVersion<'a> {
    /// The validated skill. Its files become the version.
    pub skill: &'a Skill,
    /// The scanner's report.
    pub scan: Option<&'a ScanRecord>,
    /// Make it the default version. The first version always is.
    pub make_default: bool,
    /// What to say about it.
    pub notes: Option<&'a str>,
    /// What to do if the latest version has the same files.
    pub unchanged: UnchangedRule,
    /// An idempotency key, for a client that does not know whether an earlier attempt
    /// succeeded.
    pub request_key: Option<&'a str>,
}

impl<'a> NewVersion<'a> {
    /// A version that does not become the default.
    pub fn from_skill(skill: &'a Skill) -> Self {
        NewVersion {
            skill,
            scan: None,
            make_default: false,
            notes: None,
            unchanged: UnchangedRule::NewVersion,
            request_key: None,
        }
    }
}

/// What to do with an upload whose files are those of the latest version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnchangedRule {
    /// Create a version anyway, as the vendors do.
    #[default]
    NewVersion,
    /// Return the latest version.
    KeepLatest,
}

/// A scanner's report, as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanRecord {
    /// The verdict.
    pub status: String,
    /// The whole report.
    pub report: Value,
}

impl ScanRecord {
    /// A report, as stored.
    ///
    /// # Errors
    /// When it cannot be serialized to JSON.
    pub fn from_report(report: &ScanReport) -> Result<Self> {
        let kept = serde_json::to_value(report).map_err(|error| Error::Invalid {
            field: "scan",
            reason: error.to_string(),
        })?;
        Ok(ScanRecord {
            status: report.status.as_str().to_owned(),
            report: kept,
        })
    }
}

/// The result of an upload.
#[derive(Debug, Clone, PartialEq)]
pub struct UploadedVersion {
    /// The skill after the upload.
    pub skill: SkillRecord,
    /// The version.
    pub version: VersionRecord,
    /// The outcome.
    pub outcome: UploadOutcome,
}

/// The outcome of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UploadOutcome {
    /// The version was created.
    Created,
    /// The latest version has the same files, and was returned.
    Unchanged,
    /// An earlier upload with the same request key created it.
    Repeated,
}

impl UploadTarget<'_> {
    /// What the upload adds to its tenant's storage.
    fn storage_delta(&self, new: &NewVersion<'_>) -> StorageUsage {
        StorageUsage {
            bytes: new.skill.manifest.total_bytes(),
            files: 0,
            skills: u64::from(matches!(self, UploadTarget::New(_))),
            versions: 1,
        }
    }

    /// Whether the upload most likely adds nothing.
    fn is_unchanged_by(&self, new: &NewVersion<'_>) -> bool {
        match self {
            UploadTarget::Skill(_, found) if new.unchanged == UnchangedRule::KeepLatest => {
                insert::latest_if_same(found, new.skill).is_some()
            }
            _ => false,
        }
    }
}

impl Store {
    /// Creates a skill with its first version.
    pub async fn create_skill(
        &self,
        tenant: &TenantId,
        new: &NewSkill<'_>,
    ) -> Result<UploadedVersion> {
        self.upload(tenant, &UploadTarget::New(new), &new.version)
            .await
    }

    /// Creates a version of a skill. It must have the skill's name.
    pub async fn create_version(
        &self,
        tenant: &TenantId,
        skill: &str,
        new: &NewVersion<'_>,
    ) -> Result<UploadedVersion> {
        // Checked again in the transaction; here it avoids writing blobs needlessly.
        let found = self.skill(tenant, skill).await?;
        insert::check_same_name(skill, &found.name, &new.skill.name)?;
        self.upload(tenant, &UploadTarget::Skill(skill, &found), new)
            .await
    }

    async fn upload(
        &self,
        tenant: &TenantId,
        target: &UploadTarget<'_>,
        new: &NewVersion<'_>,
    ) -> Result<UploadedVersion> {
        check_notes(new.notes)?;
        if let Some(uploaded) = self.find_repeated(tenant, new).await? {
            return Ok(uploaded);
        }
        if !target.is_unchanged_by(new) {
            self.check_quota(tenant, &target.storage_delta(new)).await?;
        }
        let files = new.skill.bundle.files();
        let digests = new.skill.manifest.files().iter().map(|file| file.digest);
        let contents: BTreeMap<_, _> = digests
            .zip(files.map(|(_, file)| file.data.clone()))
            .collect();
        for _ in 0..MAX_ATTEMPTS {
            let staged = match self.blobs().stage(contents.clone()).await {
                Err(Error::Busy) => continue,
                staged => staged?,
            };
            let attempt = match self.insert(tenant, target, new, &staged).await {
                Ok(InsertOutcome::Done(uploaded, change)) => {
                    self.skills_changed(tenant);
                    self.merge_soon(tenant, change);
                    self.new_documents().notify_one();
                    return Ok(*uploaded);
                }
                Ok(InsertOutcome::Uncertain(error)) => return Err(error),
                attempt => attempt,
            };
            self.blobs().discard(&staged).await;
            if let InsertOutcome::Unchanged(uploaded) = attempt? {
                return Ok(*uploaded);
            }
            if let Some(uploaded) = self.find_repeated(tenant, new).await? {
                return Ok(uploaded);
            }
        }
        Err(Error::Busy)
    }

    /// The transaction of an upload. Unless it is committed, nothing references the
    /// staged content.
    async fn insert(
        &self,
        tenant: &TenantId,
        target: &UploadTarget<'_>,
        new: &NewVersion<'_>,
        staged: &[StagedBlob],
    ) -> Result<InsertOutcome> {
        let mut tx = self.db().begin().await?;
        let attempt = insert::insert_upload(&mut tx, tenant, target, new, staged).await;
        let attempt = match attempt {
            Ok(done @ InsertOutcome::Done(..)) => {
                let added = target.storage_delta(new);
                let fits = self.check_quota_in_tx(&mut tx, tenant, &added).await;
                fits.map(|()| done)
            }
            other => other,
        };
        let attempt = match attempt {
            Ok(InsertOutcome::Done(uploaded, change)) => {
                let change_written = self.audit_upload(&mut tx, tenant, target, &uploaded).await;
                change_written.map(|()| InsertOutcome::Done(uploaded, change))
            }
            other => other,
        };
        match attempt {
            Ok(done @ InsertOutcome::Done(..)) => match tx.commit().await {
                Ok(()) => Ok(done),
                Err(error) if error.is_rolled_back() => Err(error),
                Err(error) => Ok(InsertOutcome::Uncertain(error)),
            },
            other => {
                tx.rollback().await;
                other
            }
        }
    }

    /// The result of an earlier upload with the same request key.
    async fn find_repeated(
        &self,
        tenant: &TenantId,
        new: &NewVersion<'_>,
    ) -> Result<Option<UploadedVersion>> {
        let Some(key) = new.request_key else {
            return Ok(None);
        };
        let sql = Sql::new(
            "SELECT v.id, v.skill, v.digest FROM requests r JOIN versions v ON v.id = r.version
             WHERE r.tenant = $1 AND r.key = $2",
        );
        let row = self
            .db()
            .fetch_optional(sql.bind(tenant.as_str()).bind(key))
            .await?;
        let Some(row) = row else {
            return Ok(None);
        };
        if row.text("digest")? != new.skill.manifest.digest().to_string() {
            return Err(Error::RequestKeyReused {
                key: key.to_owned(),
            });
        }
        let (skill, version) = (row.text("skill")?, row.text("id")?);
        let selector = VersionSelector::Id(version);
        Ok(Some(UploadedVersion {
            skill: self.skill(tenant, &skill).await?,
            version: self.version(tenant, &skill, &selector).await?,
            outcome: UploadOutcome::Repeated,
        }))
    }
}
