//! Submits a batch once, however often the command is run.

use anyhow::Context;
use prowess_client::{Client, Error, RemoteBatch};
use prowess_store::Store;

use super::follow::retry;
use super::input::BatchInput;
use super::line::LineFormat;
use super::report::BatchReport;
use super::requests::{RequestTemplate, requests};
use super::resume::{BatchJob, ResumeFile, ResumeState};
use super::skills::{NamedSkill, StoredSkill};
use crate::runs::reconnect::is_transient;

/// What is submitted.
pub(super) struct BatchSubmission<'a> {
    pub(super) client: &'a Client,
    pub(super) input: &'a BatchInput,
    pub(super) skills: &'a [NamedSkill],
    pub(super) job: BatchJob,
    /// Where the state is stored for a later command, if it is.
    pub(super) resume: Option<&'a ResumeFile>,
}

impl BatchSubmission<'_> {
    /// Submits the batch, or finds the one of an earlier command.
    pub(super) async fn submit(
        &self,
        earlier: Option<ResumeState>,
        report: &mut BatchReport,
    ) -> anyhow::Result<RemoteBatch> {
        let is_resumed = earlier.is_some();
        let mut state = match earlier {
            Some(state) => state,
            None => {
                // Uploading a skill again changes nothing, so this needs no state.
                let mut skills = Vec::new();
                for skill in self.skills {
                    skills.push(skill.store(self.client).await?);
                }
                let state = ResumeState::new(self.job.clone(), Store::new_run_id()?, skills);
                if let Some(file) = self.resume {
                    file.create(&state)?;
                }
                state
            }
        };
        let batch = match state.batch.clone() {
            Some(id) => self.find(&id, report).await?,
            None => match self.create(&mut state, report).await {
                Ok(batch) => batch,
                Err(error) => return Err(self.forget_refused(error)),
            },
        };
        report.on_submitted(&batch, self.input.requests, is_resumed)?;
        Ok(batch)
    }

    /// The batch that an earlier command has created.
    async fn find(&self, id: &str, report: &mut BatchReport) -> anyhow::Result<RemoteBatch> {
        let found = retry(report, async || self.client.batch(id).await).await;
        found.with_context(|| {
            let place = &self.job.place;
            format!("{id} cannot be continued on {place}; pass --force to submit a new batch")
        })
    }

    async fn create(
        &self,
        state: &mut ResumeState,
        report: &mut BatchReport,
    ) -> anyhow::Result<RemoteBatch> {
        let job = &self.job;
        let template = RequestTemplate {
            model: job.model.clone(),
            system: job.system.clone(),
            max_tokens: job.max_tokens,
            skills: state.skills.iter().map(StoredSkill::to_json).collect(),
            code: job.code,
        };
        let key = state.submission.clone();
        let batch = match &self.input.format {
            LineFormat::File { endpoint } => {
                let file = self.upload(state, &template, report).await?;
                retry(report, async || {
                    self.client.create_file_batch(&key, &file, endpoint).await
                })
                .await?
            }
            _ => {
                // Opened once before, so that a file that is gone is not a lost connection.
                self.input.lines()?;
                retry(report, async || {
                    let requests = requests(self.input, &template).map_err(Error::Input)?;
                    self.client.create_message_batch(&key, requests).await
                })
                .await?
            }
        };
        state.batch = Some(batch.id.clone());
        self.save(state)?;
        Ok(batch)
    }

    /// The file with the requests, for an API that has one.
    async fn upload(
        &self,
        state: &mut ResumeState,
        template: &RequestTemplate,
        report: &mut BatchReport,
    ) -> anyhow::Result<String> {
        if let Some(file) = &state.file {
            return Ok(file.clone());
        }
        let file = retry(report, async || {
            let lines = requests(self.input, template).map_err(Error::Input)?;
            self.client.upload_batch_lines(lines).await
        })
        .await?;
        state.file = Some(file.clone());
        self.save(state)?;
        Ok(file)
    }

    fn save(&self, state: &ResumeState) -> anyhow::Result<()> {
        match self.resume {
            Some(file) => file.save(state),
            None => Ok(()),
        }
    }

    /// A server that has refused the batch has none: there is nothing to continue.
    fn forget_refused(&self, error: anyhow::Error) -> anyhow::Error {
        let is_refused = error
            .downcast_ref::<Error>()
            .is_some_and(|error| matches!(error, Error::Refused { .. }) && !is_transient(error));
        if let (true, Some(file)) = (is_refused, self.resume)
            && let Err(failed) = file.remove()
        {
            return failed;
        }
        error
    }
}
