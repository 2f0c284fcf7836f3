//! Storage of large content: a local folder or any object store.
//!
//! Handles places and bytes only, not digests, rows or references.

use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, ObjectStoreScheme, WriteMultipart};
use url::Url;

use super::bucket::{self, OpenedStore};
use super::url_signer::{UrlSigner, UrlUse};
use crate::disk_space;
use crate::error::{Error, Result};
use crate::id::{self, IdPrefix};

/// Objects listed when looking for one of Prowess's: a shared bucket may contain any
/// number.
const MAX_LISTED_OBJECTS: usize = 50_000;
/// How the library reports the status of a refusal.
const REFUSAL_MESSAGES: [&str; 2] = [
    "Server returned non-2xx status code: 401",
    "Server returned non-2xx status code: 403",
];

/// An object store, and the prefix of Prowess's objects in it.
pub(crate) struct ObjectStorage {
    objects: Arc<dyn ObjectStore>,
    prefix: Path,
    /// The folder, if the storage is a local one.
    folder: Option<PathBuf>,
    /// What signs URLs, if the object store can.
    signer: Option<UrlSigner>,
}

impl ObjectStorage {
    /// Opens a folder, creating it if missing. Objects are written to a temporary file,
    /// synced and renamed, so that none is ever visible half written.
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
            signer: None,
        })
    }

    /// Opens an object store by its URL.
    pub(crate) fn open_url(url: &str, options: &[(String, String)]) -> Result<Self> {
        let config = |reason: String| Error::Config {
            setting: "blobs.url",
            reason: format!("cannot use `{url}`: {reason}"),
        };
        let parsed = Url::parse(url).map_err(|error| config(error.to_string()))?;
        let (opened, prefix) = open_object_store(&parsed, options).map_err(config)?;
        Ok(ObjectStorage {
            objects: opened.objects,
            prefix,
            folder: None,
            signer: opened.signer,
        })
    }

    /// Whether it contains any of Prowess's objects. A bucket may be shared, and
    /// permission to read and write its objects need not include listing them: in that
    /// case the answer is unknown and counts as no.
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

    /// Whether an object's path has the form that [`ObjectStorage::path`] creates.
    fn is_ours(&self, path: &Path) -> bool {
        let name = path.filename().unwrap_or_default();
        id::is_id(IdPrefix::Blob, name) && *path == self.path(name)
    }

    /// Whether a folder accepts a file, or an object store responds. Nothing is written
    /// to an object store, as that is billed. Without permission to list, a missing
    /// object is reported as a refusal, so a refusal counts as a response.
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

    /// Restores the reason of a failed write that was lost, for example during cleanup.
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

    /// Objects are distributed by the end of their place, which is random; its start is
    /// the time and would put a day's objects into one folder.
    fn path(&self, place: &str) -> Path {
        let shard = place.get(place.len().saturating_sub(2)..).unwrap_or(place);
        self.prefix.clone().join(shard).join(place)
    }

    pub(crate) async fn put(&self, place: &str, data: Bytes) -> Result<()> {
        self.objects.put(&self.path(place), data.into()).await?;
        Ok(())
    }

    /// Starts an upload of unknown size.
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

    /// The size of an object; `None` if there is none.
    pub(crate) async fn size(&self, place: &str) -> Result<Option<u64>> {
        match self.objects.head(&self.path(place)).await {
            Ok(found) => Ok(Some(found.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            // Without permission to list, a missing object is reported as a refusal.
            Err(error) if is_refusal(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Copies an object inside the storage.
    pub(crate) async fn copy(&self, from: &str, to: &str) -> Result<()> {
        let copied = self.objects.copy(&self.path(from), &self.path(to)).await;
        Ok(copied?)
    }

    /// Whether it can sign URLs.
    pub(crate) fn can_sign(&self) -> bool {
        self.signer.is_some()
    }

    /// A URL for reading an object.
    pub(crate) async fn sign_get(&self, place: &str, ttl: Duration) -> Result<String> {
        self.sign(UrlUse::Read, place, ttl).await
    }

    /// A URL for writing an object.
    pub(crate) async fn sign_put(&self, place: &str, ttl: Duration) -> Result<String> {
        self.sign(UrlUse::Write, place, ttl).await
    }

    async fn sign(&self, permitted: UrlUse, place: &str, ttl: Duration) -> Result<String> {
        let signer = self.signer.as_ref().ok_or_else(|| self.unsigned_error())?;
        Ok(signer.sign(permitted, &self.path(place), ttl).await?)
    }

    /// Why something cannot be done without signed URLs.
    pub(crate) fn unsigned_error(&self) -> Error {
        Error::Config {
            setting: "blobs.url",
            reason: "this storage cannot sign URLs for workers; use an object store with S3's API"
                .to_owned(),
        }
    }

    /// Deletes an object and whatever a failed write has left of it. A missing object is
    /// not an error.
    pub(crate) async fn delete(&self, place: &str) -> Result<()> {
        self.remove_unfinished(place).await?;
        match self.objects.delete(&self.path(place)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// A process that dies while writing to a folder leaves the temporary file, with the
    /// object's name and a number as suffix.
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

/// Whether an object store responded with a refusal. For a list the library reports this
/// only as text, and its types with the status are private.
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

/// An object store by its URL, and the prefix in it.
fn open_object_store(
    url: &Url,
    options: &[(String, String)],
) -> std::result::Result<(OpenedStore, Path), String> {
    let (scheme, prefix) = ObjectStoreScheme::parse(url).map_err(|error| error.to_string())?;
    if scheme == ObjectStoreScheme::AmazonS3 {
        return Ok((bucket::open(url, options)?, prefix));
    }
    let options = options.iter().map(|(name, value)| (name, value));
    let opened = object_store::parse_url_opts(url, options);
    let (objects, prefix) = opened.map_err(|error| error.to_string())?;
    let opened = OpenedStore {
        objects: objects.into(),
        signer: None,
    };
    Ok((opened, prefix))
}
