//! `/mcp`: a tenant's skills for agents, over MCP.
//!
//! MCP is implemented in `prowess-mcp`. This module authenticates clients, checks origins and
//! selects the tenant's skills.

mod handler;
mod origin;
mod skill_provider;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use axum::Router;
use axum::routing::any;
use prowess_mcp::{McpHttp, McpHttpLimits, McpPrincipal, SkillProvider};
use prowess_store::TenantId;

use crate::app::App;
use crate::auth::{Permission, Principal};
use skill_provider::{TenantSkillProvider, TenantSkills};

pub(super) fn routes() -> Router<App> {
    Router::new().route("/mcp", any(handler::handle))
}

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

    fn http(&self) -> &McpHttp {
        &self.http
    }

    fn mcp_principal(
        &self,
        app: &App,
        principal: &Principal,
        own_tools_at_once: bool,
    ) -> McpPrincipal {
        let provider: Arc<dyn SkillProvider> = Arc::new(TenantSkillProvider {
            skills: self.skills(app, &principal.tenant),
            engine: app.engine().clone(),
            can_run_code: principal.require(Permission::RunCode).is_ok(),
            own_tools_at_once,
        });
        McpPrincipal {
            owner: principal.tenant.as_str().to_owned(),
            key: principal.key_id().unwrap_or_default().to_owned(),
            provider,
        }
    }

    /// Shared by all sessions of a tenant.
    fn skills(&self, app: &App, tenant: &TenantId) -> Arc<TenantSkills> {
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = tenants.get(tenant).and_then(Weak::upgrade) {
            return known;
        }
        tenants.retain(|_, skills| skills.strong_count() > 0);
        let skills = Arc::new(TenantSkills::new(app.store().clone(), tenant.clone()));
        tenants.insert(tenant.clone(), Arc::downgrade(&skills));
        skills
    }
}
