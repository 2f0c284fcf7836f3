//! Files that code left behind, kept under ids that clients can fetch.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use prowess_sandbox::SandboxOutput;
use prowess_store::{Error as StoreError, NewFile, Store, TenantId};
use prowess_toolbox::Workspace;

use crate::events::OutputFile;

/// The files of a run.
#[derive(Debug, Default)]
pub(crate) struct OutputFiles {
    pub(crate) files: Vec<OutputFile>,
    /// The same content under the same name is one file.
    known: HashMap<(String, String), String>,
}

/// What one call left behind.
#[derive(Debug, Default)]
pub(crate) struct CollectedOutputs {
    /// Ids of all its files.
    pub(crate) file_ids: Vec<String>,
    /// Those among them that the run did not have yet.
    pub(crate) new_files: Vec<OutputFile>,
    /// What could not be kept, and why: for the model to know.
    pub(crate) problems: Vec<String>,
}

/// Whose files they are, and how long they stay.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutputStore<'a> {
    pub(crate) store: &'a Store,
    pub(crate) tenant: &'a TenantId,
    pub(crate) workspace: &'a Workspace,
    pub(crate) retention: Option<Duration>,
}

impl OutputFiles {
    pub(crate) async fn collect(
        &mut self,
        store: OutputStore<'_>,
        outputs: &[SandboxOutput],
    ) -> CollectedOutputs {
        let mut collected = CollectedOutputs::default();
        for output in outputs {
            let key = (output.path.clone(), output.sha256.clone());
            if let Some(id) = self.known.get(&key) {
                collected.file_ids.push(id.clone());
                continue;
            }
            match store.save(output).await {
                Ok(made) => {
                    self.known.insert(key, made.file_id.clone());
                    self.files.push(made.clone());
                    collected.file_ids.push(made.file_id.clone());
                    collected.new_files.push(made);
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

impl OutputStore<'_> {
    async fn save(&self, output: &SandboxOutput) -> Result<OutputFile, String> {
        let bytes = self.workspace.get(&output.path).await;
        let bytes = Bytes::from(bytes.map_err(|error| error.to_string())?);
        let session = self.workspace.container_id();
        let new = NewFile {
            name: &output.path,
            mime: &output.mime_type,
            purpose: "assistants_output",
            scope: session.as_deref(),
            downloadable: true,
            expires_in: self.retention,
            limit: bytes.len() as u64,
        };
        let content = stream::iter([Ok(bytes)]);
        let file = self.store.create_file(self.tenant, &new, content).await;
        let file = file.map_err(|error| {
            tracing::error!(code = error.code(), %error, "a run's file cannot be kept");
            match error {
                StoreError::QuotaExceeded { .. } => error.to_string(),
                StoreError::StorageFull { .. } => "the server's disk is full".to_owned(),
                _ => "the server failed".to_owned(),
            }
        })?;
        Ok(OutputFile {
            file_id: file.id,
            filename: output.path.clone(),
            mime_type: output.mime_type.clone(),
            size_bytes: output.size,
        })
    }
}
