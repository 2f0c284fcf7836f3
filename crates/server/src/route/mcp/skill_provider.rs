//! A tenant's stored skills for MCP sessions: each in its default version.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use prowess_engine::Engine;
use prowess_mcp::{Member, SkillProvider, SkillProviderError, SkillSet, ToolboxOptions, Workspace};
use prowess_store::{
    Error as StoreError, MAX_PAGE_ITEMS, PageRequest, SkillFilter, SkillRecord, Store, TenantId,
    VersionSelector,
};
use tokio::sync::Mutex;

/// Limits on one tenant's skills, newest first, and on the bytes of their files: a session
/// holds all of them in memory, though all sessions of a tenant share them.
const MAX_SKILLS: usize = 500;
const MAX_SKILL_BYTES: u64 = 256 << 20;

/// Maximum number of skills that are mounted in a container from its start.
const MAX_PRELOADED_SKILLS: usize = 20;

/// The skills of a tenant, reloaded when they change.
pub(super) struct TenantSkills {
    store: Store,
    tenant: TenantId,
    snapshot: Mutex<Option<CachedSkills>>,
}

struct CachedSkills {
    /// Of the rows that were read.
    fingerprint: u64,
    skills: SkillSet,
}

impl TenantSkills {
    pub(super) fn new(store: Store, tenant: TenantId) -> TenantSkills {
        TenantSkills {
            store,
            tenant,
            snapshot: Mutex::default(),
        }
    }

    /// The current skills. Only rows are read unless they have changed.
    async fn refresh(&self) -> Result<SkillSet, StoreError> {
        let mut snapshot = self.snapshot.lock().await;
        let page = PageRequest {
            limit: MAX_PAGE_ITEMS,
            ..PageRequest::default()
        };
        let filter = SkillFilter::default();
        let listed = self.store.list_skills(&self.tenant, &filter, &page).await?;
        let fingerprint = fingerprint(&listed.items);
        if let Some(current) = snapshot
            .as_ref()
            .filter(|cached| cached.fingerprint == fingerprint)
        {
            return Ok(current.skills.clone());
        }
        let revision = snapshot.as_ref().map_or(0, |l| l.skills.revision + 1);
        let members = self.load(listed.items).await?;
        let skills = SkillSet {
            revision,
            members: members.into_values().collect(),
        };
        *snapshot = Some(CachedSkills {
            fingerprint,
            skills: skills.clone(),
        });
        Ok(skills)
    }

    /// Of two with the same name the newer is used, as in the index of skills.
    async fn load(&self, rows: Vec<SkillRecord>) -> Result<BTreeMap<String, Member>, StoreError> {
        let mut members = BTreeMap::new();
        let (mut bytes, mut skipped) = (0, 0);
        for row in rows {
            if members.contains_key(&row.name) {
                continue;
            }
            let member = match self.member(&row).await {
                Ok(member) => member,
                Err(error) if error.is_transient() => return Err(error),
                Err(error) => {
                    tracing::warn!(skill = row.id, %error, "skill not offered over MCP");
                    continue;
                }
            };
            let size = member.skill.manifest.total_bytes();
            if members.len() == MAX_SKILLS || bytes + size > MAX_SKILL_BYTES {
                skipped += 1;
                continue;
            }
            bytes += size;
            members.insert(member.skill.name.clone(), member);
        }
        if skipped > 0 {
            let tenant = self.tenant.as_str();
            tracing::warn!(
                tenant,
                skipped,
                "too many skills: not all are offered over MCP"
            );
        }
        Ok(members)
    }

    async fn member(&self, row: &SkillRecord) -> Result<Member, StoreError> {
        let version = VersionSelector::Default;
        let resolved = self.store.resolve(&self.tenant, &row.id, &version).await?;
        Ok(Member {
            skill: self.store.load(&resolved).await?,
            id: Some(row.id.clone()),
            title: row.title.clone(),
        })
    }
}

/// Changes with anything that a session would show.
fn fingerprint(rows: &[SkillRecord]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for row in rows {
        let version = row.default.as_ref();
        let version = version.map(|version| (&version.id, version.is_revoked));
        (&row.id, &row.title, version).hash(&mut hasher);
    }
    hasher.finish()
}

/// The skills of one principal's sessions.
pub(super) struct TenantSkillProvider {
    pub(super) skills: Arc<TenantSkills>,
    pub(super) engine: Engine,
    /// Whether the key may run code.
    pub(super) can_run_code: bool,
    /// Whether the tools of all skills are listed from the start.
    pub(super) own_tools_at_once: bool,
}

impl SkillProvider for TenantSkillProvider {
    fn skills(&self) -> BoxFuture<'_, Result<SkillSet, SkillProviderError>> {
        let refresh = self.skills.refresh();
        let to_error = |error: StoreError| SkillProviderError {
            why: error.to_string(),
        };
        refresh.map(move |result| result.map_err(to_error)).boxed()
    }

    fn workspace<'a>(&'a self, skills: &'a SkillSet) -> BoxFuture<'a, Option<Workspace>> {
        async {
            if !self.can_run_code {
                return None;
            }
            let sandbox = self.engine.sandbox_handle().sandbox().await.ok()?;
            let few = skills.members.len() <= MAX_PRELOADED_SKILLS;
            let shown = skills.members.iter().filter(|_| few);
            let shown = shown.map(|member| Arc::clone(&member.skill)).collect();
            let owner = self.skills.tenant.as_str();
            let policy = self.engine.settings().policy.clone();
            Some(Workspace::for_skills(sandbox, owner, shown, policy))
        }
        .boxed()
    }

    fn options(&self) -> ToolboxOptions {
        prowess_mcp::default_options()
    }

    fn lists_skill_tools_at_once(&self) -> bool {
        self.own_tools_at_once
    }
}
