//! `[blobs]`: where content is stored.

use std::collections::BTreeMap;

use prowess_store::StoreConfig;
use schemars::JsonSchema;
use serde::Deserialize;

use super::error::ConfigError;
use super::secret;
use super::values::BytesSetting;

const OPTIONS_SETTING: &str = "blobs.options";
const OPTION_PREFIX: &str = "aws_";

/// Names of options, without their prefix. The client of the store knows more names; those
/// are other spellings of these, or have no effect on what a store does with a bucket.
const OPTION_NAMES: &[&str] = &[
    "access_key_id",
    "secret_access_key",
    "session_token",
    "region",
    "default_region",
    "endpoint",
    "endpoint_url",
    "endpoint_url_s3",
    "allow_http",
    "allow_invalid_certificates",
    "virtual_hosted_style_request",
    "s3_express",
    "skip_signature",
    "unsigned_payload",
    "checksum_algorithm",
    "request_payer",
    "disable_bulk_delete",
    "server_side_encryption",
    "sse_kms_key_id",
    "sse_bucket_key_enabled",
    "sse_customer_key_base64",
    "role_arn",
    "role_session_name",
    "web_identity_token_file",
    "endpoint_url_sts",
    "container_credentials_relative_uri",
    "container_credentials_full_uri",
    "container_authorization_token_file",
    "metadata_endpoint",
    "imdsv1_fallback",
    "timeout",
    "connect_timeout",
    "read_timeout",
    "pool_idle_timeout",
    "pool_max_idle_per_host",
    "http1_only",
    "http2_only",
    "proxy_url",
    "proxy_ca_certificate",
    "proxy_excludes",
    "user_agent",
];

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Blobs")]
pub(super) struct BlobsToml {
    /// `local`, or the URL of an object store: `s3://bucket/prefix`.
    #[schemars(extend("x-shown" = "address"))]
    url: String,
    /// Options of the object store, named like its environment variables in lower case:
    /// `aws_region`. A value may be `env:NAME` or `file:PATH`, which keeps keys out of this
    /// file.
    options: BTreeMap<String, String>,
    /// Content of up to this size is stored in the database.
    #[schemars(extend("x-old-names" = ["inline_bytes"]))]
    inline_size: BytesSetting,
}

impl Default for BlobsToml {
    fn default() -> Self {
        BlobsToml {
            url: "local".to_owned(),
            options: BTreeMap::new(),
            inline_size: BytesSetting::new(64 << 10),
        }
    }
}

pub(super) fn apply(raw: &BlobsToml, config: &mut StoreConfig) -> Result<(), ConfigError> {
    config.blobs.clone_from(&raw.url);
    config.inline_bytes = raw.inline_size.in_memory();
    let options = raw.options.iter();
    let options = options.map(|(name, value)| Ok((option_name(name)?, option_value(name, value)?)));
    config.blob_options = options.collect::<Result<_, ConfigError>>()?;
    Ok(())
}

/// An option's full name, which may be written without the prefix.
fn option_name(written: &str) -> Result<String, ConfigError> {
    let name = written.to_ascii_lowercase();
    let name = name.strip_prefix(OPTION_PREFIX).unwrap_or(&name);
    if !OPTION_NAMES.contains(&name) {
        let known = OPTION_NAMES.iter();
        let known: Vec<_> = known.map(|name| format!("{OPTION_PREFIX}{name}")).collect();
        let reason = format!(
            "`{written}` is not an option; available: {}",
            known.join(", ")
        );
        return Err(ConfigError::invalid(OPTIONS_SETTING, reason));
    }
    Ok(format!("{OPTION_PREFIX}{name}"))
}

fn option_value(name: &str, written: &str) -> Result<String, ConfigError> {
    let value = secret::resolve(OPTIONS_SETTING, written)?;
    if value.expose().is_empty() {
        return Err(ConfigError::invalid(
            OPTIONS_SETTING,
            format!("the value of `{name}` is empty"),
        ));
    }
    Ok(value.expose().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_options(text: &str) -> Result<Vec<(String, String)>, ConfigError> {
        let raw: BlobsToml = toml::from_str(&format!("[options]\n{text}")).unwrap();
        let mut config = StoreConfig::local("/data");
        apply(&raw, &mut config)?;
        Ok(config.blob_options)
    }

    #[test]
    fn values_are_read_from_the_places_they_name() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("secret");
        std::fs::write(&file, "from-a-file\n").unwrap();
        let text = format!(
            "region = 'eu'\nAWS_ACCESS_KEY_ID = 'env:CARGO_MANIFEST_DIR'\n\
             aws_secret_access_key = 'file:{}'\n",
            file.display()
        );
        let mut options = read_options(&text).unwrap();
        options.sort();
        let expected = [
            ("aws_access_key_id", env!("CARGO_MANIFEST_DIR")),
            ("aws_region", "eu"),
            ("aws_secret_access_key", "from-a-file"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(options, expected);
    }

    #[test]
    fn an_unknown_option_is_refused_with_all_that_are_known() {
        let message = read_options("aws_regoin = 'eu'").unwrap_err().to_string();
        assert!(message.starts_with("blobs.options: `aws_regoin` is not an option; available: "));
        for name in OPTION_NAMES {
            assert!(message.contains(&format!("aws_{name}")), "{message}");
        }
    }

    #[test]
    fn a_value_that_is_not_there_is_refused() {
        let missing = read_options("aws_session_token = 'env:NO_SUCH_VARIABLE'").unwrap_err();
        insta::assert_snapshot!(missing, @"blobs.options: the environment has no variable `NO_SUCH_VARIABLE`, or it is not text");
        let empty = read_options("aws_session_token = ''").unwrap_err();
        insta::assert_snapshot!(empty, @"blobs.options: the value of `aws_session_token` is empty");
    }
}
