//! Settings of the connection to NATS servers.

use std::time::Duration;

use prowess_bus::{Bus, NatsSettings};
use prowess_worker::protocol::gateway_inbox_prefix;

use super::names::new_name;
use crate::config::ClusterConfig;

/// How long a check waits for the servers.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// Checks that the NATS servers of a cluster accept a connection.
///
/// # Errors
/// When they do not, with what to do, for the operator.
pub async fn check_connection(config: &ClusterConfig) -> Result<(), String> {
    let name = new_name();
    let inboxes = gateway_inbox_prefix(&config.namespace, &name);
    let mut settings = nats_settings(config, inboxes, format!("prowess check {name}"));
    settings.connect_timeout = CHECK_TIMEOUT;
    let bus = Bus::connect(settings).await;
    let bus = bus.map_err(|error| error.to_string())?;
    // It is not used for anything.
    let _ = bus.drain().await;
    Ok(())
}

/// The connection of a gateway or worker of this name.
pub(super) fn nats_settings(
    config: &ClusterConfig,
    inbox_prefix: String,
    name: String,
) -> NatsSettings {
    let servers = config
        .servers
        .iter()
        .map(|server| server.expose().to_owned());
    let mut settings = NatsSettings::new(servers.collect(), inbox_prefix, name);
    settings.tls_ca.clone_from(&config.tls_ca);
    if let (Some(user), Some(password)) = (&config.user, &config.password) {
        settings = settings.with_password(user, password.expose());
    }
    if let Some(token) = &config.token {
        settings = settings.with_token(token.expose());
    }
    settings
}
