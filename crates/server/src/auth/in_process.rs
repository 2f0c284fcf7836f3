//! Who calls the server's routes from its own process.

use std::fmt;
use std::sync::Arc;

use axum::http::request::Parts;
use prowess_store::{KeyRecord, TenantId};

use super::{Principal, loopback};
use crate::app::App;
use crate::connections::current;
use crate::error::HttpError;
use crate::request_log;

/// A caller that was authenticated before: its calls need no key.
#[derive(Debug, Clone)]
pub struct InProcessCaller {
    principal: Principal,
    /// Whether the server has no master key and let them in as they are on its machine.
    without_key: bool,
}

/// Why nobody is admitted without a key: the request is not from this machine's own pages.
#[derive(Debug)]
pub struct NotLocalError(String);

impl fmt::Display for NotLocalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotLocalError {}

impl InProcessCaller {
    pub(crate) fn with_key(key: Arc<KeyRecord>) -> InProcessCaller {
        InProcessCaller {
            principal: Principal {
                tenant: key.tenant.clone(),
                key: Some(key),
                secret: None,
            },
            without_key: false,
        }
    }

    pub(crate) fn operator(tenant: TenantId) -> InProcessCaller {
        InProcessCaller {
            principal: Principal {
                tenant,
                key: None,
                secret: None,
            },
            without_key: false,
        }
    }

    /// Who sent a request to a server without a master key; `None` if it has one. The name of
    /// the host must be a loopback name, as for the API: otherwise a page on the web could
    /// reach the server by a name of its own.
    pub(crate) fn without_key(
        app: &App,
        parts: &Parts,
    ) -> Option<Result<InProcessCaller, NotLocalError>> {
        if app.settings().master_key.is_some() {
            return None;
        }
        Some(match loopback::check_host(parts) {
            Ok(()) => Ok(InProcessCaller {
                without_key: true,
                ..InProcessCaller::operator(TenantId::default_tenant())
            }),
            Err(error) => Err(NotLocalError(error.message)),
        })
    }

    /// Adds the caller to the log of the current request, and protects its connection from
    /// eviction.
    pub(crate) fn identify(&self) {
        request_log::identify(self.principal.tenant.as_str(), self.principal.key());
        current::protect();
    }

    /// Counts the current request toward the tenant's limit: before the first call, which would
    /// count it too, there is the body of a form.
    pub(crate) fn count_request(&self, app: &App) -> Result<(), HttpError> {
        self.principal.count_request(app)
    }

    pub(crate) fn tenant_id(&self) -> &TenantId {
        &self.principal.tenant
    }

    pub(super) fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The id of the key, or `operator`.
    pub fn id(&self) -> &str {
        self.principal.key_id().unwrap_or("operator")
    }

    /// The name of the key, or what the operator is called.
    pub fn name(&self) -> &str {
        match self.principal.key() {
            Some(key) => &key.name,
            None if self.without_key => "this machine",
            None => "operator",
        }
    }

    /// The tenant whose data the calls are about; `None`: the default one, for the operator.
    pub fn tenant(&self) -> Option<&str> {
        let is_default = self.is_operator() && self.principal.tenant == TenantId::default_tenant();
        (!is_default).then(|| self.principal.tenant.as_str())
    }

    /// Names of the key's scopes; none for the operator, who may do everything.
    pub fn scopes(&self) -> Vec<&'static str> {
        let key = self.principal.key();
        key.map(|key| key.scope_names()).unwrap_or_default()
    }

    /// Whether it is the operator.
    pub fn is_operator(&self) -> bool {
        self.principal.key().is_none()
    }

    /// Whether no key was needed.
    pub fn is_without_key(&self) -> bool {
        self.without_key
    }
}
