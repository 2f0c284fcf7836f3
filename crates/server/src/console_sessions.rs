//! Console sessions: a key, checked once, for a random id that a browser keeps in a cookie.
//!
//! The store has the digest of the id. A session ends with its time, with its key, and when the
//! key gets another secret; the operator's ends when the master key is changed. It is worth
//! nothing to the API itself: only [`InProcessApi`] reads it.

use std::time::Duration;

use axum::http::request::Parts;
use prowess_skill::Digest;
use prowess_store::{ConsoleHolder, ConsoleSessionHolder, TenantId};
use subtle::ConstantTimeEq;

use crate::auth::VIRTUAL_KEY_PREFIX;
use crate::auth::in_process::{InProcessCaller, NotLocalError};
use crate::in_process::InProcessApi;
use crate::secret::SecretString;

/// How long somebody stays signed in.
pub const CONSOLE_SESSION_LIFETIME: Duration = Duration::from_secs(12 * 3_600);
/// Random bytes of a session's id.
const TOKEN_BYTES: usize = 32;

/// Why somebody could not sign in.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// No such key.
    #[error("this key is unknown, expired or revoked")]
    UnknownKey,
    /// The tenant that the operator chose.
    #[error("tenant: {0}")]
    InvalidTenant(String),
    /// The log has the cause.
    #[error("the server cannot check keys at the moment; try again")]
    Unavailable,
}

/// Why a request with a session cannot be answered now.
#[derive(Debug, thiserror::Error)]
pub enum CallerError {
    /// The log has the cause.
    #[error("the server cannot look up sessions at the moment; try again")]
    Unavailable,
    /// The caller's tenant has too many requests at once.
    #[error("{0}")]
    TooManyRequests(String),
}

impl InProcessApi {
    /// Begins a session with a key; returns its id. With the master key, `tenant` is the tenant
    /// that the operator acts for.
    ///
    /// # Errors
    /// When the key is not valid, or the store cannot be reached.
    pub async fn sign_in(&self, key: &str, tenant: Option<&str>) -> Result<String, SignInError> {
        let token = new_token().map_err(|error| unavailable(&error))?;
        let app = self.app.current();
        let master = app.settings().master_key.as_ref();
        let store = app.store();
        let life = CONSOLE_SESSION_LIFETIME;
        if let Some(master) = master.filter(|master| master.matches(key)) {
            let tenant = operator_tenant(tenant)?;
            let binding = operator_binding(&token, master);
            let holder = ConsoleHolder::Operator {
                tenant: &tenant,
                binding: &binding,
            };
            let began = store.begin_console_session(&token, &holder, life).await;
            began.map_err(|error| unavailable(&error))?;
            tracing::info!("the operator signed in to the console");
            return Ok(token);
        }
        let found = store.authenticate(key).await;
        let record = found.map_err(|error| unavailable(&error))?;
        let record = record.ok_or(SignInError::UnknownKey)?;
        let holder = ConsoleHolder::Key {
            record: &record,
            presented: key,
        };
        let began = store.begin_console_session(&token, &holder, life).await;
        began.map_err(|error| unavailable(&error))?;
        let tenant = record.tenant.as_str();
        tracing::info!(key = record.id, tenant, "a key signed in to the console");
        Ok(token)
    }

    /// Whether a key may be found by trying: the master key is what somebody chose, and all others
    /// are random.
    pub fn can_be_guessed(&self, key: &str) -> bool {
        self.has_master_key() && !key.starts_with(VIRTUAL_KEY_PREFIX)
    }

    /// Who has this session; `None` if there is none, or it has ended. The current request counts
    /// for the caller's tenant from then on.
    ///
    /// # Errors
    /// When the store cannot be reached, or the tenant has too many requests at once.
    pub async fn caller_of_session(
        &self,
        token: &str,
    ) -> Result<Option<InProcessCaller>, CallerError> {
        if !is_token(token) {
            return Ok(None);
        }
        let app = self.app.current();
        let found = app.store().console_session(token).await;
        let found = found.map_err(|error| {
            tracing::warn!(%error, "cannot look up a console session");
            CallerError::Unavailable
        })?;
        let caller = match found {
            None => None,
            Some(ConsoleSessionHolder::Key(key)) => Some(InProcessCaller::with_key(key)),
            Some(ConsoleSessionHolder::Operator { tenant, binding }) => {
                let master = app.settings().master_key.as_ref();
                let is_same = master.is_some_and(|master| {
                    let now = operator_binding(token, master);
                    now.as_bytes().ct_eq(binding.as_bytes()).into()
                });
                is_same.then(|| InProcessCaller::operator(tenant))
            }
        };
        if let Some(caller) = &caller {
            caller.identify();
            let counted = caller.count_request(&app);
            counted.map_err(|error| CallerError::TooManyRequests(error.message))?;
        }
        Ok(caller)
    }

    /// Who sent a request without a session: on a server without a master key, anybody on its
    /// machine; `None` if the server has one.
    pub fn caller_without_key(
        &self,
        parts: &Parts,
    ) -> Option<Result<InProcessCaller, NotLocalError>> {
        let caller = InProcessCaller::without_key(&self.app.current(), parts)?;
        if let Ok(caller) = &caller {
            caller.identify();
        }
        Some(caller)
    }

    /// Ends a session. If the store cannot be reached, it lasts until its time is over.
    pub async fn sign_out(&self, token: &str) {
        if let Err(error) = self.app.store().end_console_session(token).await {
            tracing::warn!(%error, "cannot end a console session");
        }
    }
}

fn new_token() -> Result<String, getrandom::Error> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What is no id needs no query.
fn is_token(text: &str) -> bool {
    text.len() == 2 * TOKEN_BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Ties the operator's session to the master key. Without the id, which the store does not
/// have, a weak master key cannot be guessed from it.
fn operator_binding(token: &str, master: &SecretString) -> String {
    let text = format!("console\0{token}\0{}", master.reveal());
    Digest::from_content(text.as_bytes()).hex()
}

fn operator_tenant(tenant: Option<&str>) -> Result<TenantId, SignInError> {
    match tenant {
        None => Ok(TenantId::default_tenant()),
        Some(name) => {
            TenantId::new(name).map_err(|error| SignInError::InvalidTenant(error.to_string()))
        }
    }
}

fn unavailable(error: &dyn std::fmt::Display) -> SignInError {
    tracing::warn!(%error, "cannot sign in to the console");
    SignInError::Unavailable
}
