//! Stored skills of a local folder: the server's store, without a server.

use std::path::PathBuf;
use std::sync::Arc;

use prowess_client::{Error as ClientError, RemoteSkill, RemoteVersion};
use prowess_skill::Skill as Checked;
use prowess_skill::scan::{ScanLimits, Subject, scan};
use prowess_store::{
    Error, MAX_PAGE_ITEMS, NewSkill, NewVersion, PagePosition, PageRequest, RecordPage, ScanRecord,
    SkillDeleteRule, SkillFilter, SkillRecord as SkillRow, Store as Rows, StoreConfig, TenantId,
    UnchangedRule, UploadOutcome, UploadedVersion, VersionDeleteRule, VersionRecord as VersionRow,
    VersionSelector,
};
use pyo3::prelude::*;
use serde_json::json;
use tokio::task::spawn_blocking;

use crate::failure::PyFailure;
use crate::server::UploadRequest;
use crate::skill::Skill;
use crate::work::Work;

/// An open store.
#[pyclass(frozen, module = "prowess._native")]
pub(crate) struct Store(Arc<Inner>);

struct Inner {
    rows: Rows,
    tenant: TenantId,
}

impl Inner {
    /// Finds a skill by id or name.
    async fn find_skill(&self, skill: &str) -> Result<SkillRow, PyFailure> {
        if skill.starts_with("skill_") {
            return Ok(self.rows.skill(&self.tenant, skill).await?);
        }
        let found = find_by_name(&self.rows, &self.tenant, skill).await?;
        Ok(found.ok_or_else(|| ClientError::NotFound(skill.to_owned()))?)
    }

    async fn push(
        &self,
        skill: Arc<Checked>,
        options: UploadRequest,
    ) -> Result<UploadedVersion, PyFailure> {
        let target = match (&options.version_of, options.named) {
            (Some(skill), _) => Some(self.find_skill(skill).await?),
            (None, true) => find_by_name(&self.rows, &self.tenant, &skill.name).await?,
            (None, false) => None,
        };
        let scanned = Arc::clone(&skill);
        let report =
            spawn_blocking(move || scan(&Subject::from_skill(&scanned), &ScanLimits::default()));
        let scan = ScanRecord::from_report(&report.await.map_err(PyFailure::internal)?)?;
        let version = NewVersion {
            scan: Some(&scan),
            make_default: options.default,
            unchanged: if options.always {
                UnchangedRule::NewVersion
            } else {
                UnchangedRule::KeepLatest
            },
            ..NewVersion::from_skill(&skill)
        };
        Ok(match target {
            Some(target) => {
                let rows = &self.rows;
                rows.create_version(&self.tenant, &target.id, &version)
                    .await?
            }
            None => {
                let new = NewSkill {
                    version,
                    title: options.title.as_deref(),
                    ..NewSkill::from_skill(&skill)
                };
                self.rows.create_skill(&self.tenant, &new).await?
            }
        })
    }

    async fn list(&self, query: Option<&str>) -> Result<Vec<RemoteSkill>, PyFailure> {
        let mut all = Vec::new();
        let mut page = PageRequest {
            limit: MAX_PAGE_ITEMS,
            ..PageRequest::default()
        };
        loop {
            let found = self.list_page(query, &page).await?;
            for skill in &found.items {
                all.push(skill_record(skill)?);
            }
            match found.next {
                Some(next) => page.from = PagePosition::After(next),
                None => return Ok(all),
            }
        }
    }

    async fn list_page(
        &self,
        query: Option<&str>,
        at: &PageRequest,
    ) -> Result<RecordPage<SkillRow>, PyFailure> {
        Ok(match query {
            Some(query) => {
                let hits = self.rows.search_skills(&self.tenant, query, at).await?;
                hits.map(|hit| hit.skill)
            }
            None => {
                let filter = SkillFilter::default();
                self.rows.list_skills(&self.tenant, &filter, at).await?
            }
        })
    }

    async fn versions(&self, skill: &str) -> Result<Vec<RemoteVersion>, PyFailure> {
        let skill = self.find_skill(skill).await?.id;
        let mut all = Vec::new();
        let mut page = PageRequest {
            limit: MAX_PAGE_ITEMS,
            ..PageRequest::default()
        };
        loop {
            let found = self.rows.list_versions(&self.tenant, &skill, &page).await?;
            all.extend(found.items.iter().map(version_record));
            match found.next {
                Some(next) => page.from = PagePosition::After(next),
                None => return Ok(all),
            }
        }
    }

    async fn load(&self, skill: &str, version: Option<&str>) -> Result<Arc<Checked>, PyFailure> {
        let skill = self.find_skill(skill).await?.id;
        let selector = VersionSelector::parse(version.unwrap_or("default"))?;
        let resolved = self.rows.resolve(&self.tenant, &skill, &selector).await?;
        Ok(self.rows.load(&resolved).await?)
    }

    async fn delete(&self, skill: &str, version: Option<&str>) -> Result<(), PyFailure> {
        let skill = self.find_skill(skill).await?.id;
        let (rows, tenant) = (&self.rows, &self.tenant);
        match version {
            None => {
                let rule = SkillDeleteRule::Cascade;
                rows.delete_skill(tenant, &skill, rule).await?;
            }
            Some(version) => {
                let version = VersionSelector::parse(version)?;
                let rule = VersionDeleteRule::OPENAI;
                rows.delete_version(tenant, &skill, &version, rule).await?;
            }
        }
        Ok(())
    }
}

/// The only skill with this name, if there is one.
pub(crate) async fn find_by_name(
    rows: &Rows,
    tenant: &TenantId,
    name: &str,
) -> Result<Option<SkillRow>, PyFailure> {
    let filter = SkillFilter {
        name: Some(name.to_owned()),
        ..SkillFilter::default()
    };
    let page = PageRequest::default();
    let mut named = rows.list_skills(tenant, &filter, &page).await?.items;
    if named.len() > 1 {
        let ids = named.into_iter().map(|skill| skill.id).collect();
        let name = name.to_owned();
        return Err(ClientError::Ambiguous { name, ids }.into());
    }
    Ok(named.pop())
}

/// A skill as servers return it.
fn skill_record(skill: &SkillRow) -> Result<RemoteSkill, PyFailure> {
    let (Some(default), Some(latest)) = (&skill.default, &skill.latest) else {
        let skill = skill.id.clone();
        return Err(Error::NoVersion { skill }.into());
    };
    Ok(RemoteSkill {
        id: skill.id.clone(),
        name: skill.name.clone(),
        description: default.description.clone(),
        default_version: default.ordinal.to_string(),
        latest_version: latest.ordinal.to_string(),
        created_at: skill.created_at.as_seconds(),
    })
}

fn version_record(version: &VersionRow) -> RemoteVersion {
    RemoteVersion {
        id: version.id.clone(),
        version: version.ordinal.to_string(),
        description: version.description.clone(),
        created_at: version.created_at.as_seconds(),
    }
}

fn upload_json(uploaded: &UploadedVersion) -> Result<String, PyFailure> {
    let outcome = match uploaded.outcome {
        UploadOutcome::Created => "created",
        UploadOutcome::Unchanged => "unchanged",
        UploadOutcome::Repeated => "repeated",
    };
    let upload = json!({
        "skill": skill_record(&uploaded.skill)?,
        "version": version_record(&uploaded.version),
        "outcome": outcome,
    });
    Ok(upload.to_string())
}

#[pymethods]
impl Store {
    /// Opens the store of a folder.
    #[staticmethod]
    fn open(folder: PathBuf) -> Work {
        Work::new(async move {
            let rows = Rows::open(&StoreConfig::local(folder)).await?;
            let tenant = TenantId::default_tenant();
            Ok(Store(Arc::new(Inner { rows, tenant })))
        })
    }

    /// Stores a skill.
    fn push(&self, skill: PyRef<'_, Skill>, options: UploadRequest) -> PyResult<Work> {
        skill.check_for_upload()?;
        let (inner, skill) = (Arc::clone(&self.0), Arc::clone(&skill.checked));
        Ok(Work::new(async move {
            upload_json(&inner.push(skill, options).await?)
        }))
    }

    /// All skills, or those that match a query, as JSON.
    fn list(&self, query: Option<String>) -> Work {
        let inner = Arc::clone(&self.0);
        Work::new(async move { Ok(json!(inner.list(query.as_deref()).await?).to_string()) })
    }

    /// One skill, by id or name, as JSON.
    fn get(&self, skill: String) -> Work {
        let inner = Arc::clone(&self.0);
        Work::new(
            async move { Ok(json!(skill_record(&inner.find_skill(&skill).await?)?).to_string()) },
        )
    }

    /// The versions of a skill, as JSON.
    fn versions(&self, skill: String) -> Work {
        let inner = Arc::clone(&self.0);
        Work::new(async move { Ok(json!(inner.versions(&skill).await?).to_string()) })
    }

    /// Makes a version the default; returns the skill as JSON.
    fn set_default(&self, skill: String, version: String) -> Work {
        let inner = Arc::clone(&self.0);
        Work::new(async move {
            let skill = inner.find_skill(&skill).await?.id;
            let version = VersionSelector::parse(&version)?;
            let set = inner
                .rows
                .set_default_version(&inner.tenant, &skill, &version);
            Ok(json!(skill_record(&set.await?)?).to_string())
        })
    }

    /// A version with all its files.
    fn load(&self, skill: String, version: Option<String>) -> Work {
        let inner = Arc::clone(&self.0);
        Work::new(async move {
            let skill = inner.load(&skill, version.as_deref()).await?;
            Ok(Skill::from_checked(skill))
        })
    }

    /// Deletes a skill, or one version of it.
    fn delete(&self, skill: String, version: Option<String>) -> Work {
        let inner = Arc::clone(&self.0);
        Work::new(async move { inner.delete(&skill, version.as_deref()).await })
    }

    /// Closes all connections after active operations.
    fn close(&self) -> Work {
        let inner = Arc::clone(&self.0);
        Work::new(async move {
            inner.rows.close().await;
            Ok(())
        })
    }
}
