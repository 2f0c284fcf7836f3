//! Opens a bucket of S3, or of a server with the same API.
//!
//! A build without the feature `s3` refuses, because it has no client for it.

use std::sync::Arc;

use object_store::ObjectStore;
use url::Url;

use super::url_signer::UrlSigner;

/// An object store, and what signs its URLs, if it can.
pub(super) struct OpenedStore {
    pub(super) objects: Arc<dyn ObjectStore>,
    pub(super) signer: Option<UrlSigner>,
}

/// Opens a bucket with bounded retries: by default the library would retry for minutes
/// before it reports that a server is unreachable.
#[cfg(feature = "s3")]
pub(super) fn open(url: &Url, options: &[(String, String)]) -> Result<OpenedStore, String> {
    use std::time::Duration;

    use object_store::RetryConfig;
    use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};

    /// Retries of a request to an object store, and their time limit.
    const MAX_RETRIES: usize = 3;
    const RETRY_TIMEOUT: Duration = Duration::from_secs(10);

    let mut builder = AmazonS3Builder::new()
        .with_url(url.as_str())
        .with_retry(RetryConfig {
            max_retries: MAX_RETRIES,
            retry_timeout: RETRY_TIMEOUT,
            ..RetryConfig::default()
        });
    for (name, value) in options {
        if let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>() {
            builder = builder.with_config(key, value);
        }
    }
    let bucket = Arc::new(builder.build().map_err(|error| error.to_string())?);
    Ok(OpenedStore {
        objects: bucket.clone(),
        signer: Some(UrlSigner::new(bucket)),
    })
}

/// Refuses: this build has no client for it.
#[cfg(not(feature = "s3"))]
pub(super) fn open(_: &Url, _: &[(String, String)]) -> Result<OpenedStore, String> {
    Err("this build has no S3 support; build it with the feature `s3`, or use `local`".to_owned())
}
