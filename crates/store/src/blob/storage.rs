//! Where large content lies: a folder of this machine or any object store.
//!
//! Knows places and bytes, nothing of digests, rows or references.

use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, ObjectStoreScheme, RetryConfig, WriteMultipart};
use url::Url;

use crate::disk_space;
use crate::error::{Error, Result};
use crate::id::{self, IdPrefix};

/// How often, and for how long, a request to an object store is repeated.
const MAX_RETRIES: usize = 3;
const RETRY_TIMEOUT: Duration = Duration::from_secs(10);
/// Objects that are looked through for one of ours: in a bucket of others' there may be
/// any number.
const MAX_LISTED_OBJECTS: usize = 50_000;
/// How the library words the statuses of a refusal.
const REFUSAL_MESSAGES: [&str; 2] = [
    "Server returned non-2xx status code: 401",
    "Server returned non-2xx status code: 403",
];

/// An object store, and where in it our objects are.
pub(crate) struct ObjectStorage {
    objects: Arc<dyn ObjectStore>,
    prefix: Path,
    /// The folder behind it, when it is one of this machine.
    folder: Option<PathBuf>,
}

impl ObjectStorage {
    /// A folder, made if missing. Objects are written beside their place, synced
    /// and renamed, so that none is ever seen half written.
    pub(crate) fn open_folder(folder: &FilePath) -> Result<Self> {
        let config = |reason: std::io::Error| Error::Config {
            setting: "blobs.url",
            reason: format!("cannot use folder {}: {reason}", folder.display()),
        };
        std::fs::create_dir_all(folder).map_err(config)?;
        let folder = folder.canonicalize().map_err(config)?;
        let objects = LocalFileSystem::new_with_prefix(&folder)?.with_fsync(true);
        Ok(ObjectStorage {
            objects: Arc::new(objects),
            prefix: Path::default(),
            folder: Some(folder),
        })
    }

    /// An object store by its URL.
    pub(crate) fn open_url(url: &str, options: &[(String, String)]) -> Result<Self> {
        let config = |reason: String| Error::Config {
            setting: "blobs.url",
            reason: format!("cannot use `{url}`: {reason}"),
        };
        let parsed = Url::parse(url).map_err(|error| config(error.to_string()))?;
        let (objects, prefix) =
            open_object_store(&parsed, options).map_err(|error| config(error.to_string()))?;
        Ok(ObjectStorage {
            objects,
            prefix,
            folder: None,
        })
    }

    /// Whether there is any object of ours. A bucket may be shared with others, and who
    /// may read and write its objects need not be allowed to list them: then it is not
    /// known, and none counts.
    pub(crate) async fn has_objects(&self) -> Result<bool> {
        let mut found = self
            .objects
            .list(Some(&self.prefix))
            .take(MAX_LISTED_OBJECTS);
        while let Some(object) = found.next().await {
            match object {
                Ok(object) if self.is_ours(&object.location) => return Ok(true),
                Ok(_) => {}
                Err(error) if is_refusal(&error) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }

    /// Whether an object has a place as [`Storage::path`] makes them.
    fn is_ours(&self, path: &Path) -> bool {
        let name = path.filename().unwrap_or_default();
        id::is_id(IdPrefix::Blob, name) && *path == self.path(name)
    }

    /// Whether a folder takes a file, or an object store answers. Nothing is written to
    /// an object store: that is paid for. That the object which is looked for is missing
    /// is a refusal where objects may not be listed, so a refusal is an answer too.
    pub(crate) async fn probe(&self) -> Result<()> {
        if let Some(folder) = &self.folder {
            let written = disk_space::probe_folder(folder.clone()).await;
            return Ok(written.map_err(|error| object_store::Error::Generic {
                store: "folder",
                source: Box::new(error),
            })?);
        }
        match self.objects.head(&self.path("readiness")).await {
            Ok(_) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) if is_refusal(&error) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// A failed write whose reason was lost on its way, such as while clearing up.
    pub(crate) async fn explain(&self, error: Error) -> Error {
        match (&error, &self.folder) {
            (Error::BlobStorage(cause), Some(folder))
                if disk_space::is_full(folder.clone()).await =>
            {
                Error::StorageFull {
                    part: "blob storage",
                    cause: cause.to_string(),
                }
            }
            _ => error,
        }
    }

    /// Objects are spread by the end of their place, which is chance; its
    /// beginning is the time and would put a day's objects into one folder.
    fn path(&self, place: &str) -> Path {
        let shard = place.get(place.len().saturating_sub(2)..).unwrap_or(place);
        self.prefix.clone().join(shard).join(place)
    }

    pub(crate) async fn put(&self, place: &str, data: Bytes) -> Result<()> {
        self.objects.put(&self.path(place), data.into()).await?;
        Ok(())
    }

    /// Begins an object of unknown size.
    pub(crate) async fn begin_upload(&self, place: &str) -> Result<WriteMultipart> {
        let upload = self.objects.put_multipart(&self.path(place)).await?;
        Ok(WriteMultipart::new(upload))
    }

    pub(crate) async fn read(
        &self,
        place: &str,
    ) -> Result<BoxStream<'static, object_store::Result<Bytes>>> {
        let found = self.objects.get(&self.path(place)).await?;
        Ok(found.into_stream().boxed())
    }

    /// Removes an object and whatever was left of an attempt to write it. That
    /// there is none is fine.
    pub(crate) async fn delete(&self, place: &str) -> Result<()> {
        self.remove_unfinished(place).await?;
        match self.objects.delete(&self.path(place)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// A process that dies while it writes to a folder leaves the file it was
    /// writing, under the object's name with a number behind.
    async fn remove_unfinished(&self, place: &str) -> Result<()> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let file = folder.join(format!("{}#1", self.path(place)));
        match tokio::fs::remove_file(&file).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::from(object_store::Error::Generic {
                    store: "folder",
                    source: Box::new(error),
                }))
            }
            _ => Ok(()),
        }
    }
}

/// Whether an object store has answered, and that this is not allowed. For a list the
/// library says so only in words, and the types in which it has the status are its own.
fn is_refusal(error: &object_store::Error) -> bool {
    use object_store::Error::{Generic, PermissionDenied, Unauthenticated};
    match error {
        PermissionDenied { .. } | Unauthenticated { .. } => true,
        Generic { source, .. } => {
            let first: &(dyn std::error::Error + 'static) = source.as_ref();
            let mut causes = std::iter::successors(Some(first), |cause| cause.source());
            causes.any(|cause| {
                let text = cause.to_string();
                REFUSAL_MESSAGES
                    .iter()
                    .any(|refusal| text.starts_with(refusal))
            })
        }
        _ => false,
    }
}

/// An object store by its URL, and the prefix in it. S3 is opened with bounded retries:
/// by itself the library would go on for minutes before it says that a server is gone.
fn open_object_store(
    url: &Url,
    options: &[(String, String)],
) -> object_store::Result<(Arc<dyn ObjectStore>, Path)> {
    let (scheme, prefix) = ObjectStoreScheme::parse(url)?;
    if scheme != ObjectStoreScheme::AmazonS3 {
        let options = options.iter().map(|(name, value)| (name, value));
        let (objects, prefix) = object_store::parse_url_opts(url, options)?;
        return Ok((objects.into(), prefix));
    }
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
    Ok((Arc::new(builder.build()?), prefix))
}
