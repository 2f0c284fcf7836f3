//! The configuration of a server, read again.

use reqwest::Method;
use serde::{Deserialize, Serialize};

use crate::connection::{Client, read_json};
use crate::error::Error;

/// The configuration that a server uses since it was read again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteReload {
    /// Its number, counted from 1, which is that with which the server began.
    pub generation: u64,
    /// When it was read.
    pub read_at: String,
    /// Where the server read it.
    pub source: String,
    /// The first settings that were written differently before.
    pub changed: Vec<String>,
    /// How many there are.
    pub changed_count: usize,
}

impl Client {
    /// Makes the server read its configuration again, with the master key. What is in progress
    /// goes on with the one it has.
    ///
    /// # Errors
    /// When the configuration is not valid or needs a restart, so that nothing has changed; when
    /// the server cannot be reached, or refuses.
    pub async fn reload_configuration(&self) -> Result<RemoteReload, Error> {
        let request = self.request(Method::POST, "/admin/reload");
        read_json(self.send(request).await?).await
    }
}
