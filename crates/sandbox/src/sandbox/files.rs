//! Access to a container's files for its owner.

use super::Sandbox;
use crate::backend::run_blocking;
use crate::container::{self, ContainerGuard, FileInfo};
use crate::error::Error;
use std::fs::File;
use std::sync::Arc;

impl Sandbox {
    /// Writes a file into a container.
    ///
    /// # Errors
    /// When the path is invalid, or the container's limits are exceeded.
    pub async fn put(
        &self,
        owner: &str,
        id: &str,
        path: &str,
        bytes: Vec<u8>,
    ) -> Result<(), Error> {
        let held = self.inner.containers.acquire(owner, id).await?;
        self.put_locked(held, None, path, bytes).await
    }

    /// Copies a client's file into a container, replacing any file of the same name, and
    /// records the copy.
    ///
    /// # Errors
    /// When the path is invalid, or the container's limits are exceeded.
    pub async fn upload(
        &self,
        owner: &str,
        id: &str,
        source: &str,
        path: &str,
        bytes: Vec<u8>,
    ) -> Result<(), Error> {
        let held = self.inner.containers.acquire(owner, id).await?;
        self.put_locked(held, Some(source.to_owned()), path, bytes)
            .await
    }

    /// Whether a client's file was copied into a container before and its name is still in
    /// use there: then code may have changed it, and it must not be replaced.
    ///
    /// # Errors
    /// When the container does not exist.
    pub async fn has_upload(
        &self,
        owner: &str,
        id: &str,
        source: &str,
        path: &str,
    ) -> Result<bool, Error> {
        let (source, path) = (source.to_owned(), path.to_owned());
        self.with_container(owner, id, move |held| {
            let is_known = held.meta.has_upload(&source, &path);
            Ok(is_known && container::open(&held.data(), &path).is_ok())
        })
        .await
    }

    /// Copies the records of a client's files from one container to another.
    ///
    /// # Errors
    /// When one of them does not exist.
    pub async fn copy_uploads(&self, owner: &str, from: &str, to: &str) -> Result<(), Error> {
        let uploads = self.container_setup(owner, from).await?.uploads;
        self.add_upload_records(owner, to, uploads).await
    }

    async fn put_locked(
        &self,
        mut held: ContainerGuard,
        source: Option<String>,
        path: &str,
        bytes: Vec<u8>,
    ) -> Result<(), Error> {
        let (inner, path) = (Arc::clone(&self.inner), path.to_owned());
        run_blocking(move || {
            let (data, limits) = (held.data(), held.meta.policy.limits.clone());
            let owner = inner.containers.owner_id(held.meta.host_id);
            let reserve = |requested| inner.containers.reserve_exact(&held, requested);
            let put = container::put(&data, &path, &bytes, owner, &limits, &reserve);
            inner.forget_removed();
            put?;
            if let Some(source) = source {
                held.meta.add_upload(&source, &path);
            }
            held.save()
        })
        .await
    }

    /// Opens a file of a container for reading.
    ///
    /// # Errors
    /// [`Error::FileNotFound`] when it does not exist or is not a regular file.
    pub async fn get(&self, owner: &str, id: &str, path: &str) -> Result<File, Error> {
        let path = path.to_owned();
        self.with_container(owner, id, move |held| container::open(&held.data(), &path))
            .await
    }

    /// Removes a file of a container.
    ///
    /// # Errors
    /// [`Error::FileNotFound`] when it does not exist or is not a regular file.
    pub async fn unlink(&self, owner: &str, id: &str, path: &str) -> Result<(), Error> {
        let mut held = self.inner.containers.acquire(owner, id).await?;
        let path = path.to_owned();
        run_blocking(move || {
            container::remove(&held.data(), &path)?;
            held.save()
        })
        .await
    }

    /// The files of a container.
    ///
    /// # Errors
    /// When the container does not exist.
    pub async fn list(&self, owner: &str, id: &str) -> Result<Vec<FileInfo>, Error> {
        self.with_container(owner, id, |held| container::list(&held.data()))
            .await
    }

    pub(super) async fn with_container<T: Send + 'static>(
        &self,
        owner: &str,
        id: &str,
        work: impl FnOnce(&ContainerGuard) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let held = self.inner.containers.acquire(owner, id).await?;
        run_blocking(move || work(&held)).await
    }
}
