//! A tenant's stored skills, as MCP's sessions are made of them: each in its default
//! version.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use prowess_engine::Engine;
use prowess_mcp::{Member, Options, Skills, Supply, SupplyError, Workspace};
use prowess_store::{
    Error as StoreError, MAX_LIMIT, PageRequest, SkillFilter, SkillRecord, Store, TenantId,
    VersionSelector,
};
use tokio::sync::Mutex;

/// Skills of one tenant that are offered, the newest first, and bytes of their files: a
/// session holds all of them in memory, though all sessions of a tenant share them.
const MOST_SKILLS: usize = 500;
const MOST_BYTES: u64 = 256 << 20;

/// Skills that a session of the sandbox shows from its beginning.
const FEW: usize = 20;

/// The skills of a tenant, read again when they change.
pub(super) struct TenantSkills {
    store: Store,
    tenant: TenantId,
    looked: Mutex<Option<Looked>>,
}

struct Looked {
    /// Of the rows that were read.
    print: u64,
    skills: Skills,
}

impl TenantSkills {
    pub(super) fn new(store: Store, tenant: TenantId) -> TenantSkills {
        TenantSkills {
            store,
            tenant,
            looked: Mutex::default(),
        }
    }

    /// What is there now. Only rows are read unless they have changed.
    async fn look(&self) -> Result<Skills, StoreError> {
        let mut looked = self.looked.lock().await;
        let page = PageRequest {
            limit: MAX_LIMIT,
            ..PageRequest::default()
        };
        let filter = SkillFilter::default();
        let listed = self.store.list_skills(&self.tenant, &filter, &page).await?;
        let print = print(&listed.items);
        if let Some(looked) = looked.as_ref().filter(|looked| looked.print == print) {
            return Ok(looked.skills.clone());
        }
        let revision = looked.as_ref().map_or(0, |l| l.skills.revision + 1);
        let members = self.load(listed.items).await?;
        let skills = Skills {
            revision,
            members: members.into_values().collect(),
        };
        *looked = Some(Looked {
            print,
            skills: skills.clone(),
        });
        Ok(skills)
    }

    /// Of two with one name the newer counts, as in the index of skills.
    async fn load(&self, rows: Vec<SkillRecord>) -> Result<BTreeMap<String, Member>, StoreError> {
        let mut members = BTreeMap::new();
        let (mut bytes, mut left_out) = (0, 0);
        for row in rows {
            if members.contains_key(&row.name) {
                continue;
            }
            let member = match self.member(&row).await {
                Ok(member) => member,
                Err(error) if error.is_transient() => return Err(error),
                Err(error) => {
                    tracing::warn!(skill = row.id, %error, "not offered over MCP");
                    continue;
                }
            };
            let size = member.skill.manifest.total_bytes();
            if members.len() == MOST_SKILLS || bytes + size > MOST_BYTES {
                left_out += 1;
                continue;
            }
            bytes += size;
            members.insert(member.skill.name.clone(), member);
        }
        if left_out > 0 {
            let tenant = self.tenant.as_str();
            tracing::warn!(tenant, left_out, "too many skills to offer all over MCP");
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

/// What changes when anything does that a session would show.
fn print(rows: &[SkillRecord]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for row in rows {
        let version = row.default.as_ref().map(|version| &version.id);
        (&row.id, &row.title, version).hash(&mut hasher);
    }
    hasher.finish()
}

/// What a session of one caller is made of.
pub(super) struct Stored {
    pub(super) skills: Arc<TenantSkills>,
    pub(super) engine: Engine,
    /// Whether the caller's key may run code.
    pub(super) code: bool,
    /// Whether the tools of all skills are listed from the start.
    pub(super) own_tools_at_once: bool,
}

impl Supply for Stored {
    fn skills(&self) -> BoxFuture<'_, Result<Skills, SupplyError>> {
        let look = self.skills.look();
        let told = |error: StoreError| SupplyError {
            why: error.to_string(),
        };
        look.map(move |looked| looked.map_err(told)).boxed()
    }

    fn workspace<'a>(&'a self, skills: &'a Skills) -> BoxFuture<'a, Option<Workspace>> {
        async {
            if !self.code {
                return None;
            }
            let sandbox = self.engine.door().sandbox().await.ok()?;
            let few = skills.members.len() <= FEW;
            let shown = skills.members.iter().filter(|_| few);
            let shown = shown.map(|member| Arc::clone(&member.skill)).collect();
            let owner = self.skills.tenant.as_str();
            let policy = self.engine.settings().policy.clone();
            Some(Workspace::fresh(sandbox, owner, shown, policy))
        }
        .boxed()
    }

    fn options(&self) -> Options {
        prowess_mcp::options()
    }

    fn lists_own_tools_at_once(&self) -> bool {
        self.own_tools_at_once
    }
}
