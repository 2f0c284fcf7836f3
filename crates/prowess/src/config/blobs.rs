//! `[blobs]`: where content is kept.

use std::collections::BTreeMap;

use prowess_store::StoreConfig;
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) const KEYS: &[&str] = &["url", "options", "inline_bytes"];

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Blobs")]
pub(super) struct BlobsToml {
    /// `local`, or the URL of an object store: `s3://bucket/prefix`.
    url: Option<String>,
    /// Settings of the object store, as its environment variables are called.
    options: BTreeMap<String, String>,
    /// Content up to this many bytes is kept with the rows.
    inline_bytes: Option<usize>,
}

pub(super) fn apply(raw: &BlobsToml, config: &mut StoreConfig) {
    if let Some(url) = &raw.url {
        config.blobs.clone_from(url);
    }
    if let Some(bytes) = raw.inline_bytes {
        config.inline_bytes = bytes;
    }
    let options = raw.options.iter();
    config.blob_options = options.map(|(k, v)| (k.clone(), v.clone())).collect();
}
