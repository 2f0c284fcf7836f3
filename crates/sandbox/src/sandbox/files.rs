//! A session's files, for its owner.

use super::Sandbox;
use crate::backend::run_blocking;
use crate::container::{self, ContainerGuard, FileInfo};
use crate::error::Error;
use std::fs::File;
use std::sync::Arc;

impl Sandbox {
    /// Writes a file into a session.
    ///
    /// # Errors
    /// When the path is not one, or the session cannot hold it.
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

    /// Writes a file of the client's into a session, in place of whatever has its name,
    /// and remembers that it was put there.
    ///
    /// # Errors
    /// When the path is not one, or the session cannot hold it.
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

    /// Whether a file of the client's was put into a session before and its name is
    /// still in use there: what code made of it since is then not to be replaced.
    ///
    /// # Errors
    /// When there is no such session.
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

    /// Remembers in one session the client's files that were put into another.
    ///
    /// # Errors
    /// When one of them is not there.
    pub async fn copy_uploads(&self, owner: &str, from: &str, to: &str) -> Result<(), Error> {
        let uploads = self
            .with_container(owner, from, |held| Ok(held.meta.uploads.clone()))
            .await?;
        if uploads.is_empty() {
            return Ok(());
        }
        let mut held = self.inner.containers.acquire(owner, to).await?;
        run_blocking(move || {
            for (source, path) in &uploads {
                held.meta.add_upload(source, path);
            }
            held.touch()
        })
        .await
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

    /// Opens a file of a session for reading.
    ///
    /// # Errors
    /// [`Error::NoFile`] when it is not there or not a regular file.
    pub async fn get(&self, owner: &str, id: &str, path: &str) -> Result<File, Error> {
        let path = path.to_owned();
        self.with_container(owner, id, move |held| container::open(&held.data(), &path))
            .await
    }

    /// Removes a file of a session.
    ///
    /// # Errors
    /// [`Error::NoFile`] when it is not there or not a regular file.
    pub async fn unlink(&self, owner: &str, id: &str, path: &str) -> Result<(), Error> {
        let mut held = self.inner.containers.acquire(owner, id).await?;
        let path = path.to_owned();
        run_blocking(move || {
            container::remove(&held.data(), &path)?;
            held.save()
        })
        .await
    }

    /// The files of a session.
    ///
    /// # Errors
    /// When there is no such session.
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
