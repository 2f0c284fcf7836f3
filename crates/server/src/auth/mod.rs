//! Authentication: the principal of a request, its tenant and its permissions.
//!
//! A key is sent in `x-api-key`, in `x-goog-api-key`, as a bearer token, or on Google's paths
//! as the query parameter `key`. It is the master key, one of the store's virtual keys, or
//! invalid. Without a master key anyone who can connect is accepted, which is this machine
//! only; [`loopback`] rejects requests from web pages. Calls in this process carry their
//! principal with them ([`in_process`]). Streams and sockets, which go on for long after their
//! request, ask again ([`lost_access`]). Headers that decide something, and the key in a query, have
//! one value ([`repeated`]).

pub(crate) mod in_process;
pub(crate) mod key_activity;
mod loopback;
mod lost_access;
mod repeated;

use std::sync::Arc;

use axum::extract::{FromRequestParts, OriginalUri};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use prowess_store::{KeyRecord, KeyScope, TenantId};

pub(crate) use loopback::is_loopback;
pub(crate) use lost_access::{LostAccess, while_accessible};

use in_process::InProcessCaller;

use crate::app::App;
use crate::audit::LimitedChange;
use crate::connections::current;
use crate::error::HttpError;
use crate::extract::Query;
use crate::google::is_google;
use crate::request_log;
use crate::secret::SecretString;

/// With this header the master key selects the tenant.
const TENANT_HEADER: HeaderName = HeaderName::from_static("prowess-tenant");
/// Header of Anthropic's clients.
const KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");
/// Header of Google's clients, who may also use the query.
const GOOGLE_KEY_HEADER: HeaderName = HeaderName::from_static("x-goog-api-key");
const GOOGLE_KEY_QUERY: &str = "key";
/// Prefix of every virtual key.
pub(crate) const VIRTUAL_KEY_PREFIX: &str = "sk-pw-";

/// The authenticated sender of a request.
#[derive(Debug, Clone)]
pub(crate) struct Principal {
    pub(crate) tenant: TenantId,
    /// None for the operator, who may do everything.
    key: Option<Arc<KeyRecord>>,
    /// What was presented, if it can be revoked, for what goes on after the request: see
    /// [`LostAccess`].
    secret: Option<Arc<SecretString>>,
}

/// What a request requires of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permission {
    /// Read skills.
    ReadSkills,
    /// Change skills.
    PublishSkills,
    /// Move and delete protected labels of skills.
    ReleaseSkills,
    /// Read files.
    ReadFiles,
    /// Upload and delete files.
    WriteFiles,
    /// Read records of runs, which may contain request texts.
    ReadRuns,
    /// Call models.
    UseModels,
    /// Call any path of a provider's API, in the account that all tenants share.
    UseProviders,
    /// Read the metrics, which cover all tenants.
    ReadMetrics,
    /// Run code of skills.
    RunCode,
    /// List models, tools and the API description.
    Browse,
    /// Read usage and the audit log; manage keys.
    Administer,
}

impl Permission {
    /// Any one of these scopes is enough.
    fn scopes(self) -> &'static [KeyScope] {
        match self {
            Permission::ReadSkills => &[KeyScope::Read, KeyScope::Publish],
            Permission::PublishSkills => &[KeyScope::Publish],
            Permission::ReleaseSkills => &[KeyScope::Release],
            Permission::ReadFiles => &[KeyScope::Read, KeyScope::Use, KeyScope::Publish],
            Permission::WriteFiles => &[KeyScope::Use, KeyScope::Publish],
            Permission::ReadRuns | Permission::UseModels | Permission::RunCode => &[KeyScope::Use],
            Permission::UseProviders => &[KeyScope::Providers],
            Permission::ReadMetrics => &[KeyScope::Metrics],
            Permission::Browse => &[KeyScope::Read, KeyScope::Use, KeyScope::Publish],
            Permission::Administer => &[KeyScope::Admin],
        }
    }
}

impl Principal {
    /// Fails if the key lacks the permission.
    pub(crate) fn require(&self, permission: Permission) -> Result<(), HttpError> {
        let Some(key) = &self.key else {
            return Ok(());
        };
        if permission.scopes().iter().any(|scope| key.allows(*scope)) {
            return Ok(());
        }
        let needed: Vec<_> = permission
            .scopes()
            .iter()
            .map(|scope| scope.as_str())
            .collect();
        Err(HttpError::new(
            StatusCode::FORBIDDEN,
            "key-scope",
            format!(
                "key `{}` lacks a required scope: {}",
                key.prefix,
                needed.join(" or ")
            ),
        ))
    }

    /// Fails for every key: only the operator may do this.
    pub(crate) fn require_operator(&self) -> Result<(), HttpError> {
        let Some(key) = &self.key else {
            return Ok(());
        };
        Err(HttpError::new(
            StatusCode::FORBIDDEN,
            "operator-only",
            format!(
                "key `{}` belongs to a tenant, and this is about the whole server: use the \
                master key",
                key.prefix
            ),
        ))
    }

    /// The key; none for the operator.
    pub(crate) fn key(&self) -> Option<&Arc<KeyRecord>> {
        self.key.as_ref()
    }

    /// Whether the key may use a model.
    pub(crate) fn can_use_model(&self, model: &str) -> bool {
        self.key
            .as_ref()
            .is_none_or(|key| key.limits.allows_model(model))
    }

    /// Whether the key opens all stored skills to its runs; `None`: as configured.
    pub(crate) fn auto(&self) -> Option<bool> {
        self.key.as_ref()?.auto
    }

    /// Id of the key, for the log.
    pub(crate) fn key_id(&self) -> Option<&str> {
        self.key.as_ref().map(|key| key.id.as_str())
    }

    /// Authenticates a request, adds the principal to the log and protects its connection from
    /// eviction.
    pub(crate) async fn authenticate(parts: &Parts, app: &App) -> Result<Principal, HttpError> {
        repeated::refuse_repeated(&parts.headers)?;
        let principal = Principal::look_up(parts, app).await?;
        request_log::identify(principal.tenant.as_str(), principal.key());
        current::protect();
        Ok(principal)
    }

    /// Counts the current request toward the tenant's limit until the end of its response. The
    /// operator has no limit.
    pub(crate) fn count_request(&self, app: &App) -> Result<(), HttpError> {
        match self.key {
            Some(_) => current::count(app.tenant_requests(), &self.tenant),
            None => Ok(()),
        }
    }

    /// Fails once the keys of the tenant have made as many changes as the audit log takes of them.
    /// The operator has no limit.
    fn check_changes(&self, app: &App) -> Result<(), HttpError> {
        match self.key {
            Some(_) => Ok(app.store().check_changes(&self.tenant)?),
            None => Ok(()),
        }
    }

    async fn look_up(parts: &Parts, app: &App) -> Result<Principal, HttpError> {
        // No request from the network has extensions of ours.
        if let Some(caller) = parts.extensions.get::<InProcessCaller>() {
            let principal = caller.principal().clone();
            if let Some(key) = principal.key() {
                app.key_activity().record_use(app.store(), key);
            }
            return Ok(principal);
        }
        let in_query = key_in_query(parts)?;
        let presented = presented_key(&parts.headers)?.or(in_query.as_deref());
        let to_secret = |key: &str| Some(Arc::new(SecretString::new(key)));
        if let Some(text) = presented.filter(|key| key.starts_with(VIRTUAL_KEY_PREFIX)) {
            // Usually answered from the cache; boxed because the lookup itself needs a large
            // future.
            return match Box::pin(app.store().authenticate(text)).await? {
                Some(key) => {
                    app.key_activity().record_use(app.store(), &key);
                    Ok(Principal {
                        tenant: key.tenant.clone(),
                        key: Some(key),
                        secret: to_secret(text),
                    })
                }
                None => Err(unknown_key_error()),
            };
        }
        let secret = match (&app.settings().master_key, presented) {
            (None, _) => {
                loopback::check(parts)?;
                // Whatever clients send as a key is not looked at, and only a restart changes
                // that: nothing can be revoked.
                None
            }
            (Some(master), Some(key)) if master.matches(key) => to_secret(key),
            (Some(_), Some(_)) => return Err(unknown_key_error()),
            (Some(_), None) => return Err(missing_key_error(is_google_request(parts))),
        };
        Ok(Principal {
            tenant: tenant_from_header(&parts.headers)?,
            key: None,
            secret,
        })
    }
}

impl FromRequestParts<App> for Principal {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, HttpError> {
        let principal = Principal::authenticate(parts, app).await?;
        principal.count_request(app)?;
        if parts.extensions.get::<LimitedChange>().is_some() {
            principal.check_changes(app)?;
        }
        // The body reader counts bytes for this tenant.
        parts.extensions.insert(principal.tenant.clone());
        // For the audit log.
        parts.extensions.insert(principal.clone());
        Ok(principal)
    }
}

/// The key in the headers.
fn presented_key(headers: &HeaderMap) -> Result<Option<&str>, HttpError> {
    let text = |name: &HeaderName| match headers.get(name) {
        None => Ok(None),
        Some(value) => value.to_str().map(Some).map_err(|_| unknown_key_error()),
    };
    for name in [&KEY_HEADER, &GOOGLE_KEY_HEADER] {
        if let Some(key) = text(name)?.filter(|key| !key.is_empty()) {
            return Ok(Some(key));
        }
    }
    let bearer = text(&AUTHORIZATION)?.and_then(|value| {
        let (scheme, key) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(key.trim())
    });
    Ok(bearer.filter(|key| !key.is_empty()))
}

/// The key in the URL, as Google's clients may send it.
fn key_in_query(parts: &Parts) -> Result<Option<String>, HttpError> {
    let Some(query) = parts.uri.query().filter(|_| is_google_request(parts)) else {
        return Ok(None);
    };
    let query = Query::parse(query);
    repeated::refuse_repeated_parameter(&query, GOOGLE_KEY_QUERY)?;
    Ok(query.get(GOOGLE_KEY_QUERY).map(str::to_owned))
}

fn is_google_request(parts: &Parts) -> bool {
    let original = parts.extensions.get::<OriginalUri>();
    let path = original.map_or(parts.uri.path(), |OriginalUri(uri)| uri.path());
    is_google(path, &parts.headers)
}

/// The tenant that the operator acts for.
fn tenant_from_header(headers: &HeaderMap) -> Result<TenantId, HttpError> {
    match headers.get(TENANT_HEADER) {
        None => Ok(TenantId::default_tenant()),
        Some(value) => Ok(TenantId::new(value.to_str().unwrap_or_default())?),
    }
}

fn missing_key_error(google: bool) -> HttpError {
    let message = if google {
        "missing API key: send it in `x-goog-api-key`, as `?key=…` or as `Authorization: \
            Bearer …`"
    } else {
        "missing API key: send it in `x-api-key` or as `Authorization: Bearer …`"
    };
    HttpError::new(StatusCode::UNAUTHORIZED, "key-missing", message)
}

fn unknown_key_error() -> HttpError {
    HttpError::new(
        StatusCode::UNAUTHORIZED,
        "key-unknown",
        "this API key is unknown, expired or revoked",
    )
}
