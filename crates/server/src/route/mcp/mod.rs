//! `/mcp`: a tenant's skills for agents, over MCP.
//!
//! What MCP is belongs to `prowess-mcp`. Here it is decided who comes in, from where, and
//! whose skills they get.

mod answer;
mod origin;
mod supply;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use axum::Router;
use axum::routing::any;
use prowess_mcp::{Guest, Http, Limits, Supply};
use prowess_store::TenantId;

use crate::app::App;
use crate::auth::{Caller, Need};
use supply::{Stored, TenantSkills};

pub(super) fn routes() -> Router<App> {
    Router::new().route("/mcp", any(answer::answer))
}

/// All sessions, and the skills of the tenants that have any.
pub(crate) struct Mcp {
    http: Http,
    tenants: Mutex<HashMap<TenantId, Weak<TenantSkills>>>,
}

impl Mcp {
    pub(crate) fn new() -> Mcp {
        Mcp {
            http: Http::new(Limits::default()),
            tenants: Mutex::default(),
        }
    }

    /// Ends all sessions.
    pub(crate) async fn close(&self) {
        self.http.close().await;
    }

    fn http(&self) -> &Http {
        &self.http
    }

    fn guest(&self, app: &App, caller: &Caller, own_tools_at_once: bool) -> Guest {
        let supply: Arc<dyn Supply> = Arc::new(Stored {
            skills: self.skills(app, &caller.tenant),
            engine: app.engine().clone(),
            code: caller.may(Need::RunCode).is_ok(),
            own_tools_at_once,
        });
        Guest {
            owner: caller.tenant.as_str().to_owned(),
            key: caller.key_id().unwrap_or_default().to_owned(),
            supply,
        }
    }

    /// What all sessions of a tenant share.
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
