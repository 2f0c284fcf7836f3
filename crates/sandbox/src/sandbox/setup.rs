//! What a container was set up with.

use super::Sandbox;
use crate::backend::run_blocking;
use crate::container_spec::ContainerSetup;
use crate::error::Error;

impl Sandbox {
    /// What a container was set up with.
    ///
    /// # Errors
    /// When the container does not exist.
    pub async fn container_setup(&self, owner: &str, id: &str) -> Result<ContainerSetup, Error> {
        self.with_container(owner, id, |held| {
            Ok(ContainerSetup {
                policy: held.meta.policy.clone(),
                uploads: held.meta.uploads.clone(),
            })
        })
        .await
    }

    /// Records that client files, given as (id, path), were copied into a container.
    ///
    /// # Errors
    /// When the container does not exist.
    pub async fn add_upload_records(
        &self,
        owner: &str,
        id: &str,
        uploads: Vec<(String, String)>,
    ) -> Result<(), Error> {
        if uploads.is_empty() {
            return Ok(());
        }
        let mut held = self.inner.containers.acquire(owner, id).await?;
        run_blocking(move || {
            for (source, path) in &uploads {
                held.meta.add_upload(source, path);
            }
            held.touch()
        })
        .await
    }
}
