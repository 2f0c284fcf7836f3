//! What the server must be told before it can answer.

use std::time::Duration;

use prowess_engine::{EngineSettings as Runs, SandboxHandle};
use prowess_provider::{KeySource, Providers};
use prowess_skill::BundleLimits;
use prowess_store::TenantId;

use crate::secret::SecretString;

/// Everything that is configured about answering requests.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// The key that may do everything. Without one, whoever reaches the server may;
    /// it must then listen on loopback only, and answers only to loopback names.
    pub master_key: Option<SecretString>,
    /// The tenant whose skills the public discovery index shows; none by default.
    pub index_tenant: Option<TenantId>,
    /// Where `/v1/skills` leads when a request does not say.
    pub skills_location: SkillsLocation,
    /// The account for requests that are for Anthropic's own skills.
    pub anthropic: Option<AnthropicAccount>,
    /// The models on offer, and the ways to them; none by default.
    pub providers: Option<Providers>,
    /// How requests that name skills are run.
    pub runs: Runs,
    /// The way to the sandbox; none by default.
    pub sandbox: SandboxHandle,
    /// Bytes of a request to a model.
    pub request_bytes: usize,
    /// After how long a silence of a model a translated stream gives a sign of life.
    pub ping_interval: Option<Duration>,
    /// How long answers of `/v1/responses` are kept.
    pub response_retention: Duration,
    /// Whether `/v1/models` also shows what the providers list themselves.
    pub upstream_models: bool,
    /// Where traces go; nowhere by default.
    pub telemetry: Option<TelemetrySettings>,
    /// Bounds on an uploaded skill.
    pub skill_limits: BundleLimits,
    /// Bytes of an uploaded file.
    pub file_bytes: u64,
    /// Skill uploads in memory at once, of which a tenant has half; more wait their turn.
    /// Four times as many files may be uploaded at once, and as many skills fetched.
    pub uploads: usize,
    /// How long an upload or download waits for its turn.
    pub upload_wait: Duration,
    /// How long a body may stand still.
    pub idle: Duration,
    /// How long a body may come at any rate.
    pub body_grace: Duration,
    /// Bytes a second that a body must come at in each half minute after that; 0 for any.
    pub min_body_rate: u64,
    /// Bytes of request bodies in memory at once, of which a tenant has half.
    pub body_bytes_in_flight: usize,
    /// Requests with a key that a tenant may have under way at once. The server's owner may
    /// have any number.
    pub requests_per_tenant: usize,
    /// How long a body waits for others to leave it room.
    pub body_wait: Duration,
}

impl Default for ServerSettings {
    fn default() -> Self {
        ServerSettings {
            master_key: None,
            index_tenant: None,
            skills_location: SkillsLocation::Store,
            anthropic: None,
            providers: None,
            runs: Runs::default(),
            sandbox: SandboxHandle::default(),
            request_bytes: 32 << 20,
            ping_interval: Some(Duration::from_secs(15)),
            response_retention: Duration::from_secs(30 * 24 * 3_600),
            upstream_models: false,
            telemetry: None,
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
        }
    }
}

/// A collector of traces that speaks OTLP over HTTP.
#[derive(Debug, Clone)]
pub struct TelemetrySettings {
    /// The whole address, `/v1/traces` included.
    pub endpoint: String,
    /// Headers sent along, such as a key.
    pub headers: Vec<(String, String)>,
    /// What this server is called in traces.
    pub service: String,
}

/// Whose skills a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SkillsLocation {
    /// Those in our store.
    #[default]
    Store,
    /// Those in an account at Anthropic.
    Anthropic,
}

/// An account at Anthropic.
#[derive(Debug, Clone)]
pub struct AnthropicAccount {
    /// The base URL, without `/v1`.
    pub base_url: String,
    /// Where the account's key is.
    pub api_key: KeySource,
}
