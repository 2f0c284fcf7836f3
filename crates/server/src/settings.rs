//! Settings of the server.

use std::time::Duration;

use prowess_engine::{EngineSettings, SandboxHandle};
use prowess_provider::{AnthropicAccount, Providers};
use prowess_skill::BundleLimits;
use prowess_store::TenantId;
use serde_json::Value;

use crate::batches::settings::BatchSettings;
use crate::cluster::membership::ClusterMembership;
use crate::secret::SecretString;
use crate::telemetry::settings::TelemetrySettings;
use crate::webhooks::settings::WebhookSettings;

/// The settings for serving requests.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// The key with all permissions. Without one, anyone who can connect has them; the server
    /// must then listen on loopback only, and accepts only loopback host names.
    pub master_key: Option<SecretString>,
    /// The tenant whose skills the public discovery index lists; none by default.
    pub index_tenant: Option<TenantId>,
    /// Where requests for `/v1/skills` go by default.
    pub skills_location: SkillsLocation,
    /// Labels of skills that only keys with the scope `release` may move or delete.
    pub protected_labels: Vec<String>,
    /// From which hosts skills may be imported by URL.
    pub import_hosts: ImportHosts,
    /// The account for requests to Anthropic's skills API.
    pub anthropic: Option<AnthropicAccount>,
    /// The model providers and routes; none by default.
    pub providers: Option<Providers>,
    /// Settings of skill runs.
    pub runs: EngineSettings,
    /// The sandbox; none by default.
    pub sandbox: SandboxHandle,
    /// Maximum bytes of a call to a model.
    pub request_bytes: usize,
    /// Upstream silence before a translated stream sends a keep-alive ping.
    pub ping_interval: Option<Duration>,
    /// How long stored responses, conversations and chat completions are kept.
    pub response_retention: Duration,
    /// Whether `/v1/models` also lists the providers' own models.
    pub upstream_models: bool,
    /// Where traces are sent; nowhere by default.
    pub telemetry: Option<TelemetrySettings>,
    /// Which webhooks announce the end of runs; none by default.
    pub webhooks: WebhookSettings,
    /// Limits of batches.
    pub batches: BatchSettings,
    /// The configuration as it was read, without secrets, for its owner to see.
    pub configuration: Value,
    /// Limits on an uploaded skill.
    pub skill_limits: BundleLimits,
    /// Maximum bytes of an uploaded file.
    pub file_bytes: u64,
    /// Concurrent skill uploads, of which a tenant may have half; more wait. Four times as
    /// many files may be uploaded at once, and as many skills downloaded.
    pub uploads: usize,
    /// How long an upload or download waits for a permit.
    pub upload_wait: Duration,
    /// How long a body may be without data.
    pub idle: Duration,
    /// How long a body may arrive at any rate.
    pub body_grace: Duration,
    /// Minimum bytes per second of a body in each half minute after that; 0 for any.
    pub min_body_rate: u64,
    /// Bytes of request bodies in memory, of which a tenant may have half.
    pub body_bytes_in_flight: usize,
    /// Concurrent requests of a tenant's keys. The operator has no limit.
    pub requests_per_tenant: usize,
    /// How long a body waits for others to release memory.
    pub body_wait: Duration,
    /// The cluster that the server is a gateway of; none by default. A reload keeps the one that
    /// the server began with.
    pub cluster: Option<ClusterMembership>,
}

impl Default for ServerSettings {
    fn default() -> Self {
        ServerSettings {
            master_key: None,
            index_tenant: None,
            skills_location: SkillsLocation::Store,
            protected_labels: vec!["production".to_owned()],
            import_hosts: ImportHosts::Public,
            anthropic: None,
            providers: None,
            runs: EngineSettings::default(),
            sandbox: SandboxHandle::default(),
            request_bytes: 32 << 20,
            ping_interval: Some(Duration::from_secs(15)),
            response_retention: Duration::from_secs(30 * 24 * 3_600),
            upstream_models: false,
            telemetry: None,
            webhooks: WebhookSettings::default(),
            batches: BatchSettings::default(),
            configuration: Value::Null,
            skill_limits: BundleLimits::default(),
            file_bytes: 500_000_000,
            uploads: 16,
            upload_wait: Duration::from_secs(60),
            idle: Duration::from_secs(60),
            body_grace: Duration::from_secs(30),
            min_body_rate: 4 << 10,
            body_bytes_in_flight: 512 << 20,
            requests_per_tenant: 2_048,
            body_wait: Duration::from_secs(5),
            cluster: None,
        }
    }
}

impl ServerSettings {
    /// The settings of runs. Their steps become spans if there is telemetry.
    pub(crate) fn engine_settings(&self) -> EngineSettings {
        EngineSettings {
            spans: self.telemetry.is_some(),
            ..self.runs.clone()
        }
    }
}

/// From which hosts skills may be imported by URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImportHosts {
    /// From none: such requests are refused.
    None,
    /// From hosts on the public internet.
    #[default]
    Public,
    /// From hosts in private networks and on this machine too. Cloud metadata addresses stay
    /// blocked.
    Private,
}

/// Which skills a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SkillsLocation {
    /// Those in the store.
    #[default]
    Store,
    /// Those of an account at Anthropic.
    Anthropic,
}
