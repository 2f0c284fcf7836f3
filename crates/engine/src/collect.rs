//! Files that code left behind, kept under ids that clients can fetch.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use prowess_sandbox::Output;
use prowess_store::{Error as StoreError, NewFile, Store, TenantId};
use prowess_toolbox::Workspace;

use crate::events::Made;

/// The files of a run.
#[derive(Debug, Default)]
pub(crate) struct Collection {
    pub(crate) made: Vec<Made>,
    /// The same content under the same name is one file.
    known: HashMap<(String, String), String>,
}

/// What one call left behind.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    /// Ids of all its files.
    pub(crate) ids: Vec<String>,
    /// Those among them that the run did not have yet.
    pub(crate) new: Vec<Made>,
    /// What could not be kept, and why: for the model to know.
    pub(crate) problems: Vec<String>,
}

/// Whose files they are, and how long they stay.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keeper<'a> {
    pub(crate) store: &'a Store,
    pub(crate) tenant: &'a TenantId,
    pub(crate) workspace: &'a Workspace,
    pub(crate) time: Option<Duration>,
}

impl Collection {
    pub(crate) async fn collect(&mut self, keeper: Keeper<'_>, outputs: &[Output]) -> Collected {
        let mut collected = Collected::default();
        for output in outputs {
            let key = (output.path.clone(), output.sha256.clone());
            if let Some(id) = self.known.get(&key) {
                collected.ids.push(id.clone());
                continue;
            }
            match keeper.keep(output).await {
                Ok(made) => {
                    self.known.insert(key, made.file_id.clone());
                    self.made.push(made.clone());
                    collected.ids.push(made.file_id.clone());
                    collected.new.push(made);
                }
                Err(why) => collected.problems.push(format!(
                    "[the file {} could not be kept: {why}]",
                    output.path
                )),
            }
        }
        collected
    }
}

impl Keeper<'_> {
    async fn keep(&self, output: &Output) -> Result<Made, String> {
        let bytes = self.workspace.get(&output.path).await;
        let bytes = Bytes::from(bytes.map_err(|error| error.to_string())?);
        let session = self.workspace.session();
        let new = NewFile {
            name: &output.path,
            mime: &output.mime_type,
            purpose: "assistants_output",
            scope: session.as_deref(),
            downloadable: true,
            expires_in: self.time,
            limit: bytes.len() as u64,
        };
        let content = stream::iter([Ok(bytes)]);
        let file = self.store.create_file(self.tenant, &new, content).await;
        let file = file.map_err(|error| {
            tracing::error!(code = error.code(), %error, "a run's file cannot be kept");
            match error {
                StoreError::Quota { .. } => error.to_string(),
                StoreError::Full { .. } => "the server's disk is full".to_owned(),
                _ => "the server failed".to_owned(),
            }
        })?;
        Ok(Made {
            file_id: file.id,
            filename: output.path.clone(),
            mime_type: output.mime_type.clone(),
            size_bytes: output.size,
        })
    }
}
