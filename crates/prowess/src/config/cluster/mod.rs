//! `[cluster]`: how gateways and workers of a cluster reach each other.
//!
//! The section is read and checked in every build; using it needs the feature `cluster`.

mod check;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

use prowess_provider::SecretText;
use schemars::JsonSchema;
use serde::Deserialize;

use super::values::{DurationSetting, TextList};

pub(super) use check::{check, check_name, check_store};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Cluster")]
pub(super) struct ClusterToml {
    /// Addresses of NATS servers, of which one is used at a time: `nats://host:4222`, or
    /// `tls://host:4222` to refuse connections without TLS. With it, a server is a gateway of a
    /// cluster: commands run at workers, not on this host. This needs PostgreSQL (`store.url`)
    /// and S3 (`blobs.url`).
    #[schemars(extend("x-shown" = "address"))]
    nats: TextList,
    /// User at the NATS servers.
    #[schemars(extend("x-shown" = true))]
    user: Option<String>,
    /// Password of the user: `env:NAME`, `file:PATH` or the password itself.
    password: Option<String>,
    /// Token at the NATS servers, instead of user and password: `env:NAME`, `file:PATH` or the
    /// token itself.
    token: Option<String>,
    /// File of CA certificates (PEM) to trust at the NATS servers instead of the system's. With
    /// it, connections without TLS are refused.
    #[serde(deserialize_with = "super::paths::deserialize")]
    #[schemars(extend("x-shown" = true))]
    tls_ca: Option<PathBuf>,
    /// Name of this gateway, which no other has: letters, digits, `_` and `-`.
    #[schemars(extend("x-shown" = true, "x-default" = "the host's name and a random text"))]
    gateway: Option<String>,
    /// Start of the subjects of all messages. Clusters that share NATS servers need different
    /// ones.
    #[schemars(extend("x-shown" = true))]
    namespace: String,
    /// How long a command waits for a worker that has room for it.
    worker_wait: DurationSetting,
}

impl Default for ClusterToml {
    fn default() -> Self {
        ClusterToml {
            nats: TextList::default(),
            user: None,
            password: None,
            token: None,
            tls_ca: None,
            gateway: None,
            namespace: "prowess".to_owned(),
            worker_wait: DurationSetting::from_secs(30),
        }
    }
}

/// The checked settings of a cluster.
#[derive(Debug, Clone)]
pub struct ClusterConfig {
    /// Addresses of NATS servers, which may contain passwords.
    pub servers: Vec<SecretText>,
    /// User at the servers, always with a password.
    pub user: Option<String>,
    /// Password of the user.
    pub password: Option<SecretText>,
    /// Token at the servers.
    pub token: Option<SecretText>,
    /// File of the CA certificates to trust.
    pub tls_ca: Option<PathBuf>,
    /// Name of this gateway, if it is configured.
    pub gateway: Option<String>,
    /// Start of the subjects of all messages.
    pub namespace: String,
    /// How long a command waits for a worker.
    pub worker_wait: Duration,
}

impl ClusterConfig {
    /// The defaults, without servers.
    #[cfg(feature = "cluster")]
    pub(crate) fn with_defaults() -> Self {
        let raw = ClusterToml::default();
        ClusterConfig {
            servers: Vec::new(),
            user: None,
            password: None,
            token: None,
            tls_ca: None,
            gateway: None,
            namespace: raw.namespace,
            worker_wait: raw.worker_wait.get(),
        }
    }
}
