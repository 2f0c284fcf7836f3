//! The cluster: whether its NATS servers accept this installation.

use prowess::cluster::check_connection;
use prowess::config::{ClusterConfig, Config};
use prowess_sandbox::SandboxSettings;

use super::part::PartReport;

const CLUSTER: &str = "cluster";

/// Checks the connection.
pub(super) async fn check(config: &ClusterConfig) -> PartReport {
    match check_connection(config).await {
        Ok(()) => PartReport::ok(CLUSTER, "NATS is connected"),
        Err(why) => {
            let advice = "start the NATS servers, or correct [cluster] in prowess.toml";
            PartReport::missing(CLUSTER, why, advice)
        }
    }
}

/// The settings of the sandbox on this host. A gateway has none, because its commands run at
/// workers.
pub(super) fn local_sandbox(
    config: &Config,
    settings: Option<SandboxSettings>,
) -> Option<SandboxSettings> {
    settings.filter(|_| !config.is_gateway())
}

/// What is reported of the sandbox of a gateway.
pub(super) fn remote_sandbox() -> PartReport {
    PartReport::ok("sandbox", "at the workers of the cluster; not on this host")
}
