//! Files that code created, stored under ids with which clients can fetch them.

use std::collections::HashMap;
use std::time::Duration;

use prowess_sandbox::SandboxOutput;
use prowess_store::{Error as StoreError, NewFile, StagedFile, Store, TenantId};
use prowess_toolbox::Workspace;
use serde::{Deserialize, Serialize};

use crate::events::OutputFile;
use crate::model_text;

/// The files of a run.
#[derive(Debug, Default)]
pub(crate) struct OutputFiles {
    pub(crate) files: Vec<OutputFile>,
    /// The same content under the same name is one file.
    known: HashMap<(String, String), String>,
}

/// The files of one call.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct CollectedOutputs {
    /// Ids of all its files.
    pub(crate) file_ids: Vec<String>,
    /// Those among them that the run did not have yet.
    pub(crate) new_files: Vec<OutputFile>,
    /// Notes for the model about files that could not be stored.
    pub(crate) problems: Vec<String>,
}

/// Where files are stored, for which tenant and how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutputStore<'a> {
    pub(crate) store: &'a Store,
    pub(crate) tenant: &'a TenantId,
    pub(crate) workspace: &'a Workspace,
    pub(crate) retention: Option<Duration>,
}

impl OutputFiles {
    /// Stores the outputs of a call. With `staged` they exist once their step is committed.
    pub(crate) async fn collect(
        &mut self,
        store: OutputStore<'_>,
        outputs: &[SandboxOutput],
        mut staged: Option<&mut Vec<StagedFile>>,
    ) -> CollectedOutputs {
        let mut collected = CollectedOutputs::default();
        for output in outputs {
            let key = (output.path.clone(), output.sha256.clone());
            if let Some(id) = self.known.get(&key) {
                collected.file_ids.push(id.clone());
                continue;
            }
            match store.save(output, staged.as_deref_mut()).await {
                Ok(file) => {
                    self.known.insert(key, file.file_id.clone());
                    self.files.push(file.clone());
                    collected.file_ids.push(file.file_id.clone());
                    collected.new_files.push(file);
                }
                Err(why) => {
                    let note = model_text::file_not_stored(&output.path, &why);
                    collected.problems.push(note);
                }
            }
        }
        collected
    }

    /// Adds the outputs of a call that was recorded.
    pub(crate) fn add_recorded(&mut self, outputs: &[SandboxOutput], collected: &CollectedOutputs) {
        // Outputs that could not be stored have no id, and are not known.
        if collected.problems.is_empty() {
            for (output, id) in outputs.iter().zip(&collected.file_ids) {
                let key = (output.path.clone(), output.sha256.clone());
                self.known.insert(key, id.clone());
            }
        }
        self.files.extend(collected.new_files.iter().cloned());
    }
}

impl OutputStore<'_> {
    async fn save(
        &self,
        output: &SandboxOutput,
        staged: Option<&mut Vec<StagedFile>>,
    ) -> Result<OutputFile, String> {
        // In parts: several runs may store large files at once.
        let content = self.workspace.open_output(output).await;
        let content = content.map_err(|error| error.to_string())?;
        let container_id = self.workspace.container_id();
        let new = NewFile {
            name: &output.path,
            mime: &output.mime_type,
            purpose: "assistants_output",
            scope: container_id.as_deref(),
            downloadable: true,
            expires_in: self.retention,
            limit: content.size,
        };
        let file_id = match staged {
            None => {
                let created = self
                    .store
                    .create_file(self.tenant, &new, content.body)
                    .await;
                created.map(|file| file.id)
            }
            Some(staged) => {
                let file = self.store.stage_file(self.tenant, &new, content.body).await;
                file.map(|file| {
                    let id = file.record.id.clone();
                    staged.push(file);
                    id
                })
            }
        };
        let file_id = file_id.map_err(|error| {
            tracing::error!(code = error.code(), %error, "cannot store a file of a run");
            match error {
                StoreError::QuotaExceeded { .. } => error.to_string(),
                StoreError::StorageFull { .. } => "the server's disk is full".to_owned(),
                _ => "the server failed".to_owned(),
            }
        })?;
        Ok(OutputFile {
            file_id,
            filename: output.path.clone(),
            mime_type: output.mime_type.clone(),
            size_bytes: output.size,
        })
    }
}
