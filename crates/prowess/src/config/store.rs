//! `[store]`: the database.

use std::path::PathBuf;

use prowess_store::{StorageLimits, StoreConfig};
use schemars::JsonSchema;
use serde::Deserialize;

use super::blobs;
use super::error::ConfigError;
use super::overrides::ConfigOverrides;

pub(super) const KEYS: &[&str] = &[
    "url",
    "tenant_bytes",
    "tenant_files",
    "tenant_skills",
    "tenant_versions",
    "tenant_keys",
    "reserve_bytes",
    "accept_empty",
];

const DEFAULT_TENANT_BYTES: u64 = 10 << 30;
const DEFAULT_TENANT_FILES: u64 = 100_000;
const DEFAULT_TENANT_SKILLS: u64 = 10_000;
const DEFAULT_TENANT_VERSIONS: u64 = 100_000;
const DEFAULT_TENANT_KEYS: u64 = 10_000;
const DEFAULT_RESERVE_BYTES: u64 = 64 << 20;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Store")]
pub(super) struct StoreToml {
    /// `sqlite`, or `postgres://…`; `env:NAME` or `file:PATH` keeps the password out of this
    /// file.
    url: Option<String>,
    /// Maximum bytes of a tenant's files and skills, with all versions; default 10 GiB, 0 for
    /// no limit.
    tenant_bytes: Option<u64>,
    /// Maximum files of a tenant, including those that runs created; default 100000, 0 for no
    /// limit.
    tenant_files: Option<u64>,
    /// Maximum skills of a tenant; default 10000, 0 for no limit.
    tenant_skills: Option<u64>,
    /// Maximum skill versions of a tenant; default 100000, 0 for no limit.
    tenant_versions: Option<u64>,
    /// Maximum keys of a tenant that are not revoked; default 10000, 0 for no limit.
    tenant_keys: Option<u64>,
    /// Uploads are refused while fewer bytes than this are free on the disk, so that deletions
    /// and usage can always be written; default 64 MiB, 0 for no reserve.
    reserve_bytes: Option<u64>,
    /// Start with an empty database although blobs of an earlier one exist. Otherwise the
    /// server refuses to start, because their skills and files would be lost silently.
    accept_empty: bool,
}

pub(super) fn check(
    raw: &StoreToml,
    blobs: &blobs::BlobsToml,
    data_dir: PathBuf,
    overrides: &ConfigOverrides,
) -> Result<StoreConfig, ConfigError> {
    let mut config = StoreConfig::local(data_dir);
    if let Some(url) = overrides.store_url.as_ref().or(raw.url.as_ref()) {
        let url = super::secret::resolve("store.url", url)?;
        url.expose().clone_into(&mut config.database);
    }
    let limit = |set: Option<u64>, default| Some(set.unwrap_or(default)).filter(|most| *most > 0);
    config.limits = StorageLimits {
        bytes: limit(raw.tenant_bytes, DEFAULT_TENANT_BYTES),
        files: limit(raw.tenant_files, DEFAULT_TENANT_FILES),
        skills: limit(raw.tenant_skills, DEFAULT_TENANT_SKILLS),
        versions: limit(raw.tenant_versions, DEFAULT_TENANT_VERSIONS),
        keys: limit(raw.tenant_keys, DEFAULT_TENANT_KEYS),
    };
    config.reserve_bytes = raw.reserve_bytes.unwrap_or(DEFAULT_RESERVE_BYTES);
    config.accept_empty = raw.accept_empty;
    blobs::apply(blobs, &mut config)?;
    Ok(config)
}
