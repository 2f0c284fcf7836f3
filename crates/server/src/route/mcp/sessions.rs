//! All MCP sessions, and the skills of tenants with sessions.
//!
//! Part of the server's state, so it must not know it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use prowess_mcp::{McpHttp, McpHttpLimits};
use prowess_store::{Store, TenantId};

use super::skill_provider::TenantSkills;

/// All sessions, and the skills of tenants with sessions.
pub(crate) struct Mcp {
    http: McpHttp,
    tenants: Mutex<HashMap<TenantId, Weak<TenantSkills>>>,
}

impl Mcp {
    pub(crate) fn new() -> Mcp {
        Mcp {
            http: McpHttp::new(McpHttpLimits::default()),
            tenants: Mutex::default(),
        }
    }

    /// Ends all sessions.
    pub(crate) async fn close(&self) {
        self.http.close().await;
    }

    pub(super) fn http(&self) -> &McpHttp {
        &self.http
    }

    /// A tenant's skills, shared by all its sessions.
    pub(super) fn skills(&self, store: &Store, tenant: &TenantId) -> Arc<TenantSkills> {
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = tenants.get(tenant).and_then(Weak::upgrade) {
            return known;
        }
        tenants.retain(|_, skills| skills.strong_count() > 0);
        let skills = Arc::new(TenantSkills::new(store.clone(), tenant.clone()));
        tenants.insert(tenant.clone(), Arc::downgrade(&skills));
        skills
    }
}
