//! API keys of a server: create, list, change, rotate, revoke.

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::connection::{Client, encode_query, encode_segment, read_json};
use crate::error::Error;

/// Maximum number of keys in a list.
const MAX_KEYS: usize = 100_000;

/// A key of the server, without its secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RemoteKey {
    /// `key_…`.
    pub id: String,
    /// Its tenant.
    pub tenant: String,
    /// Its display name.
    pub name: String,
    /// Its first characters.
    pub prefix: String,
    /// The names of its scopes.
    pub scopes: Vec<String>,
    /// Patterns of the models it may call; empty for all.
    pub models: Vec<String>,
    /// Requests per minute.
    pub requests_per_minute: Option<u32>,
    /// Tokens per minute.
    pub tokens_per_minute: Option<u64>,
    /// Its budget.
    pub budget: Option<RemoteBudget>,
    /// Whether its runs may use all stored skills; none for as configured.
    pub auto: Option<bool>,
    /// `valid`, `expired` or `revoked`.
    pub state: String,
    /// When it was created.
    pub created_at: String,
    /// When it was last used.
    pub last_used_at: Option<String>,
    /// When it expires.
    pub expires_at: Option<String>,
    /// When it was revoked.
    pub revoked_at: Option<String>,
    /// Until when the secret that it had before it was rotated is accepted too.
    pub previous_secret_until: Option<String>,
}

/// An amount of money per period.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RemoteBudget {
    /// In the currency of the server's prices.
    pub amount: f64,
    /// `day`, `month` or `ever`.
    pub period: String,
}

/// A key with its new secret, which the server does not show again.
#[derive(Clone, Deserialize)]
pub struct CreatedKey {
    /// The key.
    #[serde(flatten)]
    pub record: RemoteKey,
    /// Its secret.
    pub key: String,
}

#[derive(Debug, Deserialize)]
struct KeyPage {
    data: Vec<RemoteKey>,
    next_page: Option<String>,
}

impl Client {
    /// Creates a key from its fields, as `POST /v1/admin/keys` takes them.
    ///
    /// # Errors
    /// When the server cannot be reached, or refuses.
    pub async fn create_key(&self, fields: &Value) -> Result<CreatedKey, Error> {
        let request = self.request(Method::POST, "/admin/keys").json(fields);
        read_json(self.send(request).await?).await
    }

    /// All keys of a tenant, newest first; without one, all that this key may see.
    ///
    /// # Errors
    /// When the server cannot be reached, or refuses.
    pub async fn keys(&self, tenant: Option<&str>) -> Result<Vec<RemoteKey>, Error> {
        let mut keys = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let mut pairs = vec![("limit", "1000")];
            pairs.extend(tenant.map(|tenant| ("tenant", tenant)));
            pairs.extend(after.as_deref().map(|page| ("page", page)));
            let page: KeyPage = self
                .get(&format!("/admin/keys?{}", encode_query(&pairs)))
                .await?;
            keys.extend(page.data);
            if page.next_page.is_none() {
                return Ok(keys);
            }
            if keys.len() > MAX_KEYS {
                return Err(Error::ListTooLong(MAX_KEYS));
            }
            after = page.next_page;
        }
    }

    /// Changes fields of a key, as `PATCH /v1/admin/keys/{key}` takes them.
    ///
    /// # Errors
    /// When there is no such key, or the server refuses.
    pub async fn update_key(
        &self,
        tenant: Option<&str>,
        key: &str,
        fields: &Value,
    ) -> Result<RemoteKey, Error> {
        let request = self.request(Method::PATCH, &key_path(tenant, key, ""));
        read_json(self.send(request.json(fields)).await?).await
    }

    /// Revokes a key.
    ///
    /// # Errors
    /// When there is no such key, or the server refuses.
    pub async fn revoke_key(&self, tenant: Option<&str>, key: &str) -> Result<RemoteKey, Error> {
        let request = self.request(Method::DELETE, &key_path(tenant, key, ""));
        read_json(self.send(request).await?).await
    }

    /// Gives a key a new secret. The one it had is accepted for so many seconds more.
    ///
    /// # Errors
    /// When there is no such key, or the server refuses.
    pub async fn rotate_key(
        &self,
        tenant: Option<&str>,
        key: &str,
        grace_seconds: u64,
    ) -> Result<CreatedKey, Error> {
        let request = self.request(Method::POST, &key_path(tenant, key, "/rotate"));
        let request = request.json(&json!({ "grace_seconds": grace_seconds }));
        read_json(self.send(request).await?).await
    }
}

fn key_path(tenant: Option<&str>, key: &str, verb: &str) -> String {
    let path = format!("/admin/keys/{}{verb}", encode_segment(key));
    match tenant {
        Some(tenant) => format!("{path}?{}", encode_query(&[("tenant", tenant)])),
        None => path,
    }
}

/// Does not show the secret.
impl std::fmt::Debug for CreatedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CreatedKey")
            .field("record", &self.record)
            .finish_non_exhaustive()
    }
}
