//! The file as written: its sections. Each is defined in the module of its name.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::audit::AuditToml;
use super::batches::BatchesToml;
use super::blobs::BlobsToml;
use super::cluster::ClusterToml;
use super::models::ModelToml;
use super::providers::ProviderToml;
use super::runs::RunsToml;
use super::sandbox::SandboxToml;
use super::server::ServerToml;
use super::skills::SkillsToml;
use super::store::StoreToml;
use super::telemetry::TelemetryToml;
use super::webhooks::WebhooksToml;
use super::worker::WorkerToml;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "prowess.toml", description = "The configuration of Prowess.")]
pub(super) struct ConfigToml {
    /// The HTTP server, and the data directory.
    pub(super) server: ServerToml,
    /// The database, and what tenants may store.
    pub(super) store: StoreToml,
    /// Where the content of files and skills is stored.
    pub(super) blobs: BlobsToml,
    /// Where and within what bounds commands run.
    pub(super) sandbox: SandboxToml,
    /// Accounts of model vendors, each with a name of its own; providers.md describes each kind.
    pub(super) providers: BTreeMap<String, ProviderToml>,
    /// Model names and their targets.
    pub(super) models: Vec<ModelToml>,
    /// How requests that name skills are run, and how skills are released.
    pub(super) skills: SkillsToml,
    /// Runs that go on without their client.
    pub(super) runs: RunsToml,
    /// Export of traces.
    pub(super) telemetry: TelemetryToml,
    /// Who is notified of the end of runs.
    pub(super) webhooks: WebhooksToml,
    /// Many requests to models that are run within a day.
    pub(super) batches: BatchesToml,
    /// The audit log.
    pub(super) audit: AuditToml,
    /// Many servers, and workers that run their commands.
    pub(super) cluster: ClusterToml,
    /// A worker of a cluster: `prowess worker`.
    pub(super) worker: WorkerToml,
}
