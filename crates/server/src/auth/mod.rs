//! Who is asking, for which tenant, and what they may do.
//!
//! A key comes in `x-api-key`, in `x-goog-api-key`, as a bearer token, or on Google's paths
//! in the query as `key`. It is the master key, one of the
//! store's virtual keys, or wrong. Without a master key the door is open to whoever
//! reaches it, which is this machine only; [`open_door`] keeps web pages out.

mod open_door;
mod visits;

use std::sync::Arc;

use axum::extract::{FromRequestParts, OriginalUri};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use prowess_store::{KeyRecord, Scope, TenantId};

pub(crate) use open_door::is_loopback;
pub(crate) use visits::Visits;

use crate::app::App;
use crate::connections::current;
use crate::error::ApiError;
use crate::extract::Query;
use crate::google::is_google;
use crate::request_log;

/// By this header the master key names the tenant it acts for.
const TENANT_HEADER: HeaderName = HeaderName::from_static("prowess-tenant");
/// Anthropic's clients send their key in this one.
const KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");
/// Google's clients in this one, or in the query.
const GOOGLE_KEY_HEADER: HeaderName = HeaderName::from_static("x-goog-api-key");
const GOOGLE_KEY_QUERY: &str = "key";
/// How every virtual key begins.
const VIRTUAL: &str = "sk-pw-";

/// Whoever sent a request.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) tenant: TenantId,
    /// Nothing for the owner of the server, who may do everything.
    key: Option<Arc<KeyRecord>>,
}

/// What a request needs a key for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// To see skills.
    ReadSkills,
    /// To change skills.
    PublishSkills,
    /// To see and fetch files.
    ReadFiles,
    /// To upload and delete files.
    WriteFiles,
    /// To see what became of requests to models, which may hold their texts.
    ReadRuns,
    /// To call models.
    UseModels,
    /// To run code of skills.
    RunCode,
    /// To see what is on offer.
    Look,
    /// To see how the server does.
    Administer,
}

impl Need {
    /// Any one of these will do.
    fn scopes(self) -> &'static [Scope] {
        match self {
            Need::ReadSkills => &[Scope::Read, Scope::Publish],
            Need::PublishSkills => &[Scope::Publish],
            Need::ReadFiles => &[Scope::Read, Scope::Use, Scope::Publish],
            Need::WriteFiles => &[Scope::Use, Scope::Publish],
            Need::ReadRuns | Need::UseModels | Need::RunCode => &[Scope::Use],
            Need::Look => &[Scope::Read, Scope::Use, Scope::Publish],
            Need::Administer => &[Scope::Admin],
        }
    }
}

impl Caller {
    /// Refuses a key that does not reach far enough.
    pub(crate) fn may(&self, need: Need) -> Result<(), ApiError> {
        let Some(key) = &self.key else {
            return Ok(());
        };
        if need.scopes().iter().any(|scope| key.allows(*scope)) {
            return Ok(());
        }
        let wanted: Vec<_> = need.scopes().iter().map(|scope| scope.as_str()).collect();
        Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "key-scope",
            format!(
                "key `{}` may not do this: it needs the scope {}",
                key.prefix,
                wanted.join(" or ")
            ),
        ))
    }

    /// Its key; nothing for the owner of the server.
    pub(crate) fn key(&self) -> Option<&Arc<KeyRecord>> {
        self.key.as_ref()
    }

    /// Whether a model is among those of its key.
    pub(crate) fn may_use(&self, model: &str) -> bool {
        self.key
            .as_ref()
            .is_none_or(|key| key.limits.allows_model(model))
    }

    /// The id of its key, for the log.
    pub(crate) fn key_id(&self) -> Option<&str> {
        self.key.as_ref().map(|key| key.id.as_str())
    }

    /// Whoever sent a request. The log names them, and their connection is not closed for
    /// others.
    pub(crate) async fn of(parts: &Parts, app: &App) -> Result<Caller, ApiError> {
        let caller = Caller::find(parts, app).await?;
        request_log::identify(caller.tenant.as_str(), caller.key());
        current::protect();
        Ok(caller)
    }

    async fn find(parts: &Parts, app: &App) -> Result<Caller, ApiError> {
        let in_query = key_in_query(parts);
        let presented = presented(&parts.headers)?.or(in_query.as_deref());
        if let Some(key) = presented.filter(|key| key.starts_with(VIRTUAL)) {
            // The store's answer is at hand as a rule; its way there needs room.
            return match Box::pin(app.store().authenticate(key)).await? {
                Some(key) => {
                    app.visits().note(app.store(), &key);
                    let tenant = key.tenant.clone();
                    let key = Some(key);
                    Ok(Caller { tenant, key })
                }
                None => Err(unknown_key()),
            };
        }
        match (&app.settings().master_key, presented) {
            (None, _) => open_door::check(parts)?,
            (Some(master), Some(key)) if master.matches(key) => {}
            (Some(_), Some(_)) => return Err(unknown_key()),
            (Some(_), None) => return Err(no_key(in_google(parts))),
        }
        Ok(Caller {
            tenant: chosen_tenant(&parts.headers)?,
            key: None,
        })
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let caller = Caller::of(parts, app).await?;
        if caller.key().is_some() {
            current::count(app.requests(), &caller.tenant)?;
        }
        // Whoever reads the body counts its bytes as this tenant's.
        parts.extensions.insert(caller.tenant.clone());
        Ok(caller)
    }
}

/// The key a client sent.
fn presented(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let text = |name: &HeaderName| match headers.get(name) {
        None => Ok(None),
        Some(value) => value.to_str().map(Some).map_err(|_| unknown_key()),
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

/// The key that a client wrote into its URL, as Google's clients may.
fn key_in_query(parts: &Parts) -> Option<String> {
    let query = parts.uri.query().filter(|_| in_google(parts))?;
    let query = Query::parse(query);
    query.get(GOOGLE_KEY_QUERY).map(str::to_owned)
}

fn in_google(parts: &Parts) -> bool {
    let whole = parts.extensions.get::<OriginalUri>();
    let path = whole.map_or(parts.uri.path(), |OriginalUri(uri)| uri.path());
    is_google(path, &parts.headers)
}

/// The server's owner may act for any tenant.
fn chosen_tenant(headers: &HeaderMap) -> Result<TenantId, ApiError> {
    match headers.get(TENANT_HEADER) {
        None => Ok(TenantId::default_tenant()),
        Some(value) => Ok(TenantId::new(value.to_str().unwrap_or_default())?),
    }
}

fn no_key(google: bool) -> ApiError {
    let message = match google {
        true => "no key: send one in `x-goog-api-key`, as `?key=…` or as `Authorization: Bearer …`",
        false => "no key: send one in `x-api-key` or as `Authorization: Bearer …`",
    };
    ApiError::new(StatusCode::UNAUTHORIZED, "key-missing", message)
}

fn unknown_key() -> ApiError {
    ApiError::new(
        StatusCode::UNAUTHORIZED,
        "key-unknown",
        "this key is not known, has expired or was revoked",
    )
}
