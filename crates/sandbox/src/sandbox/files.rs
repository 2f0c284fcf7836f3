//! A session's files, for its owner.

use super::Sandbox;
use crate::backend::blocking;
use crate::error::Error;
use crate::session::{self, FileInfo, Held};
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
        let mut held = self.inner.sessions.hold(owner, id).await?;
        let (inner, path) = (Arc::clone(&self.inner), path.to_owned());
        blocking(move || {
            let (data, allowed) = (held.data(), held.meta.policy.limits.data_bytes);
            let owner = inner.sessions.owner_id(held.meta.host_id);
            session::put(&data, &path, &bytes, owner, allowed)?;
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
        self.with(owner, id, move |held| session::open(&held.data(), &path))
            .await
    }

    /// Removes a file of a session.
    ///
    /// # Errors
    /// [`Error::NoFile`] when it is not there or not a regular file.
    pub async fn unlink(&self, owner: &str, id: &str, path: &str) -> Result<(), Error> {
        let mut held = self.inner.sessions.hold(owner, id).await?;
        let path = path.to_owned();
        blocking(move || {
            session::remove(&held.data(), &path)?;
            held.save()
        })
        .await
    }

    /// The files of a session.
    ///
    /// # Errors
    /// When there is no such session.
    pub async fn list(&self, owner: &str, id: &str) -> Result<Vec<FileInfo>, Error> {
        self.with(owner, id, |held| session::list(&held.data()))
            .await
    }

    pub(super) async fn with<T: Send + 'static>(
        &self,
        owner: &str,
        id: &str,
        work: impl FnOnce(&Held) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let held = self.inner.sessions.hold(owner, id).await?;
        blocking(move || work(&held)).await
    }
}
