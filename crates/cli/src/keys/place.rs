//! Where keys are: a server, or the local store without one.

use std::time::Duration;

use anyhow::Context;
use prowess_client::Client;
use prowess_store::{
    AuditOrigin, KeyChange, KeyGranter, KeyLimits, KeyScope, NewKey, Store, TenantId, Timestamp,
};
use serde_json::{Map, Value, json};

use super::key_view::KeyView;
use super::limits::budget_amount;
use crate::client::RemoteArgs;
use crate::config_args::ConfigArgs;
use crate::store_args;

/// A server's address, or the local store.
#[derive(Debug, clap::Args)]
pub(super) struct PlaceArgs {
    /// The tenant; default: `default`, or with --server the API key's own for a new key, else all
    /// that the API key may see
    #[arg(long, value_parser = store_args::parse_tenant)]
    tenant: Option<TenantId>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
    /// The server's URL; without it, keys of the local store
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// With --server: an API key with the scope admin, or the master key
    #[arg(
        long,
        value_name = "KEY",
        env = "PROWESS_API_KEY",
        hide_env_values = true
    )]
    api_key: Option<String>,
    #[command(flatten)]
    place: ConfigArgs,
}

/// Where keys are.
pub(super) enum KeyPlace {
    Server(Client, Option<String>),
    Store(Box<Store>, TenantId),
}

/// A key to be created.
pub(super) struct KeyRequest<'a> {
    pub(super) name: &'a str,
    pub(super) scopes: &'a [String],
    pub(super) limits: KeyLimits,
    pub(super) expires_in_days: Option<u32>,
    pub(super) auto: Option<bool>,
}

/// A key and its secret.
pub(super) struct NewSecret {
    pub(super) key: KeyView,
    pub(super) secret: String,
}

impl PlaceArgs {
    pub(super) async fn open(&self) -> anyhow::Result<KeyPlace> {
        if let Some(url) = self.server.clone().filter(|url| !url.is_empty()) {
            let remote = RemoteArgs::new(Some(url), self.api_key.clone());
            let tenant = self.tenant.as_ref().map(TenantId::to_string);
            return Ok(KeyPlace::Server(remote.connect()?, tenant));
        }
        let tenant = self.tenant.clone();
        let tenant = tenant.unwrap_or_else(TenantId::default_tenant);
        let config = self.place.load(None)?;
        let store = Store::open(&config.store)
            .await
            .context("cannot open the store")?;
        let store = store.audited(AuditOrigin::of_command());
        Ok(KeyPlace::Store(Box::new(store), tenant))
    }
}

impl KeyPlace {
    pub(super) async fn create(&self, requested: &KeyRequest<'_>) -> anyhow::Result<NewSecret> {
        match self {
            KeyPlace::Server(client, tenant) => {
                let fields = requested.to_json(tenant.as_deref());
                let created = client.create_key(&fields).await?;
                Ok(NewSecret {
                    key: created.record.into(),
                    secret: created.key,
                })
            }
            KeyPlace::Store(store, tenant) => {
                store.ensure_tenant(tenant, tenant.as_str()).await?;
                let scopes = parse_scopes(requested.scopes)?;
                let new = NewKey {
                    name: requested.name,
                    scopes: &scopes,
                    expires_in: requested.expires_in_days.map(days),
                    auto: requested.auto,
                };
                let created = store
                    .create_limited_key(tenant, &new, &requested.limits)
                    .await;
                let (key, secret) = created?;
                Ok(NewSecret {
                    key: (&key).into(),
                    secret: secret.reveal().to_owned(),
                })
            }
        }
    }

    pub(super) async fn list(&self) -> anyhow::Result<Vec<KeyView>> {
        Ok(match self {
            KeyPlace::Server(client, tenant) => {
                let keys = client.keys(tenant.as_deref()).await?;
                keys.into_iter().map(KeyView::from).collect()
            }
            KeyPlace::Store(store, tenant) => {
                let keys = store.list_keys(tenant).await?;
                keys.iter().map(KeyView::from).collect()
            }
        })
    }

    /// Changes a key, and returns it as it is then.
    pub(super) async fn update(&self, key: &str, change: &KeyFields) -> anyhow::Result<KeyView> {
        Ok(match self {
            KeyPlace::Server(client, tenant) => {
                let fields = change.to_json();
                client
                    .update_key(tenant.as_deref(), key, &fields)
                    .await?
                    .into()
            }
            KeyPlace::Store(store, tenant) => {
                let change = change.to_change()?;
                let granter = KeyGranter::Operator;
                let changed = store.update_key(Some(tenant), key, &change, &granter);
                (&changed.await?).into()
            }
        })
    }

    pub(super) async fn rotate(&self, key: &str, grace: Duration) -> anyhow::Result<NewSecret> {
        match self {
            KeyPlace::Server(client, tenant) => {
                let rotated = client.rotate_key(tenant.as_deref(), key, grace.as_secs());
                let rotated = rotated.await?;
                Ok(NewSecret {
                    key: rotated.record.into(),
                    secret: rotated.key,
                })
            }
            KeyPlace::Store(store, tenant) => {
                let granter = KeyGranter::Operator;
                let rotated = store.rotate_key(Some(tenant), key, grace, &granter).await;
                let (key, secret) = rotated?;
                Ok(NewSecret {
                    key: (&key).into(),
                    secret: secret.reveal().to_owned(),
                })
            }
        }
    }

    pub(super) async fn revoke(&self, key: &str) -> anyhow::Result<()> {
        match self {
            KeyPlace::Server(client, tenant) => {
                client.revoke_key(tenant.as_deref(), key).await?;
            }
            KeyPlace::Store(store, tenant) => store.revoke_key(tenant, key).await?,
        }
        Ok(())
    }

    /// Closes the store. What was written is durable already.
    pub(super) async fn close(self) {
        if let KeyPlace::Store(store, _) = self {
            store.close().await;
        }
    }
}

/// What is to change of a key: with an inner `None`, the value is taken away.
#[derive(Debug, Default)]
pub(super) struct KeyFields {
    pub(super) name: Option<String>,
    pub(super) scopes: Option<Vec<String>>,
    pub(super) models: Option<Vec<String>>,
    pub(super) requests_per_minute: Option<Option<u32>>,
    pub(super) tokens_per_minute: Option<Option<u64>>,
    pub(super) budget: Option<Option<prowess_store::KeyBudget>>,
    pub(super) expires_in_days: Option<Option<u32>>,
    pub(super) auto: Option<Option<bool>>,
}

impl KeyFields {
    pub(super) fn is_empty(&self) -> bool {
        self.to_json().as_object().is_none_or(Map::is_empty)
    }

    fn to_json(&self) -> Value {
        let mut fields = Map::new();
        let mut add = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                fields.insert(name.to_owned(), value);
            }
        };
        add("name", self.name.as_ref().map(|name| json!(name)));
        add("scopes", self.scopes.as_ref().map(|scopes| json!(scopes)));
        add("models", self.models.as_ref().map(|models| json!(models)));
        add(
            "requests_per_minute",
            self.requests_per_minute.map(|rate| json!(rate)),
        );
        add(
            "tokens_per_minute",
            self.tokens_per_minute.map(|rate| json!(rate)),
        );
        add(
            "budget",
            self.budget
                .map(|budget| budget.map_or(Value::Null, budget_json)),
        );
        add(
            "expires_in_days",
            self.expires_in_days.map(|days| json!(days)),
        );
        add("auto", self.auto.map(|auto| json!(auto)));
        Value::Object(fields)
    }

    fn to_change(&self) -> anyhow::Result<KeyChange> {
        let scopes = self.scopes.as_deref().map(parse_scopes).transpose()?;
        let expiry = |life: Option<u32>| life.map(|life| Timestamp::now().after(days(life)));
        Ok(KeyChange {
            name: self.name.clone(),
            scopes,
            models: self.models.clone(),
            requests_per_minute: self.requests_per_minute,
            tokens_per_minute: self.tokens_per_minute,
            budget: self.budget,
            expires_at: self.expires_in_days.map(expiry),
            auto: self.auto,
        })
    }
}

impl KeyRequest<'_> {
    fn to_json(&self, tenant: Option<&str>) -> Value {
        json!({
            "name": self.name,
            "tenant": tenant,
            "scopes": self.scopes,
            "models": self.limits.models,
            "requests_per_minute": self.limits.requests_per_minute,
            "tokens_per_minute": self.limits.tokens_per_minute,
            "budget": self.limits.budget.map(budget_json),
            "expires_in_days": self.expires_in_days,
            "auto": self.auto,
        })
    }
}

fn budget_json(budget: prowess_store::KeyBudget) -> Value {
    json!({ "amount": budget_amount(budget), "period": budget.period.as_str() })
}

fn parse_scopes(names: &[String]) -> anyhow::Result<Vec<KeyScope>> {
    let scopes = names.iter().map(|name| KeyScope::parse(name));
    Ok(scopes.collect::<Result<_, _>>()?)
}

fn days(days: u32) -> Duration {
    Duration::from_secs(u64::from(days) * 24 * 3_600)
}
