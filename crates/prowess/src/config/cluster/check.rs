//! Checks how to reach the others of a cluster, and whether the store is one that they share.

use prowess_bus::{BusError, subject};
use prowess_provider::SecretText;
use prowess_store::StoreConfig;

use super::{ClusterConfig, ClusterToml};
use crate::config::error::ConfigError;
use crate::config::secret;

/// What subjects have besides these names must fit too.
const MAX_NAME_BYTES: usize = 64;

/// The settings, if there is a cluster.
pub(in crate::config) fn check(raw: &ClusterToml) -> Result<Option<ClusterConfig>, ConfigError> {
    let cluster = check_values(raw)?;
    if !cluster.servers.is_empty() {
        return Ok(Some(cluster));
    }
    let without_effect = [
        ("cluster.user", raw.user.is_some()),
        ("cluster.password", raw.password.is_some()),
        ("cluster.token", raw.token.is_some()),
        ("cluster.tls_ca", raw.tls_ca.is_some()),
        ("cluster.gateway", raw.gateway.is_some()),
    ];
    match without_effect.iter().find(|(_, is_set)| *is_set) {
        Some((setting, _)) => {
            let reason = "has no effect without cluster.nats";
            Err(ConfigError::invalid(*setting, reason))
        }
        None => Ok(None),
    }
}

/// Checks that other gateways of the cluster can use this store.
pub(in crate::config) fn check_store(store: &StoreConfig) -> Result<(), ConfigError> {
    let database = &store.database;
    let is_postgres = database.starts_with("postgres://") || database.starts_with("postgresql://");
    if !is_postgres {
        let reason = "a cluster needs PostgreSQL, which all gateways share: set store.url, for \
                      instance postgres://user@host/prowess; or remove [cluster]";
        return Err(ConfigError::invalid("cluster.nats", reason));
    }
    if !store.blobs.starts_with("s3://") {
        let reason = "a cluster needs object storage that all gateways share and that can sign \
                      URLs for workers: set blobs.url, for instance s3://bucket/prefix; or remove \
                      [cluster]";
        return Err(ConfigError::invalid("cluster.nats", reason));
    }
    Ok(())
}

fn check_values(raw: &ClusterToml) -> Result<ClusterConfig, ConfigError> {
    let servers = raw
        .nats
        .as_slice()
        .iter()
        .map(|server| check_server(server));
    let gateway = raw.gateway.as_deref();
    let gateway = gateway.map(|name| check_name("cluster.gateway", name, subject::token(name)));
    let namespace = raw.namespace.as_str();
    let namespace = {
        let checked = subject::check(namespace).map(|()| namespace);
        check_name("cluster.namespace", namespace, checked)
    };
    let resolve = |setting, text: &Option<String>| {
        let resolved = text.as_deref().map(|text| secret::resolve(setting, text));
        resolved.transpose()
    };
    check_credentials(raw)?;
    let worker_wait = raw.worker_wait.get();
    if worker_wait.is_zero() {
        return Err(ConfigError::invalid(
            "cluster.worker_wait",
            "must be more than 0",
        ));
    }
    Ok(ClusterConfig {
        servers: servers.collect::<Result<_, _>>()?,
        user: raw.user.clone(),
        password: resolve("cluster.password", &raw.password)?,
        token: resolve("cluster.token", &raw.token)?,
        tls_ca: raw.tls_ca.clone(),
        gateway: gateway.transpose()?,
        namespace: namespace?,
        worker_wait,
    })
}

/// The address is not in the error, because it may contain a password.
fn check_server(text: &str) -> Result<SecretText, ConfigError> {
    let server = secret::resolve("cluster.nats", text)?;
    let address = server.expose();
    let rest = address.strip_prefix("nats://");
    let rest = rest.or(address.strip_prefix("tls://"));
    let host = rest.map(|rest| rest.rsplit('@').next().unwrap_or_default());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    if host.is_some_and(|host| !host.is_empty() && host.chars().all(is_plain)) {
        return Ok(server);
    }
    let reason = "must be the address of a NATS server, for instance nats://host:4222 or \
                  tls://host:4222";
    Err(ConfigError::invalid("cluster.nats", reason))
}

fn check_credentials(raw: &ClusterToml) -> Result<(), ConfigError> {
    if raw.user.is_some() != raw.password.is_some() {
        let setting = match raw.user {
            Some(_) => "cluster.user",
            None => "cluster.password",
        };
        let reason = "user and password only work together";
        return Err(ConfigError::invalid(setting, reason));
    }
    if raw.token.is_some() && raw.user.is_some() {
        let reason = "set either a token, or user and password";
        return Err(ConfigError::invalid("cluster.token", reason));
    }
    Ok(())
}

/// A name that becomes a part of subjects.
pub(in crate::config) fn check_name(
    setting: &'static str,
    name: &str,
    checked: Result<&str, BusError>,
) -> Result<String, ConfigError> {
    match checked {
        Ok(name) if name.len() <= MAX_NAME_BYTES => Ok(name.to_owned()),
        _ => {
            let shown: String = name.chars().take(MAX_NAME_BYTES).collect();
            let reason =
                format!("`{shown}` must be 1 to {MAX_NAME_BYTES} letters, digits, `_` and `-`");
            Err(ConfigError::invalid(setting, reason))
        }
    }
}
