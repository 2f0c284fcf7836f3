//! `prowess keys create|list|revoke`: on the store itself, with no server needed.

use std::time::Duration;

use anyhow::Context;
use comfy_table::{Table, presets};
use prowess_store::{KeyRecord, NewKey, Scope, Store, TenantId, Timestamp};
use serde_json::{Value, json};

use super::serve::Place;
use super::{Exit, date, output};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Make a key; it is shown this once
    Create(Create),
    /// List a tenant's keys
    List(List),
    /// End a key
    Revoke(Revoke),
}

#[derive(Debug, clap::Args)]
pub(super) struct Create {
    /// What the key is for
    name: String,
    /// What it may do
    #[arg(long = "scope", value_name = "SCOPE", default_values = ["read", "use", "publish"])]
    #[arg(value_parser = ["read", "use", "publish", "admin"], value_delimiter = ',')]
    scopes: Vec<String>,
    /// Days until it expires; never when left out
    #[arg(long, value_name = "DAYS")]
    expires: Option<u32>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
pub(super) struct List {
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
pub(super) struct Revoke {
    /// Its id (key_…), or how it begins (sk-pw-…)
    key: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
struct Common {
    /// For whom the key acts
    #[arg(long, default_value = "default")]
    tenant: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

impl Common {
    async fn open(&self) -> anyhow::Result<(Store, TenantId)> {
        let tenant = TenantId::new(self.tenant.as_str())?;
        let config = self.place.load(None)?;
        let store = Store::open(&config.store)
            .await
            .context("cannot open the store")?;
        Ok((store, tenant))
    }
}

pub(super) fn run(command: &Command) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match command {
            Command::Create(args) => create(args).await,
            Command::List(args) => list(args).await,
            Command::Revoke(args) => revoke(args).await,
        }
    })?;
    Ok(Exit::Ok)
}

async fn create(args: &Create) -> anyhow::Result<()> {
    let (store, tenant) = args.common.open().await?;
    store.ensure_tenant(&tenant, tenant.as_str()).await?;
    let scopes = args.scopes.iter().map(|scope| Scope::parse(scope));
    let scopes = scopes.collect::<Result<Vec<_>, _>>()?;
    let days = |days| Duration::from_secs(u64::from(days) * 24 * 3_600);
    let new = NewKey {
        name: &args.name,
        scopes: &scopes,
        expires_in: args.expires.map(days),
    };
    let (key, secret) = store.create_key(&tenant, &new).await?;
    store.close().await;
    if args.common.json {
        let mut shown = as_json(&key);
        if let Some(shown) = shown.as_object_mut() {
            shown.insert("key".to_owned(), secret.reveal().into());
        }
        return output::json(&shown);
    }
    output::out(&format!("{}\n", secret.reveal()))?;
    output::remark(&format!(
        "{} for tenant `{tenant}`: {}. Keep it: it is not shown again",
        key.id,
        names(&key.scopes).join(", ")
    ));
    Ok(())
}

async fn list(args: &List) -> anyhow::Result<()> {
    let (store, tenant) = args.common.open().await?;
    let keys = store.list_keys(&tenant).await?;
    store.close().await;
    if args.common.json {
        return output::json(&keys.iter().map(as_json).collect::<Vec<_>>());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["ID", "PREFIX", "NAME", "SCOPES", "LAST USED", "STATE"]);
    for key in &keys {
        let used = key.last_used_at.map_or("-".to_owned(), at);
        let scopes = names(&key.scopes).join(",");
        table.add_row([&key.id, &key.prefix, &key.name, &scopes, &used, state(key)]);
    }
    if !keys.is_empty() {
        output::out(&format!("{}\n", table.trim_fmt()))?;
    }
    output::remark(&output::count(keys.len(), "key"));
    Ok(())
}

async fn revoke(args: &Revoke) -> anyhow::Result<()> {
    let (store, tenant) = args.common.open().await?;
    store.revoke_key(&tenant, &args.key).await?;
    store.close().await;
    if args.common.json {
        return output::json(&json!({ "key": args.key, "revoked": true }));
    }
    output::remark(&format!(
        "revoked {}; servers refuse it within seconds",
        args.key
    ));
    Ok(())
}

fn as_json(key: &KeyRecord) -> Value {
    json!({
        "id": key.id,
        "tenant": key.tenant.as_str(),
        "name": key.name,
        "prefix": key.prefix,
        "scopes": names(&key.scopes),
        "created_at": at(key.created_at),
        "last_used_at": key.last_used_at.map(at),
        "expires_at": key.expires_at.map(at),
        "revoked_at": key.revoked_at.map(at),
    })
}

fn names(scopes: &[Scope]) -> Vec<&'static str> {
    scopes.iter().map(|scope| scope.as_str()).collect()
}

fn state(key: &KeyRecord) -> &'static str {
    if key.revoked_at.is_some() {
        "revoked"
    } else if key.expires_at.is_some_and(|at| at <= Timestamp::now()) {
        "expired"
    } else {
        "valid"
    }
}

fn at(time: Timestamp) -> String {
    date(time.as_seconds())
}
