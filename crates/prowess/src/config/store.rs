//! `[store]`: the database.

use std::path::PathBuf;

use prowess_store::{StorageLimits, StoreConfig};
use schemars::JsonSchema;
use serde::Deserialize;

use super::blobs;
use super::error::ConfigError;
use super::overrides::ConfigOverrides;
use super::values::BytesSetting;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Store")]
pub(super) struct StoreToml {
    /// `sqlite`, or `postgres://…`; `env:NAME` or `file:PATH` keeps the password out of this
    /// file.
    #[schemars(extend("x-shown" = "address"))]
    url: String,
    /// Maximum size of a tenant's files, of its skills with all versions, and of its kept runs; 0
    /// for no limit.
    #[schemars(extend("x-old-names" = ["tenant_bytes"]))]
    tenant_size: BytesSetting,
    /// Maximum files of a tenant, including those that runs created; 0 for no limit.
    tenant_files: u64,
    /// Maximum skills of a tenant; 0 for no limit.
    tenant_skills: u64,
    /// Maximum skill versions of a tenant; 0 for no limit.
    tenant_versions: u64,
    /// Maximum keys of a tenant that are not revoked; 0 for no limit.
    tenant_keys: u64,
    /// Maximum changes per hour in the audit log by the keys of a tenant on each server, and as many
    /// cancellations; 0 for no limit.
    tenant_changes: u32,
    /// Uploads are refused while less than this is free on the disk, so that deletions and
    /// usage can always be written; 0 for no reserve.
    #[schemars(extend("x-old-names" = ["reserve_bytes"]))]
    disk_reserve: BytesSetting,
    /// Start with an empty database although blobs of an earlier one exist. Otherwise the
    /// server refuses to start, because their skills and files would be lost silently.
    accept_empty: bool,
}

impl Default for StoreToml {
    fn default() -> Self {
        StoreToml {
            url: "sqlite".to_owned(),
            tenant_size: BytesSetting::new(10 << 30),
            tenant_files: 100_000,
            tenant_skills: 10_000,
            tenant_versions: 100_000,
            tenant_keys: 10_000,
            tenant_changes: 100_000,
            disk_reserve: BytesSetting::new(64 << 20),
            accept_empty: false,
        }
    }
}

pub(super) fn check(
    raw: &StoreToml,
    blobs: &blobs::BlobsToml,
    data_dir: PathBuf,
    overrides: &ConfigOverrides,
) -> Result<StoreConfig, ConfigError> {
    let mut config = StoreConfig::local(data_dir);
    let url = overrides.store_url.as_ref().unwrap_or(&raw.url);
    let url = super::secret::resolve("store.url", url)?;
    url.expose().clone_into(&mut config.database);
    let limit = |most: u64| Some(most).filter(|most| *most > 0);
    config.limits = StorageLimits {
        bytes: raw.tenant_size.unless_zero(),
        files: limit(raw.tenant_files),
        skills: limit(raw.tenant_skills),
        versions: limit(raw.tenant_versions),
        keys: limit(raw.tenant_keys),
    };
    config.changes_per_hour = match raw.tenant_changes {
        0 => u32::MAX,
        most => most,
    };
    config.reserve_bytes = raw.disk_reserve.get();
    config.accept_empty = raw.accept_empty;
    blobs::apply(blobs, &mut config)?;
    Ok(config)
}
