//! Changes of skills in the audit log.

use serde_json::{Value, json};

use super::insert::UploadTarget;
use super::{LabelRecord, SkillRecord, UploadedVersion, VersionRecord, VersionRef};
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

    /// A label was set, moved or deleted.
    pub(super) async fn audit_label(
        &self,
        tx: &mut Tx,
        tenant: &TenantId,
        before: Option<&LabelRecord>,
        after: Option<&LabelRecord>,
    ) -> Result<()> {
        let action = match after {
            Some(_) => AuditAction::LabelSet,
            None => AuditAction::LabelDelete,
        };
        let change = AuditChange {
            tenant,
            action,
            object: after.or(before).map_or("", |label| &label.skill),
            before: before.map(label_state),
            after: after.map(label_state),
        };
        self.audit(tx, change).await
    }

    pub(super) async fn audit_notes(
        &self,
        tx: &mut Tx,
        tenant: &TenantId,
        before: &VersionRecord,
        after: &VersionRecord,
    ) -> Result<()> {
        let state = |version: &VersionRecord| json!({ "notes": version.notes });
        let change = AuditChange {
            tenant,
            action: AuditAction::VersionUpdate,
            object: &after.id,
            before: Some(state(before)),
            after: Some(state(after)),
        };
        self.audit(tx, change).await
    }

    /// A version was revoked; the default and labels that pointed to it have moved.
    pub(super) async fn audit_revoked(
        &self,
        tx: &mut Tx,
        tenant: &TenantId,
        before: &VersionRecord,
        after: &VersionRecord,
        moved_to: Option<&VersionRecord>,
    ) -> Result<()> {
        let mut state = revocation_state(after);
        if let (Some(state), Some(target)) = (state.as_object_mut(), moved_to) {
            state.insert("moved_to".to_owned(), target.ordinal.into());
        }
        let change = AuditChange {
            tenant,
            action: AuditAction::VersionRevoke,
            object: &after.id,
            before: Some(revocation_state(before)),
            after: Some(state),
        };
        self.audit(tx, change).await
    }

    pub(super) async fn audit_restored(
        &self,
        tx: &mut Tx,
        tenant: &TenantId,
        before: &VersionRecord,
        after: &VersionRecord,
    ) -> Result<()> {
        let change = AuditChange {
            tenant,
            action: AuditAction::VersionRestore,
            object: &after.id,
            before: Some(revocation_state(before)),
            after: Some(revocation_state(after)),
        };
        self.audit(tx, change).await
    }
}

fn label_state(label: &LabelRecord) -> Value {
    json!({
        "label": label.name,
        "version": label.ordinal,
        "version_id": label.version_id,
    })
}

fn revocation_state(version: &VersionRecord) -> Value {
    let mut state = version_state(version);
    if let Some(state) = state.as_object_mut() {
        let reason = version.revoked.as_ref().map(|revoked| &revoked.reason);
        state.insert("revoked".to_owned(), json!(reason));
    }
    state
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
