//! Changes of skills in the audit log.

use serde_json::{Value, json};

use super::insert::UploadTarget;
use super::{SkillRecord, UploadedVersion, VersionRecord, VersionRef};
use crate::Store;
use crate::audit::{AuditAction, AuditChange};
use crate::db::Tx;
use crate::error::Result;
use crate::tenant::TenantId;

impl Store {
    pub(super) async fn audit_upload(
        &self,
        tx: &mut Tx,
        tenant: &TenantId,
        target: &UploadTarget<'_>,
        uploaded: &UploadedVersion,
    ) -> Result<()> {
        let (skill, version) = (&uploaded.skill, &uploaded.version);
        let is_default = skill.default.as_ref().is_some_and(|it| it.id == version.id);
        let mut after = version_state(version);
        if let Some(after) = after.as_object_mut() {
            after.insert("is_default".to_owned(), is_default.into());
        }
        let (action, object) = match target {
            UploadTarget::New(_) => (AuditAction::SkillCreate, &skill.id),
            UploadTarget::Skill(..) => (AuditAction::VersionCreate, &version.id),
        };
        let change = AuditChange {
            tenant,
            action,
            object,
            before: None,
            after: Some(after),
        };
        self.audit(tx, change).await
    }

    pub(super) async fn audit_skill_deleted(
        &self,
        tx: &mut Tx,
        tenant: &TenantId,
        skill: &SkillRecord,
        versions: usize,
    ) -> Result<()> {
        let change = AuditChange {
            tenant,
            action: AuditAction::SkillDelete,
            object: &skill.id,
            before: Some(json!({ "name": skill.name, "versions": versions })),
            after: None,
        };
        self.audit(tx, change).await
    }

    pub(super) async fn audit_version_deleted(
        &self,
        tx: &mut Tx,
        tenant: &TenantId,
        version: &VersionRecord,
        skill_deleted: bool,
    ) -> Result<()> {
        let change = AuditChange {
            tenant,
            action: AuditAction::VersionDelete,
            object: &version.id,
            before: Some(version_state(version)),
            after: skill_deleted.then(|| json!({ "skill_deleted": true })),
        };
        self.audit(tx, change).await
    }

    pub(super) async fn audit_default(
        &self,
        tx: &mut Tx,
        tenant: &TenantId,
        before: &SkillRecord,
        after: &SkillRecord,
    ) -> Result<()> {
        let change = AuditChange {
            tenant,
            action: AuditAction::SkillSetDefault,
            object: &after.id,
            before: Some(default_state(before)),
            after: Some(default_state(after)),
        };
        self.audit(tx, change).await
    }
}

fn version_state(version: &VersionRecord) -> Value {
    json!({
        "skill": version.skill,
        "name": version.name,
        "version": version.ordinal,
        "version_id": version.id,
        "digest": version.digest.to_string(),
    })
}

fn default_state(skill: &SkillRecord) -> Value {
    let ordinal = |version: &VersionRef| version.ordinal;
    let id = |version: &VersionRef| version.id.clone();
    json!({
        "default_version": skill.default.as_ref().map(ordinal),
        "default_version_id": skill.default.as_ref().map(id),
    })
}
