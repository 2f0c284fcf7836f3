//! When a sender may no longer do what its request was permitted to: for streams and sockets, which
//! go on for long after it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::{Permission, Principal, unknown_key_error};
use crate::app::App;
use crate::error::HttpError;

/// How often a key is looked at: for about as long it is cached for requests.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Completes, with the reason, when the sender of a request would be refused. It must be polled
/// until then, not be made again for each event: its time would start again.
pub(crate) type LostAccess = BoxFuture<'static, HttpError>;

/// Does some work for as long as its sender has access; then it is dropped.
///
/// # Errors
/// When access is lost before the work is done.
pub(crate) async fn while_accessible<F: Future>(
    lost: &mut LostAccess,
    work: F,
) -> Result<F::Output, HttpError> {
    tokio::select! {
        biased;
        output = work => Ok(output),
        refusal = lost => Err(refusal),
    }
}

impl Principal {
    /// Completes when the key was revoked, has expired or has lost the permission.
    pub(crate) fn lost_access(&self, app: &App, permission: Permission) -> LostAccess {
        if self.key.is_none() && self.secret.is_none() {
            // Nothing that could be revoked. Allocates nothing.
            return Box::pin(std::future::pending::<HttpError>());
        }
        let (app, principal) = (app.clone(), self.clone());
        Box::pin(async move {
            loop {
                tokio::time::sleep(CHECK_INTERVAL).await;
                if let Some(refusal) = principal.refusal(&app.current(), permission).await {
                    return refusal;
                }
            }
        })
    }

    /// Why the sender would be refused now.
    async fn refusal(&self, app: &App, permission: Permission) -> Option<HttpError> {
        let store = app.store();
        let found = match (&self.key, &self.secret) {
            (Some(_), Some(secret)) => Box::pin(store.authenticate(secret.reveal())).await,
            // Somebody who signed in to the console, where the secret is not known any more.
            (Some(known), None) => {
                let found = Box::pin(store.key(Some(&self.tenant), &known.id)).await;
                let is_active = known.is_active();
                found.map(|key| Some(Arc::new(key)).filter(|key| is_active && key.is_active()))
            }
            (None, Some(secret)) => {
                let master = app.settings().master_key.as_ref();
                let is_refused = master.is_some_and(|master| !master.matches(secret.reveal()));
                return is_refused.then(unknown_key_error);
            }
            (None, None) => return None,
        };
        // Without the store nothing is known about the key, and it is asked again.
        let Some(key) = found.ok()? else {
            return Some(unknown_key_error());
        };
        let now = Principal {
            key: Some(key),
            ..self.clone()
        };
        now.require(permission).err()
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;
    use prowess_store::{Store, StoreConfig};

    use super::*;
    use crate::secret::SecretString;
    use crate::settings::ServerSettings;

    const MASTER: &str = "the-master-key-of-these-tests";

    #[tokio::test]
    async fn a_secret_is_kept_only_if_it_can_be_revoked() {
        for (master_key, is_kept) in [(None, false), (Some(MASTER), true)] {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(&StoreConfig::local(folder.path())).await;
            let settings = ServerSettings {
                master_key: master_key.map(SecretString::new),
                ..ServerSettings::default()
            };
            let app = App::new(store.unwrap(), settings);
            let request = Request::post("/v1/messages")
                .header("host", "localhost")
                .header("x-api-key", MASTER);
            let (parts, ()) = request.body(()).unwrap().into_parts();
            let principal = Principal::authenticate(&parts, &app).await.unwrap();
            assert_eq!(principal.secret.is_some(), is_kept, "{master_key:?}");
        }
    }
}
